# SPDX-License-Identifier: Apache-2.0
"""A program that holds messages until they are due, as one node on this machine: its servers, and the runs through it."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from place import ROOT
from processes import CACHE, cpu_seconds

HERE = ROOT / "tests" / "bench" / "peers"
JARS = CACHE / "peers-5.4.0"
DELAY_MS = 2000             # The bridge uses one level for it.
SETTLE_S = 2                # The first seconds do not count, since clients connect then.
KEPT_MS, SENT = 1000, 0.97  # A rate is sustained with at most this p99, and with at least this share sent.
FLOW_RATE, FLOW_S, KILL_S, AWAY_S, PATIENCE_S = 1000, 12, 4, 0.5, 45
LINE_S = 120
CLIENT_JVM = ("-Xms512m", "-Xmx512m", "-XX:+UseParallelGC")


@dataclass(frozen=True)
class Flow:
    """A stream at a rate. CPU is that of a message, while as many messages leave as arrive."""
    rate: int
    p50: float
    p99: float
    max: float
    servers_us: float
    clients_us: float
    sent: float   # messages a second that the generator sent
    missing: int
    twice: int
    early: int

    @property
    def whole(self) -> bool:
        return self.missing == self.twice == self.early == 0

    @property
    def faults(self) -> str:
        return "" if self.whole else f" ({self.missing:,} missing, {self.twice:,} twice, {self.early:,} early)"

    @property
    def kept(self) -> bool:
        return self.whole and self.p99 <= KEPT_MS and self.sent >= SENT * self.rate


@dataclass(frozen=True)
class Instant:
    count: int
    last_ms: float  # from the due time of all messages to the arrival of the last one
    whole: bool

    @property
    def per_second(self) -> float:
        return 1000 * self.count / self.last_ms


@dataclass(frozen=True)
class Killed:
    missing: int
    twice: int
    early: int
    p99: float
    max: float


class Server:
    """A process and its children, in a separate session."""

    def __init__(self, args: list[str], log: Path, env: dict[str, str] | None = None):
        self.args, self.log, self.env = args, log, {**os.environ, **(env or {})}
        self.process: subprocess.Popen | None = None

    def start(self) -> "Server":
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.args, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        return self

    def pids(self) -> list[int]:
        """Returns the processes of its session."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it has ended
            if int(fields[3]) == self.process.pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    def kill(self) -> None:
        if self.process is None:
            return
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        self.process.wait(10)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])

    def await_(self, what: str, there: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not there():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"{self.args[0]}: no {what}:\n{self.tail()}")
            time.sleep(0.05)

    def await_port(self, port: int) -> None:
        self.await_(f"port {port}", lambda: listens(port))


def listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def compile_clients(classes: Path) -> None:
    done = subprocess.run(["javac", "-cp", f"{JARS}/*", "-d", str(classes), *map(str, sorted(HERE.glob("*.java")))],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


class Client:
    """The process of Peer.java, which sends and reads. It stays for all runs of a peer, so that its code is compiled."""

    def __init__(self, folder: Path, kind: str, address: str):
        classes = folder.parent / "peer-classes"
        if not classes.exists():
            compile_clients(classes)
        self.log = open(folder / f"{kind}.client.log", "ab")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            ["java", *CLIENT_JVM, f"-Duser.home={folder}", "-cp", f"{classes}:{JARS}/*", "Peer", kind, address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        try:
            self.expect("ready")
        except RuntimeError:
            self.close()
            raise

    def line(self) -> str:
        """Returns its next line, or an empty one after a long time."""
        timer = threading.Timer(LINE_S, self.process.kill)
        timer.start()
        line = self.process.stdout.readline().strip()
        timer.cancel()
        return line

    def expect(self, word: str) -> None:
        line = self.line()
        if line != word:
            raise RuntimeError(f"Peer.java: \"{line}\" in place of \"{word}\": {self.log.name}")

    def start(self, count: int, rate: int, delay_ms: int, quiet_s: int = 15) -> None:
        """Starts a run, which ends after so many seconds without a message."""
        self.process.stdin.write(f"{count} {rate} {delay_ms} {1000 * SETTLE_S} {1000 * quiet_s}\n")
        self.process.stdin.flush()
        self.expect("started")

    def result(self) -> dict:
        line = self.line()
        if not line:
            raise RuntimeError(f"Peer.java did not end its run: {self.log.name}")
        return json.loads(line)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        self.log.close()


class Peer:
    """The interface of all programs."""
    name = ""
    strong = False    # The search for the highest rate begins at a high one.
    warm_s = 4        # Seconds of a stream that does not count.
    lead_ms = 15_000  # Time to send 100,000 messages before they are due. 0: it does not accept due times.

    def start(self) -> None:
        """Starts servers and clients."""
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def stream(self, rate: int, seconds: float) -> Flow:
        """Sends messages at this rate, and reads them."""
        raise NotImplementedError

    def instant(self, count: int) -> Instant:
        """Sends messages that are all due at one millisecond."""
        raise NotImplementedError

    def kill_in_flow(self) -> Killed:
        """Kills all servers (-9) under load and starts them again after half a second."""
        raise NotImplementedError

    def kill_part(self) -> Killed | None:
        """Does so with the part of the servers that keeps no messages, if there is one."""
        return None


def cpu_of(pids: list[int]) -> float:
    total = 0.0
    for pid in pids:
        try:
            total += cpu_seconds(pid)
        except OSError:
            pass  # it has ended
    return total


class Window:
    """Measures CPU in the last seconds of a stream, in which as many messages leave as arrive."""

    def __init__(self, rate: int, seconds: float):
        self.rate, self.seconds = rate, seconds
        self.count = int(rate * (SETTLE_S + DELAY_MS / 1000 + seconds))

    def watch(self, servers: list[int], clients: list[int]) -> tuple[float, float]:
        """Returns the CPU of a message in servers and in clients, in microseconds. Starts with the stream."""
        time.sleep(SETTLE_S + DELAY_MS / 1000)
        before, since = (cpu_of(servers), cpu_of(clients)), time.monotonic()
        time.sleep(max(0.5, self.seconds - 0.3))
        messages = self.rate * (time.monotonic() - since)
        return (cpu_of(servers) - before[0]) / messages * 1e6, (cpu_of(clients) - before[1]) / messages * 1e6


class ThroughClient(Peer):
    """A program whose client is Peer.java."""
    kind = ""
    servers: list[Server]

    def __init__(self, folder: Path):
        self.folder = folder
        self.client: Client | None = None
        self.servers = []

    def launch(self) -> str:
        """Starts the servers. Returns their address for the client."""
        raise NotImplementedError

    def start(self) -> None:
        self.client = Client(self.folder, self.kind, self.launch())

    def restart(self) -> None:
        for server in self.servers:
            server.start()

    def stop(self) -> None:
        if self.client is not None:
            self.client.close()
        for server in reversed(self.servers):
            server.kill()

    def pids(self) -> list[int]:
        return [pid for server in self.servers for pid in server.pids()]

    def stream(self, rate: int, seconds: float) -> Flow:
        window = Window(rate, seconds)
        self.client.start(window.count, rate, DELAY_MS)
        servers_us, clients_us = window.watch(self.pids(), [self.client.process.pid])
        seen = self.client.result()
        return Flow(rate, seen["p50"], seen["p99"], seen["max"], servers_us, clients_us, window.count / max(seen["sent_s"], 1e-3),
                    seen["missing"], seen["twice"], seen["early"])

    def instant(self, count: int) -> Instant:
        self.client.start(count, 0, self.lead_ms, self.lead_ms // 1000 + 15)
        seen = self.client.result()
        return Instant(count, seen["last"], seen["missing"] == seen["early"] == 0 and seen["sent_s"] < self.lead_ms / 1000)

    def kill_in_flow(self) -> Killed:
        self.client.start(FLOW_RATE * FLOW_S, FLOW_RATE, DELAY_MS, PATIENCE_S)
        time.sleep(KILL_S)
        for server in self.servers:
            server.kill()
        time.sleep(AWAY_S)
        self.restart()
        seen = self.client.result()
        return Killed(seen["missing"], seen["twice"], seen["early"], seen["p99"], seen["max"])
