# SPDX-License-Identifier: Apache-2.0
"""Exactly once: what the transactions cost, in time and in rate."""
from __future__ import annotations

from statistics import median

import forwarding
import lateness
from place import Place
from table import Row

ROUNDS, COUNT = 3, 400_000
MODES = ("at-least-once", "exactly-once")
ANEW = {"lost_offsets": "redeliver"}  # the records were put into the level by hand, for a new group


def flat_out(place: Place, what: str, prepare) -> Row:
    """prepare(delivery) -> configuration, topic that the bridge fills."""
    rates: dict[str, list[float]] = {mode: [] for mode in MODES}
    for number in range(ROUNDS):
        for mode in MODES if number % 2 else reversed(MODES):
            config, grows = prepare(mode)
            place.rest()
            rates[mode].append(forwarding.bridge_rate(place, config, grows, COUNT)["per_second"])
    ratio = median(b / a for a, b in zip(*(rates[mode] for mode in MODES)))
    text = ", ".join(f"{median(rates[mode]) / 1000:.0f}k/s" for mode in reversed(MODES))
    return Row(f"exactly once: {what}, rate beside at least once", f"{ratio:.2f} ({text})", "≥ 0.5", ratio >= 0.5)


def exactly(place: Place) -> list[Row]:
    """Exactly once, to a reader of what is committed: a steady stream as in late, and flat out."""
    rows = [flat_out(place, "middle hop",
                     lambda mode: forwarding.ended_stops(place, COUNT, delivery=mode, **ANEW)[:2]),
            flat_out(place, "delivery",
                     lambda mode: forwarding.due_in_level(place, COUNT, delivery=mode, **ANEW))]
    lateness.warm(place, delivery="exactly-once")
    for rate in (1000, 10_000):
        bridge, plain = lateness.then_plain(place, rate, 1000, 1500, delivery="exactly-once")
        rows.append(lateness.row(f"exactly once: late at {rate:,}/s, ms p50 / p99 / p99.9 / max", bridge, plain,
                                 20, 60))
        place.rest()
    return rows
