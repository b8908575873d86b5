# SPDX-License-Identifier: Apache-2.0
"""Measurements that other programs publish: the highest sustained rate, 100,000 at one instant, and kill -9 under load."""
from __future__ import annotations

from dataclasses import dataclass

from forwarding import one_stop_each
from lateness import SETTLE_S, hops_each
from place import LANES, Place
from processes import Bridge, reserve_ports
from standing import broker_cpu
from table import STATED, Row

RATES = (60_000, 80_000, 95_000, 110_000, 130_000, 150_000, 175_000, 190_000, 205_000, 230_000, 265_000)
RATES_OF_THREE = (10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 50_000, 60_000)
SECONDS, KEPT_MS, IDLE_S = 8, 1000, 3
LEVELS, DELAY_MS, DELAY_MAX_MS = ["1s", "2s"], 2600, 2900  # one stop of 2 s, even if a request is read a second late
MEMORY = "1GiB"  # for the records of two seconds
FLOW_RATE, FLOW_S, KILL_S, AWAY_S = 1000, 12, 4, 0.5


def instant_100k(place: Place, count: int = 100_000) -> list[Row]:
    """100,000 records due at one millisecond, as for other programs: the rate until the last one is read."""
    one = one_stop_each(place, count)
    rate = count / one.seen["last"]
    return [Row("100k due at one instant: deliveries a second", f"{rate:.0f}k/s, the last after {one.seen['last']:.0f} ms",
                STATED, one.sound, rate, one.sound)]


@dataclass(frozen=True)
class Flow:
    rate: int
    out: float  # records a second in the steady part
    p99: float
    hops: float
    bridge_us: float
    broker_us: float
    compiler_us: float  # CPU of the broker's compiler
    whole: bool

    @property
    def kept(self) -> bool:
        return self.whole and self.p99 <= KEPT_MS and abs(self.hops - 1) <= 0.01

    def __str__(self) -> str:
        return (f"{self.rate // 1000}k/s offered, {self.out / 1000:.0f}k/s out, p99 {self.p99:.0f} ms, {self.hops:.2f} hops"
                + ("" if self.whole else ", not whole"))


def flow(place: Place, rate: int, seconds: int, **settings) -> Flow:
    """Sends requests at this rate through one level each, and reads the target."""
    port = reserve_ports()
    name, config = place.schedule(listen=f"127.0.0.1:{port}", levels=LEVELS, **settings)
    target, count = place.topic("bench.target", settings.get("lanes", LANES)), rate * (SETTLE_S + seconds)
    bridge = place.bridge(config, wait=True)
    compiled = place.compiled()
    read = place.tool("read", topic=target, count=count, idle=10, settle=1000 * SETTLE_S).await_ready()
    meter = place.meter(target, count, bridge.pid, **{"from": rate * SETTLE_S}).await_ready()
    place.load(topic=name, kind="request", target=target, rate=rate, count=count, delay=DELAY_MS, delay_max=DELAY_MAX_MS,
               linger=50, batch=262_144)
    seen, cost = read.result(), meter.result()
    hops = hops_each(port, count)
    bridge.stop()
    return Flow(rate, cost["per_second"], seen["p99"], hops, cost["cpu_us"][0], sum(cost["cpu_us"][1:]),
                (place.compiled() - compiled) / count * 1e6, seen["complete"] and seen["early"] == 0 and cost["records"] == count)


def highest(place: Place, rates: tuple[int, ...], seconds: int, **settings) -> tuple[Flow | None, list[Flow]]:
    """Returns the flow of the highest sustained rate, or None, and all flows."""
    best, tried = None, []
    while rates:
        half = len(rates) // 2
        place.rest()
        tried.append(flow(place, rates[half], seconds, **settings))
        if tried[-1].kept:
            best, rates = tried[-1], rates[half + 1:]
        else:
            rates = rates[:half]
    return best, tried


def most_with(place: Place, rates: tuple[int, ...], seconds: int, lanes: int) -> list[Row]:
    idle_us = broker_cpu(place, IDLE_S) * 10_000  # microseconds a second
    best, tried = highest(place, rates, seconds, lanes=lanes, memory=MEMORY)
    told = "; ".join(map(str, sorted(tried, key=lambda one: one.rate)))
    one, kept = best or tried[-1], best.rate / 1000 if best else 0
    cpu = one.bridge_us + one.broker_us
    return [Row(f"highest sustained rate, one level, {lanes} lanes, with generator and reader",
                (f"{kept:.0f}k/s: " if best else "none of these: ") + told, STATED, best is not None, kept),
            Row(f"CPU a message at this rate, {lanes} lanes",
                f"{cpu:.1f} µs: bridge {one.bridge_us:.1f}, broker {one.broker_us:.1f} (of it, idle "
                f"{idle_us / one.rate:.1f} and its compiler {one.compiler_us:.1f})", STATED, best is not None, cpu)]


def most(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS) -> list[Row]:
    """The highest sustained rate from schedule through one level to the target: p99 of at most a second, memory of 1 GiB."""
    return most_with(place, rates, seconds, LANES)


def most_32(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS) -> list[Row]:
    """The highest sustained rate with 32 lanes: in one level each lane has a window of 24,000 records."""
    return most_with(place, rates, seconds, 32)


def three_most(place: Place, rates: tuple[int, ...] = RATES_OF_THREE, seconds: int = SECONDS) -> list[Row]:
    """The highest sustained rate on three brokers: the cost of a message with three replicas."""
    return most_with(place, rates, seconds, LANES)


class Pair:
    """Two bridges in one group, of which one is killed under load."""

    def __init__(self, place: Place, named: bool, **settings):
        self.place, self.named = place, named
        self.name, self.config = place.schedule(**settings)
        self.target = place.topic("bench.target")
        self.bridges = [self.start(1), self.start(2, wait=True)]

    def start(self, number: int, wait: bool = False) -> Bridge:
        env = {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": f"bench-{number}"} if self.named else {}
        return self.place.bridge(self.config, wait=wait, members=2, env=env)

    def play(self) -> dict:
        count = FLOW_RATE * FLOW_S
        read = self.place.tool("read", topic=self.target, count=count, idle=10, order=1).await_ready()
        load = self.place.tool("load", topic=self.name, kind="request", target=self.target, rate=FLOW_RATE, count=count,
                               delay=1000, delay_max=1500)
        self.place.rest(KILL_S)
        self.bridges.pop().kill()
        self.place.rest(AWAY_S)
        self.bridges.append(self.start(2))
        load.result()
        seen = read.result()
        for bridge in self.bridges:
            bridge.stop()
        return seen


def killed(place: Place, what: str, named: bool) -> Row:
    seen = Pair(place, named).play()
    twice, worst_s = seen["seen"] - seen["distinct"], seen["max"] / 1000
    whole = seen["complete"] and seen["early"] == 0
    text = (f"{twice} duplicates, {twice / FLOW_RATE:.1%} of a second of records. At most {worst_s:.1f} s late, "
            f"p99 {seen['p99'] / 1000:.1f} s")
    if not whole:
        text += f"; {seen['distinct']:,} of {FLOW_RATE * FLOW_S:,} seen, {seen['early']} early"
    return Row(what, text, "duplicates < 10 % of a second, late < 6 s",
               whole and twice < FLOW_RATE / 10 and worst_s < 6, twice, whole)


def kill(place: Place) -> list[Row]:
    """1,000/s through two processes; one is killed (-9) and started again after half a second."""
    return [killed(place, "kill -9, each with a group.instance.id", True),
            killed(place, "kill -9, without", False)]
