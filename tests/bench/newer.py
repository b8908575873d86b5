# SPDX-License-Identifier: Apache-2.0
"""The effect of a newer librdkafka."""
from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import lateness
from paths import rates
from place import Place
from processes import NEWER, newer_client
from table import Row


def with_newer(run: Callable):
    """Returns the result of run with processes that load the newer library."""
    os.environ["LD_LIBRARY_PATH"] = newer_client()
    try:
        return run()
    finally:
        del os.environ["LD_LIBRARY_PATH"]


def newer(place: Place, count: int = 200_000) -> list[Row]:
    """Bridge and bare loop on the system's librdkafka and on Debian 13's version, in turns."""
    seen = place.in_turns(system=lambda: rates(place, count), newer=lambda: with_newer(lambda: rates(place, count)))
    return [replace(row, what=f"{row.what} ({whose})") for both in zip(seen["system"], seen["newer"])
            for row, whose in zip(both, ("the system's", NEWER))]


def newer_late(place: Place) -> list[Row]:
    """1,000/s through a bridge on the newer librdkafka, and through one on the system's."""
    def stream() -> dict:
        return lateness.Bridged(place, 1000, 1000, 1500).start().result()
    seen = place.in_turns(newer=lambda: with_newer(stream), system=stream)
    return [lateness.row(f"late at 1,000/s with {NEWER}, ms p50 / p99 / p99.9 / max", seen["newer"], seen["system"],
                         other="the system's")]
