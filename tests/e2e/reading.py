# SPDX-License-Identifier: Apache-2.0
"""What reading may cost, and what cannot be read."""
from __future__ import annotations

import threading
import time

from confluent_kafka import Producer
from confluent_kafka.admin import OffsetSpec

from processes import Bridge
from stage import LANES, Stage, both_modes, require

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


SCENARIOS = both_modes(bounded_memory)
