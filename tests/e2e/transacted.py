# SPDX-License-Identifier: Apache-2.0
"""Requests that producers write in transactions: each counts only after its transaction has committed."""
from __future__ import annotations

import json
import random
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer

from client import Sender, now_ms
from contract import Request, partition_of
from generator import Generator
from operating import Watch
from processes import Bridge
from scenarios import source
from stage import LANES, Stage, both_modes, judge, require, until


class Transacted(Sender):
    """Writes requests in transactions. Committed ones must come out; aborted ones must not."""

    def __init__(self, bootstrap: str, topic: str, name: str, timeout_ms: int):
        super().__init__(bootstrap, topic)
        self.begun: int | None = None  # the open transaction is the journal from here on
        self.producer = Producer({
            "bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms, "linger.ms": 2, "log_level": 0, "partitioner": "murmur2_random",
            "message.max.bytes": 50_000_000})
        self.producer.init_transactions(60)

    def replace(self, problem: KafkaException) -> None:
        raise problem  # the transaction ends with its client

    def write(self, requests: list[Request]) -> None:
        """Writes requests in a new transaction, which stays open."""
        self.begun = len(self.journal)
        self.producer.begin_transaction()
        for request in requests:
            self.send(request)
        self.flush()

    def end(self, commit: bool) -> None:
        """Commits or aborts the open transaction, if there is one."""
        if self.begun is None:
            return
        if commit:
            self.producer.commit_transaction(60)
            self.begun = None
        else:
            self.producer.abort_transaction(60)
            self.forget()

    def forget(self) -> None:
        """Forgets the requests of the open transaction, which was aborted by the client or the broker."""
        self.refused += self.journal[self.begun:]
        del self.journal[self.begun:]
        self.begun = None


TIMED_OUT_MS = 8000  # the broker then aborts a transaction without an end


def aborted_requests(stage: Stage) -> str:
    """Producers with transactions: committed requests come once, aborted ones never, later ones after the end."""
    stage.broker(props=("transaction.abort.timed.out.transaction.cleanup.interval.ms=500",))
    config = stage.ready(listen=f"127.0.0.1:{stage.spare_port}")
    bridge, generator = stage.bridge(config), stage.generator(3000)

    def transacted(name: str, timeout_ms: int = 120_000) -> Transacted:
        return Transacted(stage.kafka.bootstrap, stage.schedule, name, timeout_ms)

    slow, dying = transacted("slow"), transacted("dying", TIMED_OUT_MS)
    writers = [transacted(f"writer-{n}") for n in range(3)]
    dying_since = now_ms()
    for lane, writer in enumerate((slow, dying)):
        writer.write(to_lane(generator, lane, 20))
    behind = [send_all(stage, to_lane(generator, lane, 20)) for lane in range(3)]
    transact(stage, writers, generator, 300 if stage.full else 40)
    require(stage.collector.wait_for(behind[2], stage.schedule, 30) == 0, "an open transaction blocks other lanes")
    open_is_shown(stage, config)
    time.sleep(2)
    slow_until = now_ms()
    slow.end(commit=True)
    dying.forget()
    for writer in (slow, dying, *writers):
        stage.sender.join(writer)
    judge(stage.verify(timeout=90))
    held = [first_here(stage, behind[0]) - slow_until, first_here(stage, behind[1]) - dying_since - TIMED_OUT_MS]
    require(min(held) >= 0, f"they came {held} ms after the transaction before them had ended")
    until("no waiting records in /metrics", lambda: not pending(Watch(stage.spare_port)))
    until("reading at the end of the schedule topic", lambda: read_behind(stage) == 0)
    if not stage.exactly_once:
        until("no open transaction in /metrics", lambda: open_records(Watch(stage.spare_port)) == 0)
    return f"{progress_is_kept(stage, bridge, config, generator)} aborted={len(stage.sender.refused)} " \
           f"held_until_end={len(behind[0]) + len(behind[1])}"


def open_is_shown(stage: Stage, config: Path) -> None:
    """Checks that levels, check and /metrics show the slow transaction and the requests behind it."""
    told = json.loads(stage.run("levels", "-c", str(config), "-o", "json").stdout)
    held = {lane["lane"]: lane["records"] for lane in told["open_transactions"]}
    require(held.get(0, 0) >= 40 and 2 not in held, f"levels shows {told['open_transactions']}")
    text = stage.run("levels", "-c", str(config)).stdout
    require("OPEN TRANSACTION" in text and "of lane 0, from offset" in text, f"levels says {text}")
    done = stage.run("check", "-c", str(config))
    require(done.returncode == 0 and "a producer's open transaction holds back" in done.stdout,
            f"check ended with {done.returncode} and says {done.stdout} {done.stderr}")
    if not stage.exactly_once:  # the service compares two requests
        until("a figure of open transactions in /metrics",
                         lambda: open_records(Watch(stage.spare_port)) >= 40)


def read_behind(stage: Stage) -> float:
    return Watch(stage.spare_port).total("schedule_read_behind_seconds")


def open_records(watch: Watch) -> float:
    """Returns the metric for records of the schedule topic behind open transactions."""
    return watch.metrics().get(("delaybridge_schedule_open_transaction_records", ""), -1)


def pending(watch: Watch) -> dict[str, float]:
    """Returns the topics with waiting records."""
    return {label: n for (name, label), n in watch.metrics().items()
            if name == "delaybridge_level_pending_records" and n}


def progress_is_kept(stage: Stage, bridge: Bridge, config: Path, generator: Generator) -> str:
    """Checks that progress passes aborted records and transaction markers, and that another process continues there."""
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    done = stage.run("levels", "-c", str(config), "-o", "json")
    require(done.returncode == 0, f"levels: {done.stderr}")
    told = json.loads(done.stdout)
    left = {level["level"]: level["waiting"] for level in told["levels"] if level["waiting"]}
    require(told["backlog"] == told["in_memory"] == 0 and not left,
            f"all records are delivered, but the backlog is {told['backlog']}, in memory {told['in_memory']}, in levels {left}")
    stage.bridge(config, "second")
    for lane in range(LANES):
        send_all(stage, to_lane(generator, lane, 5))
    return judge(stage.verify())


def to_lane(generator: Generator, lane: int, count: int) -> list[Request]:
    """Makes requests of one lane that are due soon."""
    key = next(key for key in (b"key-%d" % n for n in range(1000)) if partition_of(key, LANES) == lane)
    return [generator.request(now_ms(), key=key, wait_ms=300) for _ in range(count)]


def send_all(stage: Stage, requests: list[Request]) -> list[Request]:
    """Sends requests without a transaction, and waits until each is acknowledged."""
    for request in requests:
        stage.sender.send(request)
    stage.sender.flush()
    return requests


def transact(stage: Stage, writers: list[Transacted], generator: Generator, count: int) -> None:
    """Writes overlapping transactions with poison, half of them aborted, and other requests between them."""
    dice = random.Random(stage.seed)
    for n in range(count):
        writer = writers[n % len(writers)]
        writer.end(commit=dice.random() < 0.5)
        writer.write([generator.poison(now_ms(), n) if k == 0 else generator.request(now_ms())
                      for k in range(dice.randint(1, 20))])
        stage.sender.send(generator.request(now_ms()))
    for writer in writers:
        writer.end(commit=dice.random() < 0.5)
    stage.sender.flush()
    require(any(w.journal for w in writers) and any(w.refused for w in writers), "all transactions have the same outcome")


def first_here(stage: Stage, requests: list[Request]) -> int:
    """Returns when the first of them was received, by our clock."""
    wanted = {(r.partition, r.offset) for r in requests}
    return int(min(s.received_ms for s in stage.collector.seen if source(s) in wanted))


SCENARIOS = both_modes(aborted_requests)
