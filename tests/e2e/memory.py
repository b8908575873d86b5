# SPDX-License-Identifier: Apache-2.0
"""Resident memory of the bridge while it reads batches that are far larger when they are decompressed."""
from __future__ import annotations

import random
import struct
import time

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import NewTopic, OffsetSpec

from client import now_ms
from processes import Bridge
from reading import MIB, Peak
from stage import LANES, TARGETS, Stage, both_modes, require, require_harness

CODECS = ("gzip", "lz4", "zstd")
MEMORY_MIB = 32
UNPACKED_MIB, SMALL = 32, 16 << 10
NOISE = 160 << 10  # Bytes of a batch that no codec compresses. They make the batch larger than the rest of its fetch.

# docs/scaling.md: fetched requests of a lane, and fetched records of a level partition, which the bridge has not admitted.
LANE_MIB, LEVEL_PARTITION_MIB = 6, 2
# A fetch of a level partition brings at least one batch.
LEVEL_BATCH_BYTES = 256 << 10
# Memory of all lanes: three batches.
# One is read, one is being decompressed, and one was decompressed before the bridge paused its partition. The client
# decompresses lz4 into a buffer of up to 1.75 times the size. All batches have 512 MiB.
BUFFER = {"gzip": 1.0, "lz4": 1.75, "zstd": 1.0}
BOUND_MIB = {codec: MEMORY_MIB + LANES * LANE_MIB + 3 * UNPACKED_MIB * part for codec, part in BUFFER.items()}
BATCHES = 2  # of each lane
TARGET = "e2e.a"
TARGETS_N, TARGET_PARTITIONS = 500, 4
TARGET_KIB = 12  # of each partition of a target, in each producer, until the process ends (docs/scaling.md)

# Two transactional producers take turns. Each meets the partitions gradually.
PRODUCERS = {False: 1, True: 2}  # by exactly_once
STEADY_ROUNDS, ROUNDS_MAX = 6, 80
STEADY_MIB = 2  # a smaller growth in STEADY_ROUNDS is noise
VALUE = b"x" * 100
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
        require_harness(sender.flush(60) == 0, f"a batch compressed with {codec} was not written")
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
    require_harness(sender.flush(60) == 0, "a request was not written")
    return count


def is_steady(line: list[float]) -> bool:
    """Returns whether the last rounds needed no more memory than those before."""
    before, last = line[:-STEADY_ROUNDS], line[-STEADY_ROUNDS:]
    return len(before) > 1 and max(last) < max(before) + STEADY_MIB


def many_targets(stage: Stage) -> str:
    """Requests for thousands of target partitions: the memory that the client keeps for each is bounded."""
    path = stage.ready(memory=f"{MEMORY_MIB}MiB")
    stage.collector.end()
    stage.collector = None
    names, rand, line, total = create_targets(stage), random.Random(stage.seed), [], 0
    idle, partitions = idle_mib(stage, path), TARGETS_N * TARGET_PARTITIONS
    bound = MEMORY_MIB + LANES * LANE_MIB + PRODUCERS[stage.exactly_once] * partitions * TARGET_KIB / 1024
    bridge = stage.bridge(path)
    while not is_steady(line):
        require(len(line) < ROUNDS_MAX, f"memory grows with each round: {line}")
        peak = Peak(bridge)
        total += send_to_each(stage, names, rand)
        await_records(stage, names, total, bridge)
        line.append(peak.end() - idle)
    most = max(line)
    require(most < bound, f"{most:.0f} MiB more than idle, but {bound:.0f} are allowed:\n{bridge.tail()}")
    return f"{total} records to {partitions} partitions, MiB more than idle: " \
           f"{' '.join(f'{mib:.0f}' for mib in line)} of {bound:.0f} allowed"


def send_small(stage: Stage, count: int, due_ms: list[int]) -> None:
    """Sends requests of 100 bytes that are due at these times in turns, to three targets."""
    sender = Producer({"bootstrap.servers": stage.kafka.bootstrap, "linger.ms": 50, "log_level": 0,
                       "queue.buffering.max.messages": count})
    for n in range(count):
        headers = {"dlb-target": list(TARGETS)[n % 3], "dlb-deliver-at": str(due_ms[n % len(due_ms)])}
        sender.produce(stage.schedule, value=VALUE, partition=n % LANES, headers=headers)
    require_harness(sender.flush(60) == 0, "a request was not written")


def peak_of_small(stage: Stage, settings: dict, count: int, after_ms: range) -> float:
    """Returns the memory that such requests take until all are delivered, in MiB."""
    path = stage.ready(**settings)
    stage.collector.end()
    stage.collector = None
    idle, start_ms = idle_mib(stage, path), now_ms()
    bridge = stage.bridge(path)
    peak = Peak(bridge)
    send_small(stage, count, [start_ms + ms for ms in after_ms])
    await_records(stage, list(TARGETS), count, bridge)
    most = peak.end() - idle
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return most


def largest_batch(stage: Stage, topic: str) -> int:
    """Returns the size of the largest batch in the log files of a topic, in bytes."""
    most = 0
    for file in stage.kafka.folder.glob(f"data/*/{topic}-*/*.log"):
        log, at = file.read_bytes(), 0
        while at + 12 <= len(log) and (size := struct.unpack_from(">i", log, at + 8)[0]) > 0:
            most, at = max(most, size), at + 12 + size
    return most


def small_records(stage: Stage, memory_mib: int, settings: dict, count: int, after_ms: range) -> str:
    most = peak_of_small(stage, {"memory": f"{memory_mib}MiB", **settings}, count, after_ms)
    bound = memory_mib + LANES * (LANE_MIB + len(settings["levels"]) * LEVEL_PARTITION_MIB)
    require(most < bound, f"{most:.0f} MiB more than idle, but {bound:.0f} are allowed")
    batch_bytes = max(largest_batch(stage, f"{stage.schedule}.{level}") for level in settings["levels"])
    require(0 < batch_bytes <= LEVEL_BATCH_BYTES, f"a level has a batch of {batch_bytes} bytes")
    return f"{count} requests, {most:.0f} MiB more than idle, of {bound:.0f} allowed"


def memory_small(stage: Stage) -> str:
    """Small records fill the budget, first in memory and then in flight: `memory` counts all that they need."""
    stage.hold = "5s"  # the level allows no shorter one
    return small_records(stage, 64, {"levels": ["5s"]}, 200_000, range(16_000, 16_001))


def memory_levels(stage: Stage) -> str:
    """Due records wait in all partitions of five levels for room in a small memory: the client's fetches are bounded."""
    stage.use_levels()  # all records wait in levels
    return small_records(stage, 16, {"levels": [f"{n}s" for n in range(1, 6)]}, 200_000, range(1000, 6000, 10))


SCENARIOS = both_modes(packed_one, packed_many, packed_refused, many_targets, memory_small, memory_levels)
