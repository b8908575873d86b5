# SPDX-License-Identifier: Apache-2.0
"""What reading may cost, and what cannot be read."""
from __future__ import annotations

import threading
import time

from confluent_kafka import Producer
from confluent_kafka.admin import OffsetSpec

from client import now_ms
from processes import Bridge
from stage import LANES, Stage, both_modes, require, will_say

HEADERS = 99_990
MIB = 1 << 20


class Peak(threading.Thread):
    """The most resident memory that a process was seen with."""

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
    stage.collector.end()  # it would keep all these headers
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
    # One head a lane is listed by the client and by us, and the batch that it came in is unpacked.
    head_mib = HEADERS * (96 + 4) / MIB
    bound = memory_mib + LANES * 2 * head_mib + 32
    require(most < bound, f"{most:.0f} MiB more than before, and {bound:.0f} are allowed:\n{bridge.tail()}")
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    return f"{requests} refused requests, {most:.0f} MiB more than before, of {bound:.0f} allowed"


def bad_batch(stage: Stage, lane: int) -> str:
    """Five records of 45 MB of zeros as one batch that is small until it is unpacked; returns its place."""
    sender = Producer({"bootstrap.servers": stage.kafka.bootstrap, "compression.type": "zstd", "linger.ms": 5000,
                       "batch.size": 400_000_000, "message.max.bytes": 400_000_000,
                       "queue.buffering.max.kbytes": 2_000_000, "log_level": 0})
    places: list[int] = []
    zeros = bytes(45_000_000)
    for _ in range(5):
        sender.produce(stage.schedule, value=zeros, partition=lane, headers=[("dlb-delay", b"1s")],
                       on_delivery=lambda error, message: places.append(-1 if error else message.offset()))
    sender.flush()
    require(len(places) == 5 and min(places) >= 0, f"the batch was not stored: {places}")
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


def until(what: str, bridge: Bridge, seen, timeout: float = 60) -> None:
    deadline = time.monotonic() + timeout
    while not seen():
        require(time.monotonic() < deadline, f"{what}:\n{bridge.tail(20)}")
        time.sleep(0.2)


def unreadable(stage: Stage) -> str:
    """A batch that no client can unpack: it holds its partition until it is skipped; with unreadable: skip, not even that."""
    path = stage.ready()
    bridge = stage.bridge(path)
    lane = 3
    before = send_good(stage, 40)
    place = bad_batch(stage, lane)
    behind = send_good(stage, 80)
    held = [r for r in behind if r.partition == lane]
    free = [r for r in before + behind if r not in held]
    require(held, "no request came to lie behind the batch")
    will_say(bridge, f"delaybridge skip {place}", 60)
    require(stage.collector.wait_for(free, stage.schedule, 20) == 0, "other partitions are held as well")
    require(len(stage.collector.missing(held, stage.schedule)) == len(held), "what lies behind the batch was delivered")
    shown = stage.run("levels", "-c", str(path)).stdout
    require(f"of lane {lane} cannot be read" in shown, f"levels does not show it:\n{shown}")
    topic, _, range_ = place.split("/")
    base, end = map(int, range_.split("-"))
    for wrong, code in ((f"{topic}/{lane}/{base}-{end + 1}", 65), (f"{topic}/{lane}/{base - 1}-{end}", 65),
                        (f"{topic}/{lane}/{end}-{base}", 64), (f"e2e.a/{lane}/{base}-{end}", 64)):
        done = stage.run("skip", wrong, "-c", str(path))
        require(done.returncode == code, f"skip {wrong} ended with {done.returncode}: {done.stderr}")
    done = stage.run("skip", place, "-c", str(path))
    require(done.returncode == 0, f"skip ended with {done.returncode}: {done.stderr}")
    until("what lies behind the batch does not come", bridge,
          lambda: not stage.collector.missing(behind, stage.schedule))
    require(letters(stage, place) == 1, f"{letters(stage, place)} dead letters name the batch")
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())

    bridge = stage.bridge(stage.config("skips.yaml", unreadable="skip"), "skips")
    place = bad_batch(stage, lane)
    behind = send_good(stage, 80)
    until("what lies behind the batch does not come", bridge,
          lambda: not stage.collector.missing(behind, stage.schedule))
    until("no dead letter names the batch", bridge, lambda: letters(stage, place) == 1)
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"{len(held)} requests waited behind the batch, then came"


SCENARIOS = both_modes(bounded_memory, unreadable)
