# SPDX-License-Identifier: Apache-2.0
"""Millions of records that wait at once cost only disk: memory and the time of a start do not grow."""
from __future__ import annotations

import struct
import threading
import time
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from client import now_ms
from stage import LANES, Stage, require, require_harness

WRITTEN_PER_S, DUE_PER_S = 8000, 40_000  # slow enough for two shared cores
PAD = b"x" * 92
HELD_MIB = 256  # new records are buffered first, up to the key memory; 20,000 do not fill it


class Counter(threading.Thread):
    """Reads a topic with numbered records. Counts the copies of each, and keeps the earliest arrival."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, count: int):
        super().__init__(daemon=True)
        self.consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "e2e-count", "log_level": 0,
                                  "enable.auto.commit": False, "isolation.level": "read_committed"})
        self.consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        self.copies = bytearray(count)
        self.total, self.late_ms, self.earliest_ms = 0, 0, 1 << 60
        self.ending = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.ending.is_set():
            for message in self.consumer.consume(10_000, timeout=0.2):
                if message.error():
                    require(message.error().code() == KafkaError._PARTITION_EOF, str(message.error()))
                    continue
                number, due = struct.unpack_from(">Iq", message.value())
                self.copies[number] += 1
                self.total += 1
                after = message.timestamp()[1] - due
                self.late_ms, self.earliest_ms = max(self.late_ms, after), min(self.earliest_ms, after)
        self.consumer.close()

    def settle(self, timeout: float) -> None:
        """Waits until each number has come, or until no record has come for so long."""
        last, since = -1, time.monotonic()
        while self.copies.count(0) and time.monotonic() - since < timeout:
            if self.total != last:
                last, since = self.total, time.monotonic()
            time.sleep(0.5)
        time.sleep(2)  # for records that should not come
        self.ending.set()
        self.join(20)


def fill(bootstrap: str, schedule: str, target: str, first_due: int, count: int) -> None:
    """Sends count requests, spread over lanes and over due times from first_due on."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True,
                         "queue.buffering.max.messages": 500_000, "log_level": 0})
    left = [count]

    def acknowledged(error, _):
        require_harness(error is None, f"a request was not stored: {error}")
        left[0] -= 1

    for n in range(count):
        due = first_due + n * 1000 // DUE_PER_S
        while True:
            try:
                producer.produce(schedule, partition=n % LANES, value=struct.pack(">Iq", n, due) + PAD,
                                 headers=[("dlb-deliver-at", b"%d" % due), ("dlb-target", target.encode())],
                                 on_delivery=acknowledged)
                break
            except BufferError:
                producer.poll(0.1)
        if n % 1000 == 0:
            producer.poll(0)
    producer.flush(120)
    require_harness(left[0] == 0, f"{left[0]} requests were not acknowledged")


def taken(stage: Stage) -> int:
    """Returns how many requests are in levels."""
    member = Consumer({"bootstrap.servers": stage.kafka.bootstrap, "group.id": stage.group, "log_level": 0})
    done = member.committed([TopicPartition(stage.schedule, lane) for lane in range(LANES)], timeout=20)
    member.close()
    return sum(max(0, place.offset) for place in done)


def start_among(stage: Stage, config, bridge, generator, name: str):
    """Restarts the bridge while one record is due. Returns the new bridge and the time until that delivery."""
    probe = generator.default
    request = generator.request(now_ms(), target=probe, wait_ms=4500, key=b"probe")
    request.timestamp_ms = None
    stage.sender.send(request)
    stage.sender.flush()
    time.sleep(1)
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    time.sleep(5)
    seen = len(stage.collector.seen)
    started = time.time() * 1000
    bridge = stage.bridge(config, name, members=0)
    report = stage.verify(timeout=30)
    require(not report.faults and len(stage.collector.seen) == seen + 1, f"the probe: {report.line()}")
    return bridge, (stage.collector.seen[-1].received_ms - started) / 1000


@dataclass
class Cost:
    """The cost of waiting records: memory after their intake, and memory and time of a start."""
    memory: float
    start_memory: float
    start_s: float
    line: str


def wait_through(stage: Stage, name: str, count: int) -> Cost:
    stage.schedule, stage.group = name, f"delaybridge.{name}"
    target, probe = f"e2e.{name}", f"e2e.probe-{name}"
    stage.admin.create(target, 8)
    stage.admin.create(probe, 1)
    config = stage.config(f"{name}.yaml", default_target=probe)
    stage.apply(config)
    stage.connect_clients([probe])
    bridge = stage.bridge(config, name)
    began = now_ms()
    times = 4 if stage.full else 2  # the best of so many starts counts, since the machine is shared
    starts_s = 10 + 15 * times
    first_due = began + 1000 * starts_s + 10_000 + count * 1000 // WRITTEN_PER_S
    counter = Counter(stage.kafka.bootstrap, target, 8, count)
    fill(stage.kafka.bootstrap, name, target, first_due, count)
    # Every offset is a request: this topic has no transactions and no other producers.
    while taken(stage) < count:
        require(now_ms() < first_due - 1000 * starts_s, f"only {taken(stage)} of {count} were ingested in time")
        time.sleep(0.3)
    took, memory = (now_ms() - began) / 1000, bridge.rss_mib()

    generator, starts = stage.generator(1000, default=probe), []
    for n in range(times):
        bridge, start_s = start_among(stage, config, bridge, generator, f"{name}-{n}")
        starts.append(start_s)
    start_s = min(starts)
    require(counter.total == 0, "a record came too early")
    start_memory = bridge.rss_mib()

    time.sleep(max(0.0, (first_due - now_ms()) / 1000))
    counter.settle(timeout=40)
    lost, doubled = counter.copies.count(0), counter.total - (count - counter.copies.count(0))
    require(lost == 0 and doubled == 0 and counter.earliest_ms >= 0,
            f"{name}: of {count} {lost} are lost, {doubled} doubled; the earliest came {counter.earliest_ms} ms after")
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    peak = bridge.rss_mib()
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    stage.collector.end()
    return Cost(memory, start_memory, start_s, (
        f"{count} waiting: ingested={took:.0f}s rss={memory:.0f}MiB rss_at_start={start_memory:.0f}MiB "
        f"rss_after={peak:.0f}MiB first_due_after_start={start_s:.2f}s lost=0 duplicates=0 early=0 "
        f"latest={counter.late_ms}ms"))


def waiting_millions(stage: Stage) -> str:
    """2,000,000 records wait at once: a start takes as little time and memory as with 20,000."""
    stage.use_levels()  # the cost of records in levels
    stage.broker()
    few = wait_through(stage, "few", 20_000 if stage.full else 2000)
    many = wait_through(stage, "many", 2_000_000 if stage.full else 60_000)
    told = (f"few, many: rss after a start {few.start_memory:.0f}, {many.start_memory:.0f} MiB, after the flood "
            f"{few.memory:.0f}, {many.memory:.0f} MiB; from a start to the first delivery "
            f"{few.start_s:.2f}, {many.start_s:.2f} s | {few.line} | {many.line}")
    require(many.start_s <= 1.5 * few.start_s + 0.5, f"a start takes longer with more waiting records: {told}")
    require(many.start_memory <= few.start_memory + 64, f"memory grows with the waiting records: {told}")
    require(many.memory <= few.memory + HELD_MIB, f"the memory for many records is not bounded: {told}")
    return told


SCENARIOS = {"waiting_millions": waiting_millions}
