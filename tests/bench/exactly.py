# SPDX-License-Identifier: Apache-2.0
"""Exactly once: the cost of transactions, in lateness and in rate."""
from __future__ import annotations

import forwarding
import lateness
from place import Place
from table import Row

COUNT = 400_000
ANEW = {"lost_offsets": "redeliver"}  # the bench wrote the records into the level, for a new group


def flat_out(place: Place, what: str, prepare) -> Row:
    """Measures both modes. prepare(delivery) returns a configuration and the topic that the bridge fills."""
    def rate(mode: str) -> dict:
        config, grows = prepare(mode)
        place.rest()
        return forwarding.bridge_rate(place, config, grows, COUNT)

    seen = place.in_turns(once=lambda: rate("exactly-once"), least=lambda: rate("at-least-once"))
    once, least = (seen[mode]["per_second"] for mode in ("once", "least"))
    return Row(f"exactly once: {what}, rate / at least once",
               f"{once / least:.2f} ({once / 1000:.0f}k/s, {least / 1000:.0f}k/s)", "≥ 0.5", once / least >= 0.5,
               once / least, all(result["complete"] for result in seen.values()))


def exactly(place: Place) -> list[Row]:
    """Exactly once at full speed, compared with at least once."""
    return [flat_out(place, "middle hop",
                     lambda mode: forwarding.ended_stops(place, COUNT, delivery=mode, **ANEW)[:2]),
            flat_out(place, "delivery",
                     lambda mode: forwarding.due_in_level(place, COUNT, delivery=mode, **ANEW))]


def late_at(place: Place, rate: int) -> list[Row]:
    bridge, plain = lateness.then_plain(place, rate, 1000, 1500, delivery="exactly-once")
    return [lateness.row(f"exactly once: late at {rate:,}/s, ms p50 / p99 / p99.9 / max", bridge, plain, (20, 60))]


def late(place: Place) -> list[Row]:
    """Lateness of exactly once, for a read_committed consumer."""
    return late_at(place, 1000)


def late_10k(place: Place) -> list[Row]:
    """Lateness of exactly once at 10,000/s."""
    return late_at(place, 10_000)
