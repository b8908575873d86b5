# SPDX-License-Identifier: Apache-2.0
"""More than it can take."""
from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition

from place import LANES, Peak, Place, now_ms
from table import Row

SECONDS, CALM_RATE, CALM_MS = 60, 1000, 100
EARLIER, LEAD_S = 60_000, 10
MEMORY_MIB, LEVELS = 256, 18


def capacity(place: Place, count: int = 600_000) -> float:
    """How many a second come out in bulk."""
    name, config = place.schedule()
    target = place.topic("bench.target")
    bridge = place.bridge(config, wait=True)
    meter = place.meter(target, count, bridge.pid).await_ready()
    place.load(topic=name, kind="request", count=count, target=target, delay=1000, delay_max=1500)
    result = meter.result()
    bridge.stop()
    return result["per_second"]


def unread(place: Place, name: str) -> int:
    """Requests on the schedule topic that the bridge has not finished with."""
    consumer = Consumer({"bootstrap.servers": place.kafka.bootstrap, "group.id": f"delaybridge.{name}",
                         "log_level": 0})
    lanes = consumer.committed([TopicPartition(name, lane) for lane in range(LANES)], timeout=20)
    left = sum(consumer.get_watermark_offsets(lane, timeout=20)[1] - max(lane.offset, 0) for lane in lanes)
    consumer.close()
    return left


class Flood:
    """What is offered, and what it is judged by."""

    def __init__(self, place: Place, name: str):
        self.place, self.name = place, name
        self.flood, self.earlier = place.topic("bench.flood"), place.topic("bench.earlier")
        self.how = {"topic": name, "kind": "request", "target": self.flood, "delay": 1000, "delay_max": 1500}
        self.offered = self.calm = self.left = 0
        self.began_ms = self.fell_ms = 0
        self.drained_s = self.rate = 0.0

    def reader(self, topic: str, count: int, idle_s: int):
        return self.place.tool("read", topic=topic, count=count, idle=idle_s, order=1, calm=CALM_MS).await_ready()

    def offer(self, rate: int, seconds: int) -> None:
        """First what is due all through the flood, then the flood, then a little, until all is out."""
        self.place.load(topic=self.name, kind="request", target=self.earlier, count=EARLIER, delay=LEAD_S * 1000,
                        delay_max=(LEAD_S + seconds) * 1000)
        time.sleep(LEAD_S / 2)
        self.began_ms = now_ms()
        loads = [self.place.tool("load", **self.how, rate=rate // 2, count=rate * seconds // 2, seconds=seconds,
                                 linger=50, batch=262_144) for _ in range(2)]
        self.offered = sum(load.result()["written"] for load in loads)
        self.fell_ms = now_ms()
        self.rate = self.offered / (self.fell_ms - self.began_ms) * 1000
        self.left = unread(self.place, self.name)
        drained = self.place.tool("meter", topic=self.flood, count=self.offered, base=0, timeout=300)
        more = 3
        while more > 0:
            self.calm += self.place.load(**self.how, rate=CALM_RATE, count=2 * CALM_RATE)["written"]
            if drained.process.poll() is not None:
                more -= 1
        self.drained_s = drained.result()["seconds"]


def overload(place: Place, seconds: int = SECONDS, idle_s: int = 30) -> list[Row]:
    """Twice what it delivers in bulk is offered for 60 s, to 60,000 others that were accepted before."""
    rate = int(2 * capacity(place))
    place.rest()
    name, config = place.schedule(memory=f"{MEMORY_MIB}MiB")
    bridge = place.bridge(config, wait=True)
    flood, peak = Flood(place, name), Peak(bridge.pid)
    readers = [flood.reader(flood.flood, rate * seconds + 600 * CALM_RATE, idle_s),
               flood.reader(flood.earlier, EARLIER, LEAD_S + idle_s)]
    flood.offer(rate, seconds)
    seen, early = (reader.result() for reader in readers)
    rss = peak.end()
    bridge.stop()
    wanted = flood.offered + flood.calm
    lost = wanted - seen["distinct"] + EARLIER - early["distinct"]
    twice = seen["seen"] - seen["distinct"] + early["seen"] - early["distinct"]
    out = (flood.offered - flood.left) / (flood.fell_ms - flood.began_ms) * 1000
    drain = flood.left / max(flood.drained_s, 0.1)
    recovered = max(0.0, (seen["calm"] - flood.fell_ms) / 1000)
    came_early = seen["early"] + early["early"]
    return [
        Row(f"offered / taken for {seconds} s", f"{flood.rate / 1000:.0f}k/s / {out / 1000:.0f}k/s "
            f"({flood.offered:,} offered, {flood.left:,} of them unread at the end)", "≥ 2 times",
            flood.rate >= 2 * out),
        Row("nothing lost", f"{lost} of {wanted + EARLIER:,} missing, {twice} twice, {came_early} early", "0",
            lost == 0 and twice == 0 and came_early == 0),
        Row("ms late p50 / p99 / max: what was accepted before the flood, and the flood",
            f"{late(early)}; {late(seen)}", "the former's p99 ≤ 1,000", early["p99"] <= 1000),
        Row("what was due first goes first: a record comes after one of its lane that was due later, p99 / max",
            f"by {early['inverted']['p99']:.0f} / {early['inverted']['max']:.0f} ms of what was accepted before, "
            f"{seen['inverted']['p99']:.0f} / {seen['inverted']['max']:.0f} ms of the flood, which is due in the "
            "order of its coming but for 500 ms", "the former's p99 ≤ 100", early["inverted"]["p99"] <= 100),
        Row("memory: most RSS", f"{rss:.0f} MiB (memory: {MEMORY_MIB}MiB)", f"≤ {bound_mib():.0f} MiB",
            rss <= bound_mib()),
        Row(f"after the load fell, p99 ≤ {CALM_MS} ms again", f"{recovered:.0f} s (what was left is out after "
            f"{flood.drained_s:.0f} s, {drain / 1000:.0f}k/s)", "≤ 5 s after that", recovered <= flood.drained_s + 5)]


def late(seen: dict) -> str:
    return f"{seen['p50']:.0f} / {seen['p99']:.0f} / {seen['max']:.0f}"


def bound_mib() -> float:
    """The process, what is held and in flight, a lane that is read flat out, and a level partition's start."""
    return 16 + MEMORY_MIB + 6 * LANES + 0.6 * LANES * LEVELS
