# SPDX-License-Identifier: Apache-2.0
"""Everyday rates on the usual production cluster: three brokers, three copies of everything."""
from __future__ import annotations

from lateness import plain_stream
from place import WARM_ROUNDS, Place
from steady import Cost, Stream, steady
from table import Row

RATES, SECONDS = (100, 1000, 5000, 10_000), 8
LEVELS = ["1s", "2s"]
LINGER_MS = 20  # of the generator: it is not what is measured
MOST_CPU, MOST_P99 = 1.5, 2.0
MODES = {"": "at-least-once", ", exactly once": "exactly-once"}


def costs(place: Place, rates: tuple[int, ...], seconds: int) -> dict[tuple[int, str], Cost]:
    """Of the bridge, by rate and mode."""
    found = {}
    for rate in rates:
        for mode, delivery in MODES.items():
            place.rest()
            found[rate, mode] = steady(place, Stream(rate=rate, linger_ms=LINGER_MS), watch_s=seconds, levels=LEVELS,
                                       delivery=delivery)
    return found


def row(rate: int, mode: str, three: Cost, one: Cost, plain: dict) -> Row:
    cpu, late = three.bridge_us / one.bridge_us, three.p99 / plain["p99"]
    return Row(f"three brokers, {rate:,}/s{mode}: the bridge's CPU a message, p99 of a delivery",
               f"{three.bridge_us:.0f} µs ({one.bridge_us:.0f} on one broker: {cpu:.2f} ×), {three.p99:.1f} ms "
               f"(plain {plain['p99']:.1f}: {late:.2f} ×); brokers {three.broker_us:.0f} µs",
               f"CPU ≤ {MOST_CPU:g} × one broker, p99 ≤ {MOST_P99:g} × plain", cpu <= MOST_CPU and late <= MOST_P99, cpu,
               three.whole and one.whole)


def three_everyday(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS,
                   warm_rounds: int = WARM_ROUNDS) -> list[Row]:
    """100 to 10,000/s on three brokers, in both modes, with plain records and one broker at the same rate."""
    three = costs(place, rates, seconds)
    plain = {rate: plain_stream(place, rate, seconds).start().result() for rate in rates}
    alone = Place(place.folder / f"one{place.round}")
    try:
        alone.warm(warm_rounds)
        one = costs(alone, rates, seconds)
    finally:
        alone.close()
    return [row(rate, mode, three[rate, mode], one[rate, mode], plain[rate]) for rate, mode in three]
