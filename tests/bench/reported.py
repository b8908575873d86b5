# SPDX-License-Identifier: Apache-2.0
"""The cost of events: CPU of the bridge a message, and lateness at a reader."""
from __future__ import annotations

from lateness import SECONDS, Bridged
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


def events(place: Place, rate: int = 5000, seconds: int = SECONDS) -> list[Row]:
    """Events off, the default ones, and all: requests that are delivered, which have none, none and two."""
    rows = []
    for mode, words in MODES.items():
        seen = streams(place, mode, rate, seconds)
        off = seen["off"]
        for name in ("default", "all"):
            one = seen[name]
            ratio = one["bridge_us"] / off["bridge_us"]
            rows.append(Row(f"{words}, events {name} / off at {rate:,}/s: CPU of the bridge a message",
                            f"{ratio:.2f} ({one['bridge_us']:.1f} / {off['bridge_us']:.1f} µs); p99 late "
                            f"{one['p99']:.1f} / {off['p99']:.1f} ms", "≤ 1.1" if name == "default" else STATED,
                            name != "default" or ratio <= 1.1, ratio, one["complete"] and off["complete"]))
    return rows
