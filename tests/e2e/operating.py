# SPDX-License-Identifier: Apache-2.0
"""The operator's view of a running bridge. It covers metrics, compared with the verifier's counts, and health during an
outage. It also covers notifications of the service manager, reloads, the command top, and the canary."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from contract import Request
from processes import ROOT, Bridge
from stage import Stage, judge, require, require_prompt, until, will_say

WAITING_MS = 20_000
SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')


class Watch:
    """Reads the HTTP listener of one bridge."""

    def __init__(self, port: int):
        self.address = f"127.0.0.1:{port}"

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()
        except OSError as problem:
            return 0, str(problem)

    def metrics(self) -> dict[tuple[str, str], float]:
        status, text = self.get("/metrics")
        require(status == 200, f"/metrics: {status} {text}")
        found = {}
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            sample = SAMPLE.match(line)
            require(sample, f"not a sample: {line}")
            found[sample[1], sample[2] or ""] = float(sample[3])
        return found

    def total(self, name: str, label: str = "") -> float:
        return total(self.metrics(), name, label)

    def wait(self, path: str, status: int, seconds: float) -> float:
        """Waits until path answers with this status. Returns how long it took."""
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            got = self.get(path)
            if got[0] == status:
                return time.monotonic() - start
            time.sleep(0.1)
        require(False, f"{path} did not become {status} within {seconds} s: {got}")
        return 0


class SlowClients(threading.Thread):
    """96 clients from six addresses, each of which sends a line of an endless header now and then, and returns when it is
    disconnected. Meanwhile a probe queries /livez ten times a second."""

    def __init__(self, port: int, line_each_s: float):
        super().__init__(daemon=True)
        self.port, self.line_each_s = port, line_each_s
        self.clients: list[socket.socket | None] = [None] * 96
        self.probes, self.longest_s, self.started, self.ending = 0, 0.0, time.monotonic(), False
        self.fault = ""
        self.start()

    def run(self) -> None:
        next_line = 0.0
        while not self.ending and not self.fault:
            if time.monotonic() >= next_line:
                next_line = time.monotonic() + self.line_each_s
                self.clients = [self.send(n, client) for n, client in enumerate(self.clients)]
            self.probe()
            time.sleep(0.1)

    def send(self, n: int, client: socket.socket | None) -> socket.socket | None:
        try:
            if client:
                client.sendall(b"X: 1\r\n")
                return client
            client = socket.create_connection(("127.0.0.1", self.port), 1, (f"127.0.0.{1 + n % 6}", 0))
            client.sendall(b"GET /livez HTTP/1.1\r\n")
            return client
        except OSError:
            if client:
                client.close()
            return None

    def probe(self) -> None:
        start = time.monotonic()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/livez", timeout=5).close()
        except OSError as problem:
            self.fault = f"probe {self.probes}, {start - self.started:.1f} s after the first slow client: {problem}"
        self.probes += 1
        self.longest_s = max(self.longest_s, time.monotonic() - start)

    def end(self, seconds: float) -> str:
        """Ends it after so many seconds since its start."""
        time.sleep(max(0.0, self.started + seconds - time.monotonic()))
        self.ending = True
        self.join()
        for client in self.clients:
            if client:
                client.close()
        require(not self.fault, f"a probe failed: {self.fault}")
        require_prompt(self.longest_s < 1, f"a probe took {self.longest_s:.1f} s")
        return f"{self.probes} probes among slow clients, the longest {self.longest_s * 1000:.0f} ms"


class Manager:
    """Receives the notifications, as a service manager does."""

    def __init__(self, folder: Path):
        self.path = folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.heard: list[str] = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            self.heard.append(self.socket.recv(4096).decode())

    def wait(self, words: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not any(words in message for message in list(self.heard)):
            require(time.monotonic() < deadline, f"no {words!r} within {seconds} s: {self.heard}")
            time.sleep(0.05)


def total(metrics: dict[tuple[str, str], float], name: str, label: str = "") -> float:
    return sum(v for (n, labels), v in metrics.items() if n == "delaybridge_" + name and label in labels)


def disagreements(stage: Stage, watch: Watch) -> list[str]:
    """Compares the metrics with the verifier's counts. Some canary requests may be in flight."""
    dead, metrics = f"{stage.schedule}.dead-letter", watch.metrics()
    journal, seen = stage.sender.journal, list(stage.collector.seen)
    deliveries = sum(s.topic != dead for s in seen)
    letters = Counter(dict(s.headers)["dlb-error"].decode() for s in seen if s.topic == dead)
    sent, back = total(metrics, "canary_sent_total"), total(metrics, "canary_received_total")
    figures = (
        ("schedule_records_total", "", len(journal) + sent, 3),
        ("forwarded_records_total", 'kind="delivery"', deliveries + back, 3),
        ("lateness_seconds_count", "", deliveries + back, 3),
        ("target_deliveries_total", "", deliveries + back, 3),
        ("dead_letter_records_total", "", sum(letters.values()), 0),
        *(("dead_letter_records_total", f'code="{code}"', count, 0) for code, count in letters.items()))
    return [f"{name}{{{label}}} is {got}, not {expected}" for name, label, expected, off in figures
            if abs((got := total(metrics, name, label)) - expected) > off]


def plain(stage: Stage, delay: str, delay_ms: int, target: str, code: str | None = None, key: bytes = b"k") -> None:
    headers = [("dlb-delay", delay.encode()), ("dlb-target", target.encode())]
    stage.sender.send(Request(key, b"v", headers, f"plain, {delay} to {target}", code, target, delay_ms=delay_ms,
                              out_key=key))


def waiting_records_are_shown(stage: Stage, watch: Watch) -> None:
    """Checks how records that wait for 20 s are shown: pending records, first due time, and top."""
    for n in range(16):
        plain(stage, "20s", WAITING_MS, "e2e.a", key=b"k%d" % (n % 5))
    stage.sender.flush()
    level = 'level="10s"'
    until("/metrics has 16 records in 10s, and a paused partition", lambda: watch.total("level_pending_records", level) == 16
          and watch.total("partitions", level + ',state="paused"') > 0)
    left = watch.total("level_head_deadline_timestamp_seconds", level) - time.time()
    require(0 < left < 12, f"the head of 10s leaves in {left:.1f} s")
    top = stage.run("top", watch.address, "--once")
    require(top.returncode == 0 and re.search(r"^10s +16 +\d", top.stdout, re.M),
            f"top: {top.returncode} {top.stdout}{top.stderr}")
    row = json.loads(stage.run("top", watch.address, "--once", "-o", "json").stdout)
    require(any(level["level"] == "10s" and level["waiting"] == 16 for level in row["levels"]), str(row))


def await_reload(watch: Watch, failed: bool) -> None:
    """Waits until the metric says whether the last SIGHUP was refused."""
    until(f"after a SIGHUP, reload_failed is {failed:d}", lambda: watch.total("reload_failed") == failed, 10)


def start_would_be_refused(stage: Stage, bridge: Bridge, watch: Watch, config: Path, **settings) -> None:
    """SIGHUP refuses a configuration that a start would refuse: the old one continues until the topic of events exists."""
    stage.config(**settings, events=["all"])
    bridge.process.send_signal(signal.SIGHUP)
    will_say(bridge, "1 finding about the topics")
    require(any("topics do not exist" in line and f"{stage.schedule}.events" in line
                for line in bridge.tail(100).splitlines()), "the missing topic is not named")
    await_reload(watch, True)
    plain(stage, "0s", 0, "e2e.a")
    stage.sender.flush()
    judge(stage.verify(timeout=10))
    stage.apply(config)
    bridge.process.send_signal(signal.SIGHUP)
    await_reload(watch, False)
    plain(stage, "0s", 0, "e2e.a")
    stage.sender.flush()
    judge(stage.verify(timeout=10))
    require(watch.total("events_total", 'type="delivered"') > 0, "no event was written after the reload")


def configuration_changes(stage: Stage, bridge: Bridge, watch: Watch, config: Path, **settings) -> None:
    """SIGHUP applies keys that can change, names the others, and refuses an invalid configuration."""
    text = config.read_text()
    stage.config(**settings, targets=["e2e.a", "e2e.c"], levels=["1s", "5s", "10s", "1m"], log={"level": "debug"})
    bridge.process.send_signal(signal.SIGHUP)
    will_say(bridge, "configuration reloaded")
    for key in ("targets", "log.level"):
        will_say(bridge, f'"msg":"configuration key applied","key":"{key}"')
    will_say(bridge, '"msg":"configuration key changed, restart to apply it","key":"levels"')
    plain(stage, "0s", 0, "e2e.b", "target_denied")
    stage.sender.flush()
    judge(stage.verify(timeout=20))
    config.write_text("targets: []\n")
    bridge.process.send_signal(signal.SIGHUP)
    until("the refusal of a configuration names the key", lambda: any(
        "keeping the old one" in line and "targets" in line for line in bridge.tail(100).splitlines()))
    config.write_text(text)
    bridge.process.send_signal(signal.SIGHUP)
    will_say(bridge, "configuration reloaded", times=2)
    await_reload(watch, False)
    plain(stage, "0s", 0, "e2e.b")
    stage.sender.flush()
    judge(stage.verify(timeout=20))


def find_promtool() -> str | None:
    """Returns the path of promtool: the system's, or the one that the checks of deploy/ keep."""
    kept = Path(os.environ.get("DEV_CACHE", ROOT / ".cache")) / "deploy-bin" / "promtool"
    return shutil.which("promtool") or (str(kept) if kept.exists() else None)


def operated(stage: Stage) -> str:
    """Metrics, health, reloading, notifications, top and the canary of a running service."""
    stage.use_levels(WAITING_MS)
    stage.broker()
    port = stage.spare_port
    settings = {"listen": f"127.0.0.1:{port}", "canary": "500ms"}
    config = stage.ready(**settings)
    manager, watch = Manager(stage.folder), Watch(port)
    bridge = stage.bridge(config, env={"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "2000000"},
                          args=("-Xsasl.password=hunter2",))
    require(b"hunter2" not in Path(f"/proc/{bridge.pid}/cmdline").read_bytes(), "the password is visible in /proc")
    manager.wait("READY=1", 20)
    watch.wait("/readyz", 200, 20)
    require(watch.get("/livez")[0] == 200, "alive")
    slow = SlowClients(port, 8 if stage.full else 1)
    generator = stage.generator(4000)
    stage.sender.send_paced(lambda n, now: generator.request(now) if n % 10 else generator.poison(now, n // 10),
                            3000 if stage.full else 600, 300)
    line = judge(stage.verify()) + "; " + slow.end(120 if stage.full else 5)
    waiting_records_are_shown(stage, watch)
    judge(stage.verify())
    until(lambda: f"the metrics agree: {disagreements(stage, watch)}", lambda: not disagreements(stage, watch))
    until("no record waits in 10s any more", lambda: watch.total("level_pending_records", 'level="10s"') == 0)
    promtool = find_promtool()
    if promtool:
        lint = subprocess.run([promtool, "check", "metrics"], input=watch.get("/metrics")[1], text=True,
                              capture_output=True, check=False)
        require(lint.returncode == 0 and not lint.stderr.strip(), f"promtool: {lint.stderr}")
    configuration_changes(stage, bridge, watch, config, **settings)
    start_would_be_refused(stage, bridge, watch, config, **settings)
    require(watch.total("canary_received_total") >= 5, f"canary: {watch.total('canary_received_total')}")
    second = Bridge(stage.binary, config, "second").start()
    require(second.wait(30) == 78 and f"127.0.0.1:{port}" in second.tail(), f"the address is taken: {second.tail()}")
    stage.kafka.stop()
    bridge.process.send_signal(signal.SIGHUP)
    require(watch.get("/livez")[0] == 200, "alive while a reload waits for Kafka")
    gone = watch.wait("/readyz", 503, 20)
    require(watch.get("/livez")[0] == 200, "alive without Kafka")
    will_say(bridge, "Kafka did not answer the check of the new configuration, keeping the old one")
    await_reload(watch, True)
    manager.heard.clear()
    manager.wait("WATCHDOG=1", 10)
    stage.kafka.start()
    back = watch.wait("/readyz", 200, 40)
    stage.collector.end()
    code = bridge.stop()
    manager.wait("STOPPING=1", 5)
    require(code == 0, f"stopped with {code}: {bridge.tail()}")
    return (f"{line}; not ready {gone:.1f} s after Kafka stopped, ready {back:.1f} s after its start; "
            f"promtool {'agrees' if promtool else 'is not installed'}")
