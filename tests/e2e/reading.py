# SPDX-License-Identifier: Apache-2.0
"""The cost of reading, and unreadable batches."""
from __future__ import annotations

import re
import struct
import threading
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import OffsetSpec

from client import now_ms
from operating import Watch
from processes import Bridge
from stage import LANES, Stage, both_modes, require, require_harness, until, will_say

HEADERS = 99_990
MIB = 1 << 20


class Peak(threading.Thread):
    """Measures the peak of a process's resident memory."""

    def __init__(self, bridge: Bridge):
        super().__init__(daemon=True)
        self.bridge, self.mib, self.ending = bridge, 0.0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.ending.wait(0.05) and self.bridge.running():
            self.mib = max(self.mib, self.bridge.rss_mib())

    def end(self) -> float:
        self.ending.set()
        self.join()
        return self.mib


def producer(stage: Stage, codec: str) -> Producer:
    return Producer({"bootstrap.servers": stage.kafka.bootstrap, "compression.type": codec, "linger.ms": 0,
                     "message.max.bytes": 300_000_000, "queue.buffering.max.kbytes": 2_000_000, "log_level": 0})


def bounded_memory(stage: Stage) -> str:
    """Refused requests with 99,990 tiny headers each while no dead letter can be written: memory stays bounded."""
    requests = 200 if stage.full else 60
    memory_mib = 64
    path = stage.ready(memory=f"{memory_mib}MiB")
    stage.collector.end()  # it would keep all headers
    stage.collector = None
    bridge = stage.bridge(path)
    time.sleep(2)
    start_mib = bridge.rss_mib()
    dead = f"{stage.schedule}.dead-letter"
    stage.admin.set(dead, **{"min.insync.replicas": "2"})
    peak = Peak(bridge)
    tiny = [("h", b"v")] * HEADERS
    sender = producer(stage, "zstd")
    for n in range(requests):
        sender.produce(stage.schedule, key=b"k%d" % n, value=b"v", headers=tiny, partition=n % LANES)
        if n % 10 == 9:
            sender.flush()
    sender.flush()
    time.sleep(5)
    stage.admin.set(dead, **{"min.insync.replicas": "1"})
    places = [(dead, lane) for lane in range(LANES)]
    since = time.monotonic()
    while sum(stage.admin.offsets(places, OffsetSpec.latest()).values()) < requests:
        require(time.monotonic() - since < 60, f"not all dead letters have come:\n{bridge.tail()}")
        time.sleep(0.5)
    most = peak.end() - start_mib
    # The client and the bridge each list the headers of one record a lane, and its batch is decompressed.
    head_mib = HEADERS * (96 + 4) / MIB
    bound = memory_mib + LANES * 2 * head_mib + 32
    require(most < bound, f"{most:.0f} MiB more than before, but {bound:.0f} are allowed:\n{bridge.tail()}")
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    return f"{requests} refused requests, {most:.0f} MiB more than before, of {bound:.0f} allowed"


def bad_batch(stage: Stage, lane: int) -> str:
    """Sends five records of 45 MB of zeros as one small compressed batch. Returns its place."""
    sender = Producer({"bootstrap.servers": stage.kafka.bootstrap, "compression.type": "zstd", "linger.ms": 5000,
                       "batch.size": 400_000_000, "message.max.bytes": 400_000_000,
                       "queue.buffering.max.kbytes": 2_000_000, "log_level": 0})
    places: list[int] = []
    zeros = bytes(45_000_000)
    for _ in range(5):
        sender.produce(stage.schedule, value=zeros, partition=lane, headers=[("dlb-delay", b"1s")],
                       on_delivery=lambda error, message: places.append(-1 if error else message.offset()))
    sender.flush()
    require_harness(len(places) == 5 and min(places) >= 0, f"the batch was not stored: {places}")
    return f"{stage.schedule}/{lane}/{min(places)}-{max(places) + 1}"


def letters(stage: Stage, place: str) -> int:
    source = place.rsplit("-", 1)[0].encode()
    return sum(s.topic == f"{stage.schedule}.dead-letter" and s.header("dlb-error") == b"unreadable" and
               s.header("dlb-source") == source for s in list(stage.collector.seen))


def send_good(stage: Stage, count: int) -> list:
    generator, first = stage.generator(500), len(stage.sender.journal)
    for _ in range(count):
        stage.sender.send(generator.request(now_ms()))
    stage.sender.flush()
    return stage.sender.journal[first:]


def blocked(stage: Stage, level: str) -> float:
    """Returns the metric for blocked partitions of a level."""
    wanted = ("delaybridge_partitions", f'level="{level}",state="blocked"')
    return Watch(stage.spare_port).metrics()[wanted]


def require_blocked(stage: Stage, path: Path, place: str, level: str) -> None:
    """Checks that metrics, levels and check show the batch at this place, and that check names the command. The process
    stays ready, because all other partitions continue."""
    until("the blocked partition in /metrics", lambda: blocked(stage, level) == 1)
    require((ready := Watch(stage.spare_port).get("/readyz"))[0] == 200, f"a partition is blocked, and /readyz answers {ready}")
    until("levels shows the blocked partition", lambda: "cannot be read" in (
        shown := stage.run("levels", "-c", str(path)).stdout) and "BLOCKED" in shown)
    done = stage.run("check", "-c", str(path))
    require(done.returncode == 78 and f"run 'delaybridge skip {place}'" in done.stdout,
            f"check ends with {done.returncode}, and does not name {place}:\n{done.stdout}{done.stderr}")


def require_free(stage: Stage, path: Path, level: str) -> None:
    until("no blocked partition in /metrics", lambda: blocked(stage, level) == 0)
    until("check is content", lambda: stage.run("check", "-c", str(path)).returncode == 0)


def unreadable(stage: Stage) -> str:
    """A batch that no client can decompress blocks its partition until it is skipped, or never with unreadable: skip."""
    stage.broker()
    path = stage.ready(listen=f"127.0.0.1:{stage.spare_port}")
    bridge = stage.bridge(path)
    before = send_good(stage, 40)
    lane = before[0].partition  # so that the batch does not begin at offset 0: base - 1 is an offset below
    place = bad_batch(stage, lane)
    behind = send_good(stage, 80)
    stuck = [r for r in behind if r.partition == lane]
    free = [r for r in before + behind if r not in stuck]
    require(stuck, "no request lies behind the batch")
    will_say(bridge, f"delaybridge skip {place}", 60)
    require(stage.collector.wait_for(free, stage.schedule, 60) == 0, "other partitions are blocked, too")
    require(len(stage.collector.missing(stuck, stage.schedule)) == len(stuck), "a record behind the batch was delivered")
    require_blocked(stage, path, place, "schedule")
    topic, _, range_ = place.split("/")
    base, end = map(int, range_.split("-"))
    for wrong, code in ((f"{topic}/{lane}/{base}-{end + 1}", 65), (f"{topic}/{lane}/{base - 1}-{end}", 65),
                        (f"{topic}/{lane}/{end}-{base}", 64), (f"e2e.a/{lane}/{base}-{end}", 64)):
        done = stage.run("skip", wrong, "-c", str(path))
        require(done.returncode == code, f"skip {wrong} ended with {done.returncode}: {done.stderr}")
    done = stage.run("skip", place, "-c", str(path), "-o", "json")
    require(done.returncode == 0, f"skip ended with {done.returncode}: {done.stderr}")
    until(lambda: f"the records behind the batch come:\n{bridge.tail(20)}",
          lambda: not stage.collector.missing(behind, stage.schedule), 60)
    until("a dead letter names the batch", lambda: letters(stage, place) == 1)
    require_free(stage, path, "schedule")
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())

    bridge = stage.bridge(stage.config("skips.yaml", unreadable="skip"), "skips")
    place = bad_batch(stage, lane)
    behind = send_good(stage, 80)
    until(lambda: f"the records behind the batch come:\n{bridge.tail(20)}",
          lambda: not stage.collector.missing(behind, stage.schedule), 60)
    until("a dead letter names the batch", lambda: letters(stage, place) == 1)
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"{len(stuck)} requests waited behind the batch, then came"


HEAD = struct.Struct(">qiibIh")  # Head of a batch: base offset, length, epoch, magic, checksum, attributes.
CONTROL = 0x20  # Bit of the attributes: a transaction marker.


def damage(stage: Stage, topic: str, lane: int) -> str:
    """Flips a bit in the last batch of a partition, as a bad disk does. Brokers send batches unchanged from disk.
    Returns the place of the batch's first record."""
    [log] = (stage.kafka.folder / "data" / "broker-1" / f"{topic}-{lane}").glob("*.log")
    content, at, place, damaged_at = log.read_bytes(), 0, "", 0
    while at + HEAD.size <= len(content):
        base, length, _, magic, _, attributes = HEAD.unpack_from(content, at)
        if magic != 2:
            break
        at += 12 + length
        if not attributes & CONTROL:
            place, damaged_at = f"{topic}/{lane}/{base}", at - 3
    with open(log, "r+b") as file:
        file.seek(damaged_at)
        file.write(bytes([content[damaged_at] ^ 1]))
    return place


def damaged(stage: Stage) -> str:
    """A damaged batch of requests, and one in a level, block their partitions until they are skipped."""
    stage.use_levels()  # a record that waits is damaged
    stage.broker()
    path = stage.ready(listen=f"127.0.0.1:{stage.spare_port}")
    bridge = stage.bridge(path)
    lane, marks = 3, [b"damaged request", b"damaged hop"]
    level = f"{stage.schedule}.30s"
    sender = Producer({"bootstrap.servers": stage.kafka.bootstrap, "linger.ms": 500, "log_level": 0})
    sender.produce(stage.schedule, value=marks[1], partition=lane, headers=[("dlb-delay", b"40s")])
    sender.flush()
    until("a record in the level", lambda: sum(stage.admin.offsets([(level, lane)], OffsetSpec.latest()).values()))
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    for _ in range(3):
        sender.produce(stage.schedule, value=marks[0], partition=lane, headers=[("dlb-delay", b"0s")])
    sender.flush()
    begins = [damage(stage, stage.schedule, lane), damage(stage, level, lane)]
    behind = send_good(stage, 80)

    bridge = stage.bridge(path)
    stuck = [r for r in behind if r.partition == lane]
    require(stuck, "no request lies behind the batch")
    for begin in begins:
        will_say(bridge, f"delaybridge skip {begin}-", 60)
    # A range ends at the next record, so it includes a transaction marker.
    places = [re.search(rf"delaybridge skip ({re.escape(begin)}-\d+)", bridge.tail(1000))[1] for begin in begins]
    for place, name in zip(places, ("schedule", "30s")):
        require_blocked(stage, path, place, name)
    free = [r for r in behind if r not in stuck]
    require(stage.collector.wait_for(free, stage.schedule, 60) == 0, "other partitions are blocked, too")
    for place in places:
        done = stage.run("skip", place, "-c", str(path))
        require(done.returncode == 0, f"skip {place} ended with {done.returncode}: {done.stderr}")
    until(lambda: f"the records behind the batches come:\n{bridge.tail(20)}",
          lambda: not stage.collector.missing(behind, stage.schedule), 60)
    for place, name in zip(places, ("schedule", "30s")):
        until(f"a dead letter names {place}", lambda at=place: letters(stage, at) == 1)
        require_free(stage, path, name)
    came = [s for s in list(stage.collector.seen) if s.value is not None and s.value[:7] == b"damaged"]
    require(not came, f"of the damaged batches, {came} records came")
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"{', '.join(places)}: blocked, shown, skipped; {len(stuck)} requests waited behind them, then came"


SCENARIOS = both_modes(bounded_memory, unreadable, damaged)
