# SPDX-License-Identifier: Apache-2.0
"""Resident memory of the bridge while it reads batches that are far larger when they are decompressed."""
from __future__ import annotations

import random
import time

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import NewTopic, OffsetSpec

from client import now_ms
from processes import Bridge
from reading import MIB, Peak
from stage import LANES, Stage, both_modes, require

CODECS = ("gzip", "lz4", "zstd")
MEMORY_MIB = 32
UNPACKED_MIB, SMALL = 32, 16 << 10
NOISE = 160 << 10  # Bytes of a batch that no codec compresses. They make the batch larger than the rest of its fetch.

# Memory of each lane: 6 MiB for the fetched records of its levels, as docs/scaling.md says. Memory of all lanes: three batches.
# One is read, one is being decompressed, and one was decompressed before the bridge paused its partition. The client
# decompresses lz4 into a buffer of up to 1.75 times the size. All batches have 512 MiB.
BUFFER = {"gzip": 1.0, "lz4": 1.75, "zstd": 1.0}
BOUND_MIB = {codec: MEMORY_MIB + LANES * 6 + 3 * UNPACKED_MIB * part for codec, part in BUFFER.items()}
BATCHES = 2  # of each lane
TARGET = "e2e.a"
TARGETS_N, TARGET_PARTITIONS, ROUNDS = 500, 4, 3
TARGET_KIB = 8  # of each partition of a target, for as long as the process lives
HEADERS = {"good": [("dlb-delay", b"2s"), ("dlb-target", TARGET.encode())], "refused": []}


def batch(shape: str, rand: random.Random) -> list[bytes]:
    """Returns the values of a batch of 32 MiB: one value, or 2,048."""
    if shape == "one":
        return [rand.randbytes(NOISE) + bytes(UNPACKED_MIB * MIB - NOISE)]
    count = UNPACKED_MIB * MIB // SMALL
    return [rand.randbytes(NOISE // count) + bytes(SMALL - NOISE // count) for _ in range(count)]


def send_packed(stage: Stage, codec: str, shape: str, kind: str) -> int:
    """Sends such batches to each lane. Returns the number of records."""
    rand, count = random.Random(f"{stage.seed} {codec}"), 0
    for lane in [*range(LANES)] * BATCHES:
        sender = Producer({"bootstrap.servers": stage.kafka.bootstrap, "compression.type": codec, "linger.ms": 200_000,
                           "batch.size": 2 * UNPACKED_MIB * MIB, "batch.num.messages": 1_000_000,
                           "message.max.bytes": 300_000_000, "queue.buffering.max.kbytes": 2_000_000, "log_level": 0})
        for value in batch(shape, rand):
            sender.produce(stage.schedule, value=value, headers=HEADERS[kind], partition=lane)
            count += 1
        require(sender.flush(60) == 0, f"a batch compressed with {codec} was not written")
    return count


def written(stage: Stage, places: list[tuple[str, int]]) -> int:
    """Returns how many records these partitions have, or -1 if a new partition has no leader yet."""
    try:
        return sum(stage.admin.offsets(places, OffsetSpec.latest()).values())
    except KafkaException:
        return -1


def await_records(stage: Stage, topics: list[str], count: int, bridge: Bridge) -> None:
    known = stage.admin.topics()
    places, since = [(topic, p) for topic in topics for p in range(known[topic])], time.monotonic()
    while written(stage, places) < count:
        require(time.monotonic() - since < 120, f"not all records are in {topics[0]}:\n{bridge.tail()}")
        time.sleep(0.2)


def idle_mib(stage: Stage, path) -> float:
    bridge = stage.bridge(path)
    time.sleep(2)
    mib = bridge.rss_mib()
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return mib


def packed(stage: Stage, shape: str, kind: str = "good") -> str:
    path = stage.ready(memory=f"{MEMORY_MIB}MiB")
    stage.collector.end()  # it would keep all records
    stage.collector = None
    idle, count, line = idle_mib(stage, path), 0, []
    dead = f"{stage.schedule}.dead-letter"
    stage.admin.set(TARGET, max_message_bytes=str(64 * MIB))
    for codec in CODECS if stage.full else CODECS[stage.seed % len(CODECS):][:1]:
        if kind == "refused":
            stage.admin.set(dead, min_insync_replicas="2")
        count += send_packed(stage, codec, shape, kind)
        bridge = stage.bridge(path, codec, members=0)
        peak = Peak(bridge)
        if kind == "refused":
            time.sleep(6)
            stage.admin.set(dead, min_insync_replicas="1")
        await_records(stage, [dead if kind == "refused" else TARGET], count, bridge)
        most = peak.end() - idle
        line.append(f"{codec}={most:.0f} of {BOUND_MIB[codec]:.0f}")
        require(most < BOUND_MIB[codec],
                f"{codec}: {most:.0f} MiB more than idle, but {BOUND_MIB[codec]:.0f} are allowed:\n{bridge.tail()}")
        require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"{count} records, MiB more than idle, of those allowed: {' '.join(line)}"


def packed_one(stage: Stage) -> str:
    """A batch of one record of 32 MiB in each lane, with memory: 32MiB: memory stays bounded."""
    return packed(stage, "one")


def packed_many(stage: Stage) -> str:
    """A compressed batch of 2,048 records in each lane, 32 MiB in all: memory stays bounded."""
    return packed(stage, "many")


def packed_refused(stage: Stage) -> str:
    """Such batches of refused requests while no dead letter can be written: memory stays bounded."""
    return packed(stage, "many", "refused")


def create_targets(stage: Stage) -> list[str]:
    names = [f"e2e.many.{n}" for n in range(TARGETS_N)]
    for future in stage.admin.client.create_topics([NewTopic(name, TARGET_PARTITIONS) for name in names]).values():
        future.result(120)
    stage.admin.wait("the targets", lambda: set(names) <= set(stage.admin.topics()), 120)
    return names


def send_to_each(stage: Stage, names: list[str], rand: random.Random) -> int:
    """Sends one request of 1 KiB for each partition of a target, with random keys, all due at once."""
    sender, due_ms = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0}), now_ms() + 2000
    count = TARGETS_N * TARGET_PARTITIONS
    for n in range(count):
        headers = {"dlb-deliver-at": str(due_ms), "dlb-target": names[n % TARGETS_N]}
        sender.produce(stage.schedule, key=rand.randbytes(8), value=rand.randbytes(1024), headers=headers)
        sender.poll(0)
    require(sender.flush(60) == 0, "a request was not written")
    return count


def many_targets(stage: Stage) -> str:
    """Requests for thousands of target partitions: the memory that the client keeps for each is bounded."""
    path = stage.ready(memory=f"{MEMORY_MIB}MiB")
    stage.collector.end()
    stage.collector = None
    names, rand, line, total = create_targets(stage), random.Random(stage.seed), [], 0
    idle, partitions = idle_mib(stage, path), TARGETS_N * TARGET_PARTITIONS
    bound = MEMORY_MIB + LANES * 6 + partitions * TARGET_KIB / 1024
    bridge = stage.bridge(path)
    for _ in range(ROUNDS):
        peak = Peak(bridge)
        total += send_to_each(stage, names, rand)
        await_records(stage, names, total, bridge)
        line.append(peak.end() - idle)
    most = max(line)
    require(most < bound, f"{most:.0f} MiB more than idle, but {bound:.0f} are allowed:\n{bridge.tail()}")
    require(line[-1] < line[0] * 1.25 + 4, f"memory grows with each round: {line}")
    return f"{total} records to {partitions} partitions, MiB more than idle: " \
           f"{' '.join(f'{mib:.0f}' for mib in line)} of {bound:.0f} allowed"


SCENARIOS = both_modes(packed_one, packed_many, packed_refused, many_targets)
