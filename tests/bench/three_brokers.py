# SPDX-License-Identifier: Apache-2.0
"""Everyday rates on the usual production cluster: three brokers, three replicas of every record."""
from __future__ import annotations

import time

from lateness import Bridged, plain_stream
from place import WARM, Place
from table import Row

RATES, SECONDS = (100, 1000, 5000, 10_000), 8
DELAY_MS, DELAY_MAX_MS, LEVELS = 1100, 1900, ["1s", "2s"]
LINGER_MS = 5  # of both generators
MOST_CPU, MOST_P99 = 1.5, 2.0
WARM_RATE, WARM_SECONDS, WARM_STREAMS = 2000, 6, 4
MODES = {"": "at-least-once", ", exactly once": "exactly-once"}
Streams = dict[tuple[int, str], tuple[dict, dict]]


def streams(place: Place, rates: tuple[int, ...], seconds: int) -> Streams:
    """Runs the bridge's stream for each rate and mode, and the plain stream of that rate, one after the other. Two cores
    with three brokers have no room for both."""
    found = {}
    for rate in rates:
        place.rest()
        plain = plain_stream(place, rate, seconds, linger=LINGER_MS).start().result()
        for mode, delivery in MODES.items():
            place.rest()
            bridged = Bridged(place, rate, DELAY_MS, DELAY_MAX_MS, seconds, linger=LINGER_MS, levels=LEVELS,
                              delivery=delivery)
            found[rate, mode] = bridged.start().result(), plain
    return found


def warm(place: Place, rounds: int) -> None:
    """Runs streams that do not count until the brokers have compiled their code. Records at a low rate use other code of
    a broker than bulk. Three compilers on two cores delay every record by seconds."""
    for _ in range(rounds):
        began, compiled = time.monotonic(), place.compiled()
        streams(place, (WARM_RATE,), WARM_SECONDS)
        if place.compiled() - compiled < WARM * (time.monotonic() - began):
            break


def row(rate: int, mode: str, three: tuple[dict, dict], one: dict) -> Row:
    bridge, plain = three
    cpu, late = bridge["bridge_us"] / one["bridge_us"], bridge["p99"] / plain["p99"]
    return Row(f"three brokers, {rate:,}/s{mode}: the bridge's CPU a message, p99 of a delivery",
               f"{bridge['bridge_us']:.0f} µs ({one['bridge_us']:.0f} on one broker: {cpu:.2f} ×), "
               f"{bridge['p99']:.1f} ms (plain {plain['p99']:.1f}: {late:.2f} ×)",
               f"CPU ≤ {MOST_CPU:g} × one broker, p99 ≤ {MOST_P99:g} × plain", cpu <= MOST_CPU and late <= MOST_P99, cpu,
               all(stream["complete"] for stream in (bridge, plain, one)))


def three_everyday(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS,
                   warm_rounds: int = WARM_STREAMS) -> list[Row]:
    """100 to 10,000/s on three brokers, in both modes, with plain records, and on one broker."""
    warm(place, warm_rounds)
    three = streams(place, rates, seconds)
    alone = Place(place.folder / f"one{place.round}")
    try:
        warm(alone, warm_rounds)
        one = streams(alone, rates, seconds)
    finally:
        alone.close()
    return [row(rate, mode, three[rate, mode], one[rate, mode][0]) for rate, mode in three]
