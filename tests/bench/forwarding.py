# SPDX-License-Identifier: Apache-2.0
"""Forwarding at full speed, compared with the bare loop on the same records."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lateness import hops_each
from place import LANES, Place, now_ms
from processes import cpu_seconds, reserve_ports
from table import Row

HOUR = 3_600_000
ID = "0123456789012"  # id of a request; a delivery then has three headers of the bridge
AGAIN = 4
HOLD_S = 5  # so that requests have one stop of 10 s if they are read 9.5 to 15 s before they are due
ONE_STOP_MS = 1000 * (10 + HOLD_S)
LOAD_MS = 7000  # for the load of the requests


def bridge_rate(place: Place, config: Path, topic: str, count: int, env: dict[str, str] | None = None) -> dict:
    bridge = place.bridge(config, env=env)
    result = place.meter(topic, count, bridge.pid).result()
    bridge.stop()
    return result


def loop_rate(place: Place, source: str, count: int) -> dict:
    out = place.topic("bench.out")
    loop = place.tool("loop", **{"in": source}, out=out, idle="bench.idle", count=count)
    result = place.meter(out, count, loop.pid).result()
    loop.result()
    return result


def compare(place: Place, what: str, ratio_goal: float, cpu_goal: float, prepare: Callable, count: int) -> list[Row]:
    """prepare() returns a configuration, the topic that the bridge fills, and the topic that the loop reads."""
    config, grows, source = prepare()
    seen = place.in_turns(bridge=lambda: bridge_rate(place, config, grows, count),
                          loop=lambda: loop_rate(place, source, count))
    rate, cpu, broker = ({name: figure(result) for name, result in seen.items()} for figure in (
        lambda r: r["per_second"], lambda r: r["cpu_us"][0], lambda r: sum(r["cpu_us"][1:])))
    ratio, sound = rate["bridge"] / rate["loop"], all(result["complete"] for result in seen.values())
    return [
        Row(f"{what}: rate / bare loop",
            f"{ratio:.2f} ({rate['bridge'] / 1000:.0f}k/s, {rate['loop'] / 1000:.0f}k/s)",
            f"≥ {ratio_goal}", ratio >= ratio_goal, ratio, sound),
        Row(f"{what}: client CPU a record",
            f"{cpu['bridge']:.2f} µs (loop {cpu['loop']:.2f}; broker {broker['bridge']:.2f}, {broker['loop']:.2f})",
            f"≤ {cpu_goal} µs", cpu["bridge"] <= cpu_goal, cpu["bridge"], sound)]


def ended_stops(place: Place, count: int, **settings) -> tuple[Path, str, str]:
    """Writes records whose stop in one level has ended. Returns a configuration, the next level and this one."""
    name, config = place.schedule(levels=["1s", "1m", "1h"], **settings)
    place.load(topic=f"{name}.1m", kind="envelope", count=count, stamp=now_ms() - 10 * 60_000,
               due=now_ms() + HOUR + HOUR // 2)
    return config, f"{name}.1h", f"{name}.1m"


def hop(place: Place, count: int = 1_500_000) -> list[Row]:
    """Level to level: all stops of the first level have ended, and the next one lasts an hour."""
    return compare(place, "middle hop", 0.8, 1.5, lambda: ended_stops(place, count), count)


def intake(place: Place, count: int = 600_000) -> list[Row]:
    """Requests with two dlb- headers and one user header, into a level."""
    def prepare():
        name, config = place.schedule(levels=["1s", "1m", "1h"])
        place.load(topic=name, kind="request", count=count, due=now_ms() + HOUR + HOUR // 2)
        return config, f"{name}.1h", name
    return compare(place, "intake", 0.7, 4, prepare, count)


def due_in_level(place: Place, count: int, **settings) -> tuple[Path, str]:
    """Writes due records into a level. Returns a configuration and their target."""
    name, config = place.schedule(levels=["1s", "1m", "1h"], **settings)
    target = place.topic("bench.target")
    place.load(topic=f"{name}.1m", kind="envelope", count=count, stamp=now_ms() - 10 * 60_000,
               due=now_ms() - 1000, target=target, id=ID)
    return config, target


def delivery(place: Place, count: int = 600_000) -> list[Row]:
    """Overdue records from a level to their target, with three headers of the bridge."""
    def prepare():
        config, target = due_in_level(place, count)
        loop_in = place.topic("bench.in")
        place.load(topic=loop_in, kind="headers", headers=4, count=count)
        return config, target, loop_in
    return compare(place, "delivery", 0.7, 4, prepare, count)


@dataclass(frozen=True)
class Instant:
    seen: dict
    cpu_us: float  # CPU of bridge and broker for a message
    hops: float    # of a message

    @property
    def right(self) -> bool:
        return self.seen["complete"] and self.seen["early"] == 0

    @property
    def sound(self) -> bool:
        return self.right and self.hops == 1


def at_one_instant(place: Place, count: int) -> Instant:
    """Sends count requests due at one millisecond: schedule, one level of 10 s, target."""
    port = reserve_ports()
    name, config = place.schedule(listen=f"127.0.0.1:{port}", hold=f"{HOLD_S}s")
    target = place.topic("bench.target")
    read = place.tool("read", topic=target, count=count, idle=60).await_ready()
    broker_s, due = cpu_seconds(place.kafka.pid()), now_ms() + ONE_STOP_MS + LOAD_MS
    place.load(topic=name, kind="request", count=count, due=due, target=target)
    place.rest((due - ONE_STOP_MS - now_ms()) / 1000)
    bridge = place.bridge(config)
    seen = read.result()
    place.rest()
    cpu = (bridge.cpu_seconds() + cpu_seconds(place.kafka.pid()) - broker_s) / count * 1e6
    hops = hops_each(port, count)
    bridge.stop()
    return Instant(seen, cpu, hops)


def one_stop_each(place: Place, count: int) -> Instant:
    """Repeats at_one_instant a few times if a slow intake sent some requests through other levels."""
    for _ in range(AGAIN):
        one = at_one_instant(place, count)
        if one.sound or not one.right:
            break
    return one


def instant(place: Place, count: int = 500_000) -> list[Row]:
    """More than a window of each lane is due at one millisecond: schedule, one level of 10 s, target."""
    one = one_stop_each(place, count)
    seen, sound = one.seen, one.sound
    return [
        Row(f"{count // 1000}k due at one instant ({count // LANES} a lane): first after", f"{seen['first']:.1f} ms",
            "≤ 10 ms", seen["first"] <= 10, seen["first"], sound),
        Row(f"{count // 1000}k due at one instant: last after", f"{seen['last']:.0f} ms ({seen['early']} early)",
            "≤ 1,100 ms", seen["last"] <= 1100, seen["last"], sound),
        Row("schedule → level → target in bulk: CPU a message, bridge and broker with generator and reader",
            f"{one.cpu_us:.1f} µs ({one.hops:g} hops)", "≤ 10 µs", one.cpu_us <= 10, one.cpu_us, sound)]
