# SPDX-License-Identifier: Apache-2.0
"""The place where a part of the bench runs: a separate broker, topics, bridges, and processes of the tool."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from archive import SHORT_LIVED  # noqa: E402  pylint: disable=wrong-import-position
from client import Admin  # noqa: E402  pylint: disable=wrong-import-position
from processes import Bridge, Kafka, cpu_seconds  # noqa: E402  pylint: disable=wrong-import-position

LANES = 8
WARM_ROUNDS, WARM = 4, 0.05  # of a core
KAFKA_JVM = "-Xms1g -Xmx1g -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"  # Kafka's default
TOOL = ROOT / "build" / "bench" / "bench"
AHEAD = ("nice", "-n", "-10")
BINARY = ROOT / "build" / "release" / "delaybridge"
Result = TypeVar("Result")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def metric(port: int, name: str, *labels: str) -> list[float]:
    """Reads a metric of a bridge once. Returns for each label the sum of the series of this name that have it."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines()]
    return [sum(float(value) for series, *_, value in lines if series.startswith(name + "{") and label in series)
            for label in labels]


class Tool:
    """A process of the bench tool; its last line is a JSON object. ahead: a higher priority simulates a process on another
    machine. This needs root; without root the priority is the usual one."""

    def __init__(self, bootstrap: str, part: str, ahead: bool = False, **options):
        args = [*(AHEAD if ahead else ()), str(TOOL), part, "--bootstrap", bootstrap]
        for name, value in options.items():
            args += ["--" + name.replace("_", "-"), str(value)]
        self.part = part
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    @property
    def pid(self) -> int:
        return self.process.pid

    def await_ready(self) -> "Tool":
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"bench {self.part} did not start")
        return self

    def result(self, timeout: float = 300) -> dict:
        out, _ = self.process.communicate(timeout=timeout)
        line = json.loads(out.strip().splitlines()[-1])
        line["complete"] = self.process.returncode == 0
        return line


def peak_mib(pid: int) -> float:
    """Returns the peak resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


class Place:
    """Empty brokers. Topics get new names in each round, so that none is warm. short_lived: bridges connect through a proxy,
    and Java's second compiler is off, since brokers are killed."""

    def __init__(self, folder: Path, brokers: int = 1, props: tuple[str, ...] = (), short_lived: bool = False):
        self.folder = folder
        folder.mkdir()
        os.environ.setdefault("KAFKA_JVM", KAFKA_JVM)
        self.kafka = Kafka(folder, brokers=brokers, props=props, proxied=short_lived, jvm=SHORT_LIVED if short_lived else None).start()
        self.live = list(range(1, brokers + 1))
        self.hosts = self.kafka.bootstrap.split(",")
        self.admin = Admin(self.kafka.bootstrap)
        self.await_brokers(brokers)
        self.create("bench.idle", brokers)  # one partition on each broker, so that each has a fetch in flight
        self.names = self.round = 0
        self.ended_s = 0.0  # CPU of brokers that were stopped
        self.warmed = False
        self.tools: list[Tool] = []

    def await_brokers(self, count: int) -> None:
        Admin.wait("all brokers", lambda: len(self.admin.client.list_topics(timeout=10).brokers) == count, 30)

    def without(self, number: int) -> None:
        """Stops a broker. New topics are only on the others, even if it is started again."""
        self.live = [n for n in self.live if n != number]
        self.ended_s += cpu_seconds(self.kafka.pid(number))
        os.kill(self.kafka.pid(number), signal.SIGTERM)
        Admin.wait(f"the end of broker {number}", lambda: not self.kafka.running(number), 30)
        self.kafka.bootstrap = ",".join(self.hosts[n - 1] for n in self.live)
        self.admin = Admin(self.kafka.bootstrap)

    def pids(self) -> list[int]:
        return [self.kafka.pid(number) for number in self.live]

    def ours_s(self) -> float:
        """Returns the CPU seconds of the brokers and of the ended processes of this bench."""
        brokers = [self.kafka.pid(n) for n in range(1, self.kafka.brokers + 1) if self.kafka.running(n)]
        return self.ended_s + sum(map(cpu_seconds, brokers)) + sum(os.times()[:4])

    def close(self) -> None:
        for tool in self.tools:
            if tool.process.poll() is None:
                tool.process.kill()
                tool.process.wait()
        Bridge.end_all()
        self.kafka.stop()

    def create(self, name: str, partitions: int, on: list[int] | None = None, **config: str) -> None:
        """Creates a topic with a replica on each live broker, or on those in on. Leaders alternate."""
        on = on or self.live
        replicas = [on[n % len(on):] + on[:n % len(on)] for n in range(partitions)]
        topic = NewTopic(name, num_partitions=partitions, replica_assignment=replicas,
                         config={key.replace("_", "."): value for key, value in config.items()})
        for future in self.admin.client.create_topics([topic]).values():
            future.result(30)
        Admin.wait(name, lambda: name in self.admin.topics())

    def topic(self, prefix: str, partitions: int = LANES, **config: str) -> str:
        self.names += 1
        name = f"{prefix}{self.names}"
        self.create(name, partitions, **config)
        return name

    def tool(self, part: str, **options) -> Tool:
        tool = Tool(self.kafka.bootstrap, part, **options)
        self.tools.append(tool)
        return tool

    def load(self, **options) -> dict:
        return self.tool("load", **options).result()

    def meter(self, topic: str, count: int, *pids: int, **options) -> Tool:
        """Starts a meter of a new topic up to count records, and of the CPU of these processes and the brokers."""
        watched = ",".join(str(pid) for pid in [*pids, *self.pids()])
        return self.tool("meter", topic=topic, count=count, pids=watched, **{"base": 0, **options})

    def ends(self, *topics: str) -> list[int]:
        """Returns the end offset of each partition of the topics."""
        lanes = self.admin.topics()
        consumer = Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": "bench.ends", "log_level": 0})
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, lane), timeout=20)[1]
                for topic in topics for lane in range(lanes[topic])]
        consumer.close()
        return ends

    def levels(self, name: str) -> list[str]:
        """Returns the level topics of a schedule topic."""
        own = (f"{name}.pulse", f"{name}.dead-letter", f"{name}.cancelled", f"{name}.events",
               f"{name}.control")
        return [topic for topic in self.admin.topics() if topic.startswith(name + ".") and topic not in own]

    def schedule(self, lanes: int = LANES, **changes) -> tuple[str, Path]:
        """Creates a new schedule topic and its other topics. Returns its name and a configuration. With its hold of 1 s,
        each record visits its levels."""
        self.names += 1
        name = f"s{self.names}"
        kafka = {"bootstrap.servers": self.kafka.bootstrap, **changes.pop("kafka", {})}
        settings = {"kafka": kafka, "schedule": name, "targets": ["bench.*"], "partitions": lanes,
                    "replication": len(self.live), "listen": "", "log": {"level": "warn"}, "hold": "1s", **changes}
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(settings))
        done = subprocess.run([str(BINARY), "topics", "apply", "-c", str(path), "--timeout", "60s"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"topics apply ended with {done.returncode}: {done.stdout}{done.stderr}")
        return name, path

    def bridge(self, config: Path, wait: bool = False, members: int = 1, env: dict[str, str] | None = None) -> Bridge:
        """Starts a bridge. wait: until all members of its group have lanes."""
        bridge = Bridge(BINARY, config, config.stem, env=env).start()
        if wait and not self.admin.wait_members(f"delaybridge.{config.stem}", members):
            raise RuntimeError("the bridge did not join:\n" + bridge.tail())
        return bridge

    def in_turns(self, **turns: Callable[[], Result]) -> dict[str, Result]:
        """Runs each turn. The order is reversed in each round."""
        results = {}
        for name in list(turns)[::1 if self.round % 2 else -1]:
            self.rest()
            results[name] = turns[name]()
        return results

    def rest(self, seconds: float = 1.0) -> None:
        """Waits for background work of the broker."""
        time.sleep(seconds)

    def brokers_s(self) -> float:
        """Returns the CPU seconds of the brokers so far."""
        return sum(map(cpu_seconds, self.pids()))

    def compiled(self) -> float:
        """Returns the CPU seconds of the brokers' compilers so far."""
        return sum(map(compiler_seconds, self.pids()))

    def compiling(self, seconds: float) -> float:
        """Returns the share of a core that the brokers' compilers use."""
        start = self.compiled()
        time.sleep(seconds)
        return (self.compiled() - start) / seconds

    def warm(self, rounds: int = WARM_ROUNDS) -> None:
        """Runs load until the broker has compiled its code. Otherwise a part would measure the compiler."""
        for left in reversed(range(rounds)):
            name, config = self.schedule(levels=["1s", "1m", "1h"])
            target = self.topic("bench.warm")
            bridge = self.bridge(config)
            self.load(topic=name, kind="request", count=200_000, delay=1000, delay_max=3000, target=target)
            paced = [self.tool("load", topic=topic, kind=kind, count=8000, rate=2000, delay=1000, delay_max=1500,
                               target=target) for topic, kind in ((name, "request"), (target, "plain"))]
            loop = self.tool("loop", **{"in": name}, out=self.topic("bench.warm"), idle="bench.idle", count=200_000)
            self.tool("read", topic=target, count=100_000, idle=4).result()
            for tool in (*paced, loop):
                tool.result()
            bridge.stop()
            if left == 0 or self.compiling(2) < WARM:
                break
        if rounds > 0:
            self.clear()
        self.warmed = True

    def clear(self) -> None:
        """Deletes the topics of a part."""
        old = [topic for topic in self.admin.topics() if topic != "bench.idle" and not topic.startswith("__")]
        for future in (self.admin.client.delete_topics(old) if old else {}).values():
            future.result(30)
        self.rest(3)


def compiler_seconds(pid: int) -> float:
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().startswith(("C1 Comp", "C2 Comp")):
                total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass  # it has ended
    return total / 1e9
