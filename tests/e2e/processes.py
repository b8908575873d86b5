# SPDX-License-Identifier: Apache-2.0
"""The processes of a scenario: brokers and bridges. Each is ended by its pid in any case."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from harness import HarnessError, reserve_ports  # noqa: E402  pylint: disable=wrong-import-position

KAFKA = ROOT / "tests" / "kafka" / "kafka"
CACHE = Path(os.environ.get("DEV_CACHE", ROOT / ".cache"))
NEWER = "2.8.0"
TICKS = os.sysconf("SC_CLK_TCK")


def newer_client(version: str = NEWER) -> str:
    """Returns the folder of another librdkafka than the system's, by default the version of Debian 13. The package of the
    Python client contains it as one library that needs only libc."""
    folder = CACHE / f"librdkafka-{version}"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--dest",
                            work, f"confluent-kafka=={version}"], check=True)
            [package] = Path(work).glob("*.whl")
            with zipfile.ZipFile(package) as files:
                [library] = [name for name in files.namelist() if "/librdkafka-" in name]
                part = folder.with_name(folder.name + ".part")
                part.mkdir(parents=True, exist_ok=True)
                (part / "librdkafka.so.1").write_bytes(files.read(library))
        part.rename(folder)
    return str(folder)


class Kafka:
    def __init__(self, folder: Path, brokers: int = 1, props: tuple[str, ...] = (), data: Path | None = None,
                 proxied: bool = False, controllers: int | None = None, version: str | None = None, jvm: str | None = None):
        self.folder, self.brokers, self.props, self.data = folder / "kafka", brokers, props, data
        self.controllers, self.env = controllers, {"KAFKA_VERSION": version, "KAFKA_JVM": jvm}
        self.port = reserve_ports()  # the controllers' are 100 above
        self.front = self.port + 50 if proxied else None  # the proxy's ports are 20 above
        self.bootstrap = ",".join(f"127.0.0.1:{self.port + i}" for i in range(self.brokers))

    def call(self, *args: str) -> str:
        env = {**os.environ, **{name: value for name, value in self.env.items() if value}}
        done = subprocess.run([str(KAFKA), *args, "--dir", str(self.folder)], capture_output=True, text=True, env=env)
        if done.returncode:
            raise HarnessError(f"kafka {args[0]}: {done.stderr.strip()}")
        return done.stdout

    def start(self) -> "Kafka":
        more = [f"--data={self.data}".split("=")] if self.data else []
        args = ["start", "--port", str(self.port), "--brokers", str(self.brokers)]
        for option in more:
            args += option
        if self.front:
            args += ["--front", str(self.front)]
        if self.controllers:
            args += ["--controllers", str(self.controllers)]
        for prop in self.props:
            args += ["--prop", prop]
        self.call(*args)
        return self

    def pid(self, number: int = 1) -> int:
        return int((self.folder / f"broker-{number}.pid").read_text())

    def running(self, number: int = 1) -> bool:
        return f"broker {number} pid" in self.call("status")

    def stop(self) -> None:
        if self.folder.exists():
            self.call("stop")

    def drop(self) -> None:
        """Ends it at once: its folder is not used again."""
        if self.folder.exists():
            self.call("drop")


CRASHES = signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL


class Bridge:
    """A process of the bridge, and its log."""
    all: list["Bridge"] = []

    def __init__(self, binary: Path, config: Path, name: str, env: dict[str, str] | None = None,
                 args: tuple[str, ...] = (), named: bool = False):
        """named: its client ids contain the process and the number of its start."""
        self.binary, self.config, self.name, self.args, self.named, self.starts = binary, config, name, args, named, 0
        self.env = {**os.environ, **(env or {})}
        self.log = config.parent / f"{name}.log"
        self.process: subprocess.Popen | None = None
        self.since = 0.0

    def age(self) -> float:
        """Returns the seconds since its start."""
        return time.monotonic() - self.since

    def start(self) -> "Bridge":
        self.since = time.monotonic()
        self.starts += 1
        env = {**self.env, "DELAYBRIDGE_KAFKA_CLIENT_ID": f"{self.name}.{self.starts}"} if self.named else self.env
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([str(self.binary), "run", "-c", str(self.config), *self.args],
                                            env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        (self.config.parent / f"{self.name}.{self.pid}.pid").write_text(str(self.pid))
        Bridge.all.append(self)
        return self

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def wait(self, timeout: float) -> int | None:
        """Waits until it ends. Returns the exit code."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> float:
        """Sends SIGKILL. Returns the time."""
        at = time.time()
        self.process.kill()
        self.process.wait(10)
        return at

    def stop(self, timeout: float = 30) -> int:
        """Sends SIGTERM, as an operator does. Returns the exit code."""
        if self.running():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
            return -9

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def rss_mib(self) -> float:
        return rss_mib(self.pid)

    def tail(self, lines: int = 12) -> str:
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def crashed(self) -> bool:
        """Returns whether a signal of its own ended it, not one of the scenario."""
        return self.process is not None and self.process.poll() in [-number for number in CRASHES]

    @classmethod
    def end_all(cls) -> None:
        for bridge in cls.all:
            if bridge.running():
                bridge.process.kill()
                bridge.process.wait(10)
        cls.all.clear()


def files_of_bridges(folder: Path, pattern: str) -> list[Path]:
    """Lists the files of all bridges, also those of parts with a separate folder, but not those of brokers."""
    return [f for f in (*folder.glob(pattern), *folder.glob(f"*/{pattern}")) if f.parent.name != "kafka"]


def end_leftovers(folder: Path) -> None:
    """Ends the processes that a dead scenario left behind in this folder."""
    for file in files_of_bridges(folder, "*.pid"):
        pid = int(file.read_text())
        try:
            if str(folder) in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)
        except (OSError, ProcessLookupError):
            pass
    if (folder / "kafka").exists():
        subprocess.run([str(KAFKA), "drop", "--dir", str(folder / "kafka")], check=False)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
