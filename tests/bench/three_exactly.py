# SPDX-License-Identifier: Apache-2.0
"""Exactly once on three brokers, compared with a bare loop that consumes and produces in transactions. Each transaction
of the loop is committed as soon as it has the records that came during the previous one. Consumers read committed
records, which is the client's default."""
from __future__ import annotations

import time

from lateness import Looped
from place import WARM, Place
from table import Row, middle
from three_brokers import LINGER_MS, bridged, with_cores

RATES, SECONDS, TURNS = (1000, 10_000), 6, 3
WARM_RATE, WARM_SECONDS, WARM_STREAMS = 1000, 6, 3
MOST_P99 = 2.0


def bridge(place: Place, rate: int, seconds: int) -> dict:
    return bridged(place, rate, seconds, "exactly-once")


def loop(place: Place, rate: int, seconds: int) -> dict:
    return with_cores(place, Looped(place, rate, seconds, linger=LINGER_MS, exactly_once=True), rate, seconds)


def warm(place: Place, streams_max: int) -> None:
    """Runs both streams until the brokers have compiled their code."""
    for _ in range(streams_max):
        began, compiled = time.monotonic(), place.compiled()
        for stream in (bridge, loop):
            stream(place, WARM_RATE, WARM_SECONDS)
        if place.compiled() - compiled < WARM * (time.monotonic() - began):
            break


def row(rate: int, ours: dict, loops: dict) -> Row:
    late = ours["p99"] / loops["p99"]
    cpu = (ours["own_us"] + ours["brokers_us"]) / (loops["own_us"] + loops["brokers_us"])
    return Row(f"three brokers, {rate:,}/s, exactly once: ms late p50 / p99, CPU a message of process and brokers",
               f"{ours['p50']:.1f} / {ours['p99']:.1f} (loop {loops['p50']:.1f} / {loops['p99']:.1f}: p50 "
               f"{ours['p50'] / loops['p50']:.2f} ×, p99 {late:.2f} ×); {ours['own_us']:.0f} + {ours['brokers_us']:.0f} µs "
               f"(loop {loops['own_us']:.0f} + {loops['brokers_us']:.0f}: {cpu:.2f} ×); the loop commits "
               f"{loops['each']:.1f} records each time", f"p99 ≤ {MOST_P99:g} × loop", late <= MOST_P99, late,
               ours["complete"] and loops["complete"])


def turn(place: Place, rates: tuple[int, ...], seconds: int, number: int) -> list[Row]:
    """Runs both streams at each rate. The order of the two alternates with the number."""
    rows = []
    for rate in rates:
        seen = {stream: stream(place, rate, seconds) for stream in (bridge, loop)[::-1 if number % 2 else 1]}
        rows.append(row(rate, seen[bridge], seen[loop]))
    return rows


def three_exactly(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS, turns: int = TURNS,
                  warm_rounds: int = WARM_STREAMS) -> list[Row]:
    """Exactly once on three brokers, compared with a bare loop that consumes and produces in transactions."""
    warm(place, warm_rounds)
    return middle([turn(place, rates, seconds, number) for number in range(turns)])
