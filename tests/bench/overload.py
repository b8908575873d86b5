# SPDX-License-Identifier: Apache-2.0
"""Load above the highest sustained rate."""
from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition

from others import RATES, SECONDS as FLOW_S, highest
from place import LANES, Place, now_ms, peak_mib
from table import STATED, Row

SECONDS, CALM_RATE, CALM_MS = 60, 1000, 100
EARLIER, LEAD_S = 60_000, 10
MEMORY_MIB = 256
OFFERED = 2.4  # Offered rate, as a multiple of a rate that is not sustained. Generators may fall behind a little.
DRAIN = 1.5    # Time for the rest, as a multiple of the time at that rate.


def too_much(place: Place, rates: tuple[int, ...], seconds: int) -> int:
    """Returns the lowest of these rates that the bridge does not sustain."""
    _, tried = highest(place, rates, seconds)
    failed = [one.rate for one in tried if not one.kept]
    if not failed:
        raise RuntimeError(f"the bridge sustains all of {rates}, so this part cannot overload it")
    return min(failed)


def unread(place: Place, name: str) -> int:
    """Returns the number of unfinished requests on the schedule topic."""
    consumer = Consumer({"bootstrap.servers": place.kafka.bootstrap, "group.id": f"delaybridge.{name}",
                         "log_level": 0})
    lanes = consumer.committed([TopicPartition(name, lane) for lane in range(LANES)], timeout=20)
    left = sum(consumer.get_watermark_offsets(lane, timeout=20)[1] - max(lane.offset, 0) for lane in lanes)
    consumer.close()
    return left


class Flood:
    """The offered load, and the measurements of it."""

    def __init__(self, place: Place, name: str):
        self.place, self.name = place, name
        self.flood, self.earlier = place.topic("bench.flood"), place.topic("bench.earlier")
        self.how = {"topic": name, "kind": "request", "target": self.flood, "delay": 1000, "delay_max": 1500}
        self.offered = self.calm = self.left = 0
        self.began_ms = self.fell_ms = 0
        self.drained_s = self.rate = self.taken = self.out = 0.0

    def reader(self, topic: str, count: int, idle_s: int):
        return self.place.tool("read", topic=topic, count=count, idle=idle_s, lead=LEAD_S, order=1,
                               calm=CALM_MS).await_ready()

    def offer(self, rate: int, seconds: int) -> None:
        """Sends requests that are due during the flood, then the flood, then a few, until all are delivered. The flood's
        generators have a higher priority than the bridge. Otherwise the bridge would slow them down."""
        self.place.load(topic=self.name, kind="request", target=self.earlier, count=EARLIER, delay=LEAD_S * 1000,
                        delay_max=(LEAD_S + seconds) * 1000)
        time.sleep(LEAD_S / 2)
        self.began_ms = now_ms()
        loads = [self.place.tool("load", **self.how, rate=rate // 2, count=rate * seconds // 2, seconds=seconds,
                                 linger=50, batch=262_144, ahead=True) for _ in range(2)]
        self.offered = sum(load.result()["written"] for load in loads)
        self.fell_ms = now_ms()
        took_s = (self.fell_ms - self.began_ms) / 1000
        self.rate, self.out = self.offered / took_s, sum(self.place.ends(self.flood, self.earlier)) / took_s
        self.left = unread(self.place, self.name)
        self.taken = (self.offered + EARLIER - self.left) / took_s
        drained = self.place.tool("meter", topic=self.flood, count=self.offered, base=0, timeout=300)
        more = 3
        while more > 0:
            self.calm += self.place.load(**self.how, rate=CALM_RATE, count=2 * CALM_RATE)["written"]
            if drained.process.poll() is not None:
                more -= 1
        self.drained_s = drained.result()["seconds"]


def overload(place: Place, seconds: int = SECONDS, idle_s: int = 30, rates: tuple[int, ...] = RATES,
             flow_s: int = FLOW_S) -> list[Row]:
    """Twice a rate that the bridge does not sustain is offered for 60 s, while 60,000 earlier requests become due."""
    most = too_much(place, rates, flow_s)
    rate = int(OFFERED * most)
    place.rest()
    name, config = place.schedule(memory=f"{MEMORY_MIB}MiB")
    bridge = place.bridge(config, wait=True)
    flood = Flood(place, name)
    readers = [flood.reader(flood.flood, rate * seconds + 600 * CALM_RATE, idle_s),
               flood.reader(flood.earlier, EARLIER, LEAD_S + idle_s)]
    flood.offer(rate, seconds)
    seen, early = (reader.result() for reader in readers)
    peak, bound = peak_mib(bridge.pid), bound_mib(place, name)
    bridge.stop()
    return [*of_the_flood(flood, most, seconds), *of_the_readers(flood, seen, early),
            Row("memory: most RSS", f"{peak:.0f} MiB (memory: {MEMORY_MIB}MiB; records in {bound.partitions} level partitions)",
                f"≤ {bound.mib:.0f} MiB", peak <= bound.mib), *of_the_end(flood, seen, most)]


def of_the_flood(flood: Flood, most: int, seconds: int) -> list[Row]:
    return [Row(f"offered for {seconds} s / lowest rate that is not sustained",
                f"{flood.rate / 1000:.0f}k/s / {most / 1000:.0f}k/s ({flood.offered:,} offered, {flood.left:,} of them unread at "
                "the end)", "≥ 2 times", flood.rate >= 2 * most),
            Row("read and delivered meanwhile", f"{flood.taken / 1000:.0f}k/s and {flood.out / 1000:.0f}k/s, "
                f"{flood.taken / most:.2f} and {flood.out / most:.2f} of that rate", STATED, True)]


def of_the_readers(flood: Flood, seen: dict, early: dict) -> list[Row]:
    wanted = flood.offered + flood.calm
    lost = wanted - seen["distinct"] + EARLIER - early["distinct"]
    twice = seen["seen"] - seen["distinct"] + early["seen"] - early["distinct"]
    came_early = seen["early"] + early["early"]
    return [
        Row("nothing lost", f"{lost} of {wanted + EARLIER:,} missing, {twice} twice, {came_early} early", "0",
            lost == 0 and twice == 0 and came_early == 0),
        Row("ms late p50 / p99 / max: requests before the flood; the flood",
            f"{late(early)}; {late(seen)}", "the former's p99 ≤ 1,000", early["p99"] <= 1000),
        Row("order: ms by which a record follows one of its lane that is due later, p99 / max",
            f"{early['inverted']['p99']:.0f} / {early['inverted']['max']:.0f} before the flood; "
            f"{seen['inverted']['p99']:.0f} / {seen['inverted']['max']:.0f} in the flood, whose delays differ by 500 ms",
            "the former's p99 ≤ 100", early["inverted"]["p99"] <= 100)]


def of_the_end(flood: Flood, seen: dict, most: int) -> list[Row]:
    at_most_s = DRAIN * flood.left / most
    recovered = max(0.0, (seen["calm"] - flood.fell_ms) / 1000)
    return [Row("after the flood, the rest is delivered", f"after {flood.drained_s:.0f} s, "
                f"{flood.left / max(flood.drained_s, 0.1) / 1000:.0f}k/s",
                f"≤ {at_most_s:.0f} s: {DRAIN} times as long as at {most / 1000:.0f}k/s", flood.drained_s <= at_most_s),
            Row(f"after the flood, p99 ≤ {CALM_MS} ms again", f"after {recovered:.0f} s", "≤ 5 s after the rest",
                recovered <= flood.drained_s + 5)]


def late(seen: dict) -> str:
    return f"{seen['p50']:.0f} / {seen['p99']:.0f} / {seen['max']:.0f}"


@dataclass(frozen=True)
class Bound:
    mib: float
    partitions: int  # number of level partitions with waiting records, now or earlier


def bound_mib(place: Place, name: str) -> Bound:
    """Returns the bound of memory, from process, buffered and in-flight records, lanes at full speed and level partitions."""
    used = sum(end > 0 for end in place.ends(*place.levels(name)))
    return Bound(16 + MEMORY_MIB + 6 * LANES + 2 * used, used)
