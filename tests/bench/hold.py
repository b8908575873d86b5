# SPDX-License-Identifier: Apache-2.0
"""Records that wait in memory in place of a level: hops, cost, ramps and failures, next to the same with `hold: 1s`."""
from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from others import Pair
from place import TOOL, Place
from steady import Stream, steady
from table import Row

SHORT, LONG = "1s", "30s"
MEMORY = 256 << 20
COUNTED = ((100, "at-least-once", 2.0), (1000, "at-least-once", 2.4), (1000, "exactly-once", 3.0))
CALM_RATES, FLOOD_RATE = (100, 3000), 60_000
CALM_S, FLOOD_S, DELAY_MS = 6, 4, 5000
MOST_LATER_MS, MOST_CPU, MOST_WAIT_S = 100, 0.85, 0.2


def counted(rate: int, mode: str, delay: str, hold_ms: int) -> dict:
    """Runs the core alone, in virtual time (hops.c)."""
    args = [mode, str(rate), delay, str(hold_ms), str(MEMORY)]
    return json.loads(subprocess.run([str(TOOL.parent / "bench_hops"), *args], capture_output=True, text=True,
                                     check=True).stdout)


def hops(rate: int, mode: str, most: float) -> Row:
    with ThreadPoolExecutor() as pool:
        kept, today = pool.map(lambda hold_ms: counted(rate, mode, "exp:900", hold_ms), (30_000, 1000))
    return Row(f"hops of a request, {rate:,}/s, exponential around 15 min, {mode}",
               f"{kept['hops']:.2f}; {today['hops']:.2f} with hold {SHORT}. {kept['spilled']:.1%} of the kept ones spilled, "
               f"{kept['kept_bytes'] / (1 << 20):.0f} MiB", f"≤ {most}", kept["hops"] <= most, kept["hops"])


def none(rate: int) -> Row:
    seen = counted(rate, "at-least-once", "5", 30_000)
    return Row(f"hops of a request, {rate:,}/s, 5 s", f"{seen['hops']:.2f}", "0", seen["hops"] == 0, seen["hops"])


def everyday(place: Place) -> Row:
    kept, today = (steady(place, Stream(1000), hold=hold) for hold in (LONG, SHORT))
    ratio = kept.cpu_us / today.cpu_us
    return Row("1,000/s, 1.1 to 1.9 s: CPU a message of bridge + broker, ms late p50 / p99, RSS",
               f"{kept.bridge_us:.0f} + {kept.broker_us:.0f} µs, {kept.p50:.1f} / {kept.p99:.1f}, {kept.rss_mib:.0f} MiB; "
               f"hold {SHORT}: {today.bridge_us:.0f} + {today.broker_us:.0f} µs, {today.p50:.1f} / {today.p99:.1f}, "
               f"{today.rss_mib:.0f} MiB ({ratio:.2f})", f"≤ {MOST_CPU} of the CPU", ratio <= MOST_CPU, ratio,
               kept.whole and today.whole)


@dataclass(frozen=True)
class Ramp:
    p99_ms: float
    max_ms: float
    rss_mib: float
    whole: bool


def ramp(place: Place, rate: int, hold: str) -> Ramp:
    """A calm stream, and a flood that begins within a second."""
    name, config = place.schedule(hold=hold, memory=f"{MEMORY >> 20}MiB")
    target = place.topic("bench.target")
    bridge = place.bridge(config, wait=True)
    how = {"topic": name, "kind": "request", "target": target, "delay": DELAY_MS, "delay_max": DELAY_MS}
    calm, flood = rate * (CALM_S + FLOOD_S), FLOOD_RATE * FLOOD_S
    read = place.tool("read", topic=target, count=calm + flood, idle=15).await_ready()
    stream = place.tool("load", **how, rate=rate, count=calm)
    place.rest(CALM_S)
    flooded = place.tool("load", **how, rate=FLOOD_RATE, count=flood, linger=50, batch=262_144)
    stream.result(), flooded.result()
    seen, rss = read.result(), bridge.rss_mib()
    bridge.stop()
    return Ramp(seen["p99"], seen["max"], rss, seen["complete"] and seen["early"] == 0)


def ramps(place: Place, rate: int) -> Row:
    kept, today = (ramp(place, rate, hold) for hold in (LONG, SHORT))
    later = kept.p99_ms - today.p99_ms
    grown = kept.rss_mib - today.rss_mib
    return Row(f"{rate:,}/s → {FLOOD_RATE:,}/s within a second, 5 s: ms late p99 / max, RSS",
               f"{kept.p99_ms:.0f} / {kept.max_ms:.0f}, {kept.rss_mib:.0f} MiB; hold {SHORT}: {today.p99_ms:.0f} / "
               f"{today.max_ms:.0f}, {today.rss_mib:.0f} MiB", f"p99 ≤ {MOST_LATER_MS} ms later, RSS ≤ memory / 4 more",
               later <= MOST_LATER_MS and grown <= MEMORY / 4 / (1 << 20), later, kept.whole and today.whole)


def killed(place: Place, delivery: str) -> Row:
    """One of two processes is killed and started again: the others' lanes and its own are read again."""
    kept, today = (Pair(place, False, hold=hold, delivery=delivery).play() for hold in (LONG, SHORT))
    later = (kept["max"] - today["max"]) / 1000
    return Row(f"kill -9 of one of two processes, {delivery}: at most late",
               f"{kept['max'] / 1000:.1f} s; hold {SHORT}: {today['max'] / 1000:.1f} s", f"≤ {MOST_WAIT_S} s later",
               later <= MOST_WAIT_S, later, kept["complete"] and today["complete"])


def hold(place: Place, counts: bool = True, rates: tuple[int, ...] = CALM_RATES) -> list[Row]:
    """Hops, CPU, ramps and kills with the default hold of 30 s, each next to the same with 1 s."""
    rows = [hops(*row) for row in COUNTED] if counts else []
    rows += [none(4000)] if counts else []
    rows.append(everyday(place))
    for rate in rates:
        rows.append(ramps(place, rate))
        place.rest()
    return rows + [killed(place, delivery) for delivery in ("at-least-once", "exactly-once")]
