# SPDX-License-Identifier: Apache-2.0
"""The cost of events: CPU of the bridge a message, and lateness at a reader."""
from __future__ import annotations

from lateness import Bridged
from place import Place
from table import STATED, Row

SETS = {"off": [], "default": ["default"], "all": ["all"]}
MODES = {"at-least-once": "at least once", "exactly-once": "exactly once"}


def streams(place: Place, mode: str, rate: int, seconds: int) -> dict[str, dict]:
    def played(events: list[str]) -> dict:
        result = Bridged(place, rate, 1000, 1500, seconds, delivery=mode, events=events).start().result()
        place.rest()
        return result
    return place.in_turns(**{name: lambda events=events: played(events) for name, events in SETS.items()})


def rows_of(words: str, rate: int, seen: dict[str, dict], name: str) -> list[Row]:
    one, off = seen[name], seen["off"]
    sound = one["complete"] and off["complete"]
    ratio, default = one["bridge_us"] / off["bridge_us"], name == "default"
    return [Row(f"{words}, events {name} / off at {rate:,}/s: CPU of the bridge a message",
                f"{ratio:.2f} ({one['bridge_us']:.1f} / {off['bridge_us']:.1f} µs)", "≤ 1.1" if default else STATED,
                not default or ratio <= 1.1, ratio, sound),
            Row(f"{words}, events {name} / off at {rate:,}/s: ms late, p99", f"{one['p99']:.1f} / {off['p99']:.1f}", STATED, True,
                one["p99"], sound)]


def events(place: Place, rate: int = 5000, seconds: int = 6) -> list[Row]:
    """Events off, the default ones, and all. The requests are delivered, so they have no default event, and two of all."""
    rows = []
    for mode, words in MODES.items():
        seen = streams(place, mode, rate, seconds)
        for name in ("default", "all"):
            rows += rows_of(words, rate, seen, name)
    return rows
