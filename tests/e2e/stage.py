# SPDX-License-Identifier: Apache-2.0
"""The stage of a scenario: a separate broker, a configuration, bridges, a sender and a reader."""
from __future__ import annotations

import json
import pickle
import random
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka.admin import OffsetSpec

import contract
from client import CODECS, Admin, Collector, Sender, now_ms, record_at
from contract import Request, Seen
from doubles import Doubles, Record, judge_doubles
from generator import Generator
from markers import decides_twice, doubled_by_brokers, read_log, was_decided_twice
from processes import Bridge, HarnessError, Kafka
from proxy import Proxy
from schemas import faults_of_command
from verifier import Doubts, Report, source_of, verify

TARGETS = {"e2e.a": 6, "e2e.b": 3, "e2e.c": 1}
LANES = 8
PLACELESS_S = 20
HOLDS_MS = (1000, 5000, 30_000)
LEVEL_TOPIC = re.compile(r"\.(\d+(ms|s|m|h|d))+$")
APPLY_S = 120  # topics apply gives up after a minute


class Fault(Exception):
    """The bridge broke the contract."""


class Unsure(Fault):
    """The evidence does not explain one of the many events of a run."""


class Skip(Exception):
    """This part cannot run here. The text is the reason."""


def require(condition: object, sentence: str) -> None:
    if not condition:
        raise Fault(sentence)


late: list[str] = []  # the time limits that the scenario of this process has exceeded


def require_prompt(condition: object, sentence: str) -> None:
    """Notes an exceeded time limit. The scenario continues, since its other checks hold at any speed."""
    if not condition:
        late.append(sentence)


def require_premise(condition: object, sentence: str) -> None:
    """Ends a scenario that was too slow to prove anything. It runs again, alone."""
    if not condition:
        raise Unsure(sentence)


def require_harness(condition: object, sentence: str) -> None:
    """Blames the machinery of the tests, such as a client that cannot write."""
    if not condition:
        raise HarnessError(sentence)


def until(what: str | Callable[[], str], seen: Callable, timeout: float = 30):
    """Waits for a fact that follows an event a moment later: a metric, a log line, the output of a command. Returns it.
    what: a sentence for the failure."""
    deadline = time.monotonic() + timeout
    while not (found := seen()):
        require(time.monotonic() < deadline, f"this never became true: {what() if callable(what) else what}")
        time.sleep(0.1)
    return found


def will_say(bridge: Bridge, words: str, timeout: float = 20, times: int = 1) -> None:
    """Waits until the log has the words so many times."""
    until(lambda: f"{words!r} is said:\n{bridge.tail(20)}", lambda: bridge.tail(1_000_000).count(words) >= times, timeout)


class Stage:
    schedule = "schedule"
    group = "delaybridge.schedule"

    def __init__(self, folder: Path, binary: Path, full: bool, seed: int):
        self.folder, self.binary, self.full, self.seed = folder, binary, full, seed
        self.kafka: Kafka | None = None
        self.proxy: Proxy | None = None
        self.admin: Admin | None = None
        self.sender: Sender | None = None
        self.collector: Collector | None = None
        self.exactly_once = False
        self.unreadable = ""  # place of a batch that cannot be decompressed
        self.totals: dict[str, int] = {}  # sums over the scenarios of a run: faults, requests, ...
        self.hold, self.needs_levels = self.drawn_hold(HOLDS_MS), False

    # Setup.

    def drawn_hold(self, holds_ms: Sequence[int]) -> str:
        """Returns one of these holds, which depends on the seed and on the scenario."""
        return contract.duration(random.Random(f"hold {self.seed} {self.folder.name.split('.')[0]}").choice(holds_ms))

    def use_levels(self, longest_ms: int = 0) -> None:
        """Draws a hold that is shorter than the longest delay of the scenario, or sets 1s. Call it before the configuration
        is written. The scenario fails if no record enters a level."""
        self.hold = self.drawn_hold([ms for ms in HOLDS_MS if ms < longest_ms] or HOLDS_MS[:1])
        self.needs_levels = True

    def broker(self, **options) -> Kafka:
        """Starts a broker. proxied=True: only the bridge connects through a proxy."""
        return self.broker_started(Kafka(self.folder, **options).start())

    def broker_started(self, kafka: Kafka) -> Kafka:
        self.kafka = kafka
        if front := kafka.front:
            self.proxy = Proxy([(front + 20 + n, front + n) for n in range(kafka.brokers)])
        self.admin = Admin(kafka.bootstrap, copies=min(3, kafka.brokers))
        return kafka

    @property
    def spare_port(self) -> int:
        """Returns a port from the range of its brokers, which no other scenario uses."""
        return self.kafka.port + 30

    def config(self, name: str = "delaybridge.yaml", **changes) -> Path:
        """Writes the scenario's configuration with changes. None removes a key."""
        way = self.proxy or self.kafka
        settings = {
            "kafka": {"bootstrap.servers": way.bootstrap if way else "127.0.0.1:1"},
            "group": self.group, "schedule": self.schedule, "targets": ["e2e.*"],
            "default_target": "e2e.a", "partitions": LANES, "replication": 1, "hold": self.hold,
            "listen": "",  # several processes on one machine
            "delivery": "exactly-once" if self.exactly_once else "at-least-once",
            "log": {"level": "info", "format": "json"}, **changes}
        path = self.folder / name
        path.write_text("".join(yaml_line(k, v) for k, v in settings.items() if v is not None))
        return path

    def run(self, *args: str, timeout: float = 60, **more) -> subprocess.CompletedProcess:
        done = self.run_with(self.binary, *args, timeout=timeout, **more)
        require(not (found := faults_of_command(args, done.stdout, done.stderr)), f"not by the schema: {found}")
        return done

    def run_with(self, binary: Path, *args: str, timeout: float = 60, **more) -> subprocess.CompletedProcess:
        """Runs a command of this program, perhaps of an older one."""
        try:
            done = subprocess.run([str(binary), *args], capture_output=True, text=True, timeout=timeout,
                                  stdin=subprocess.DEVNULL, check=False, **more)
        except subprocess.TimeoutExpired as problem:
            said = b"".join(part or b"" for part in (problem.stdout, problem.stderr)).decode(errors="replace")
            raise Fault(f"{' '.join(args[:2])} did not end in {timeout:.0f} s: {said.strip()[-600:]}") from problem
        with open(self.folder / "commands.log", "a", encoding="utf-8") as log:
            log.write(done.stdout + done.stderr)
        return done

    def apply(self, config: Path) -> str:
        done = self.run("topics", "apply", "-c", str(config), timeout=APPLY_S)
        require(done.returncode == 0,
                f"topics apply ended with {done.returncode}: {done.stderr.strip()[-600:]}")
        return done.stdout

    def ready(self, topics: dict[str, int] | None = None, **changes) -> Path:
        """Sets up broker, targets, configuration, the bridge's topics, a sender and a reader. Returns the path of the
        configuration."""
        if self.kafka is None:
            self.broker()
        topics = TARGETS if topics is None else topics
        for name, partitions in topics.items():
            self.admin.create(name, partitions)
        path = self.config(**changes)
        self.apply(path)
        self.connect_clients(list(topics))
        return path

    @property
    def codec(self) -> str:
        """Returns the codec of this scenario's requests, which depends on the seed and on the scenario."""
        return random.Random(f"{self.seed} {self.folder.name.split('.')[0]}").choice(CODECS)

    def connect_clients(self, targets: list[str]) -> None:
        self.sender = Sender(self.kafka.bootstrap, self.schedule, codec=self.codec)
        self.collector = Collector(self.kafka.bootstrap, [*targets, f"{self.schedule}.dead-letter"])
        self.collector.start()

    def bridge(self, config: Path, name: str = "bridge", members: int = 1, **more) -> Bridge:
        """Starts a bridge and waits until the group has so many members."""
        bridge = Bridge(self.binary, config, name, **more).start()
        if members:
            require(self.admin.wait_members(self.group, members),
                    f"{name} did not get lanes within 40 s:\n{bridge.tail()}")
        return bridge

    def generator(self, max_ms: int, **more) -> Generator:
        return Generator(self.seed, list(TARGETS), more.pop("default", "e2e.a"), max_ms, self.schedule, **more)

    def background(self, make, count: int, rate: float, sender: Sender | None = None) -> "Sending":
        return Sending(sender or self.sender, make, count, rate)

    # Judgment.

    def acked_ms(self) -> dict[bytes | None, float]:
        """Returns when each request was acknowledged, by its dlb-source."""
        return {source_of(request, self.schedule): request.acked_at * 1000 for request in self.sender.journal}

    def verify(self, journal: list[Request] | None = None, timeout: float = 60, hops: list[Seen] | None = None,
               **more) -> Report:
        """Judges all requests. hops: the records of the levels, among which a double may have begun."""
        journal = self.sender.journal if journal is None else journal
        if self.collector.wait_for(journal, self.schedule, timeout):
            self.look()
        doubts = Doubts(list(self.sender.unsure), list(self.sender.refused), list(self.sender.placeless))
        if doubts.placeless:  # their arrival cannot be recognized
            time.sleep(PLACELESS_S + max(0, max(r.due for r in doubts.placeless) - now_ms()) / 1000)
        dead = f"{self.schedule}.dead-letter"
        seen = list(self.collector.seen)
        report = verify(journal, [s for s in seen if s.topic != dead], [s for s in seen if s.topic == dead],
                        self.schedule, self.collector.partitions, exactly_once=self.exactly_once, doubts=doubts,
                        written=self.written, by_brokers=lambda: doubled_by_brokers(seen, hops or [], self.schedule, self.decided_twice),
                        **more)
        if report.faults["lost"]:
            self.require_decided_once(report.line())
        return report

    def require_decided_once(self, fault: str) -> None:
        """Raises Unsure if brokers have committed offsets of a transaction of which they may have aborted the rest."""
        logs = sorted((self.kafka.folder / "data").glob("broker-*/__consumer_offsets-*")) if self.exactly_once else []
        for log in logs:
            if decides_twice(read_log(log)):
                raise Unsure(f"brokers decided a transaction twice, as {log.parent.name}/{log.name} shows: {fault}")

    def decided_twice(self, record: Record) -> bool:
        """Returns whether two coordinators have decided the transaction of this record."""
        topic, partition, offset = record
        leader = self.admin.leader(topic, partition)
        return was_decided_twice(read_log(self.kafka.folder / "data" / f"broker-{leader}" / f"{topic}-{partition}"), offset)

    def trace(self) -> Collector:
        """Starts a reader of the levels, which doubles needs."""
        trace = Collector(self.kafka.bootstrap, level_topics(self.schedule))
        trace.start()
        return trace

    def doubles(self, trace: Collector) -> Doubles:
        """Judges duplicates by the evidence of the proxy. Raises if one has no excuse. trace: the reader of the levels."""
        require_harness(trace.catch_up(60), "the reader of the levels stalls")
        what = list(self.collector.seen), trace.seen, self.schedule, self.proxy.evidence
        found = judge_doubles(*what)
        if found.unexplained:
            (self.folder / "doubles.pickle").write_bytes(pickle.dumps(what))  # for another judgment
            raise Unsure(f"{found.line()}: nothing explains these{found.examples()}")
        require_harness(found.about < found.forwards / 2, f"{found.line()}: the proxy has not seen all requests")
        return found

    def written(self, source: bytes) -> tuple | None:
        """Returns the record of the schedule topic at this source."""
        place = re.fullmatch(rf"{re.escape(self.schedule)}/(\d+)/(\d+)", source.decode(errors="replace"))
        record = place and record_at(self.kafka.bootstrap, self.schedule, int(place[1]), int(place[2]))
        return record and (record.key(), record.value(), record.headers() or [])

    def judge_levels(self) -> str:
        """Returns a text with the number of records in levels. Ends of logs also count those that were trimmed, and those of
        processes that were killed."""
        if not self.needs_levels:
            return ""
        places = [(topic, n) for topic, count in self.admin.topics().items() if LEVEL_TOPIC.search(topic) for n in range(count)]
        hops = sum(self.admin.offsets(places, OffsetSpec.latest()).values())
        require(hops > 0, f"no record has entered a level, with hold {self.hold}")
        return f" in_levels={hops}"

    def look(self) -> None:
        """Prints the bridge's own view of waiting records in addition to the logs, when a request has not come out."""
        done = self.run("levels", "-c", str(self.folder / "delaybridge.yaml"))
        (self.folder / "levels.txt").write_text(done.stdout + done.stderr)
        missing = self.collector.missing(self.sender.journal, self.schedule)
        (self.folder / "missing.txt").write_text("".join(
            f"{self.schedule}/{r.partition}/{r.offset} due {r.due} sent {r.sent_ms} {r.kind}\n" for r in missing))

    def close(self) -> None:
        (self.folder / "totals.json").write_text(json.dumps(self.totals))
        if self.collector:
            self.collector.end()
        Bridge.end_all()
        if self.kafka:
            self.kafka.drop()


class Sending(threading.Thread):
    """A sender that runs in parallel to the scenario."""

    def __init__(self, sender: Sender, make, count: int, rate: float):
        super().__init__(daemon=True)
        self.sender, self.make, self.count, self.rate = sender, make, count, rate
        self.stopping = threading.Event()
        self.problem: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.sender.send_paced(self.make, self.count, self.rate, self.stopping.is_set)
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def finish(self, stop: bool = False) -> None:
        if stop:
            self.stopping.set()
        self.join()
        if self.problem:
            raise self.problem


def judge(report: Report, duplicates: int | None = 0) -> str:
    """Returns the line of figures. Raises on any fault. duplicates: the number allowed; None: any."""
    if report.faults:
        raise Fault(report.line() + "".join(f"\n    {example}" for example in report.examples))
    if duplicates is not None and report.duplicates > duplicates:
        raise Fault(f"{report.line()}: at most {duplicates} duplicates were to be expected; one is "
                    f"{report.duplicated[0].partition}/{report.duplicated[0].offset}")
    return report.line()


def exactly_once(play):
    """Returns the same scenario with delivery: exactly-once, in which no record may be duplicated."""
    def with_transactions(stage: Stage) -> str:
        stage.exactly_once = True
        return play(stage)
    with_transactions.__doc__ = "Exactly once: " + play.__doc__
    return with_transactions


def both_modes(*plays) -> dict:
    """Returns the scenarios by name. With delivery: exactly-once the name ends in _exactly."""
    return {**{play.__name__: play for play in plays},
            **{f"{play.__name__}_exactly": exactly_once(play) for play in plays}}


def yaml_line(key: str, value, indent: str = "") -> str:
    if isinstance(value, dict):
        return f"{indent}{key}:\n" + "".join(yaml_line(k, v, indent + "  ") for k, v in value.items())
    return f"{indent}{key}: {json.dumps(value)}\n"


def level_topics(schedule: str) -> list[str]:
    return [f"{schedule}.{level}" for level in contract.LEVELS]
