# SPDX-License-Identifier: Apache-2.0
"""What a message costs as things grow, one of them at a time."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plot
from place import ROOT, Place
from steady import Cost, Stream, steady
from table import Row

LEVELS = ["1s", "10m", "1h"]
PLOT = ROOT / "tests" / "bench" / "growth.svg"
MOST, MOST_P99 = 1.5, 2.0  # times the smallest; what is more has grown


@dataclass(frozen=True)
class Growth:
    what: str
    values: tuple[int, ...]
    names: tuple[str, ...]
    base: int  # index of the base case in values
    may: float  # so many times the base's CPU a message is no more than the work there is
    title: str


GROWTHS = (Growth("lanes", (1, 8, 32), ("1", "8", "32"), 1, MOST, "lanes"),
           Growth("waiting", (0, 1_000_000, 5_000_000), ("0", "1M", "5M"), 0, MOST, "records waiting"),
           Growth("payload", (100, 1000, 10_000), ("100 B", "1 KB", "10 KB"), 0, 2.0, "value"),
           Growth("levels", (1, 3, 8), ("1", "3", "8"), 0, 8, "levels crossed"),
           Growth("workers", (1, 2), ("1", "2"), 0, MOST, "workers"),
           Growth("processes", (1, 2), ("1", "2"), 0, MOST, "processes"))


def play(place: Place, what: str, value: int) -> Cost:
    """The base case but for this: a chain of so many stops of a second each is a delay of 1.1 to 1.9 s
    for one stop, 3.1 to 3.9 s for three."""
    levels = value if what == "levels" else 1
    stream = Stream(delay_ms=levels * 1000 + 100, delay_max_ms=levels * 1000 + 900,
                    size=value if what == "payload" else 100)
    more = {what: value} if what in ("lanes", "waiting", "workers", "processes") else {}
    cost = steady(place, stream, **more, levels=LEVELS)
    place.rest()
    return cost


def row(one: Growth, costs: list[Cost]) -> Row:
    base = costs[one.base]
    cpu, p99 = costs[-1].cpu_us / base.cpu_us, costs[-1].p99 / base.p99
    cells = [f"{name}: {c.bridge_us:.1f} + {c.broker_us:.1f} µs, {c.p50:.1f} / {c.p99:.1f} ms, {c.rss_mib:.0f} MiB"
             for name, c in zip(one.names, costs)]
    goal = f"{one.names[-1]}: CPU ≤ {one.may:g} ×, p99 ≤ {MOST_P99:g} × of {one.names[one.base]}"
    return Row(f"{one.what}: CPU a message of bridge + broker, late p50 / p99, RSS",
               "; ".join(cells) + f" (CPU {cpu:.1f} ×, p99 {p99:.1f} ×)", goal,
               all(c.whole for c in costs) and cpu <= one.may and p99 <= MOST_P99)


def lines(every: dict[str, list[Cost]], figure: Callable[[Cost], float]) -> dict[str, list[float]]:
    return {one.title: [figure(cost) for cost in every[one.what]] for one in GROWTHS}


def growth(place: Place) -> list[Row]:
    """5,000/s, 8 lanes, nothing waiting, 100 bytes, one level, one worker, one process; one of them varied."""
    _, base = play(place, "lanes", 8), play(place, "lanes", 8)  # what comes first is always dearer
    every: dict[str, list[Cost]] = {}
    for one in GROWTHS:
        every[one.what] = [base if i == one.base else play(place, one.what, value)
                           for i, value in enumerate(one.values)]
        place.clear()
    plot.write(PLOT, {one.title: one.names for one in GROWTHS}, [
        ("CPU a message, µs", False, {"bridge": lines(every, lambda c: c.bridge_us),
                                      "broker": lines(every, lambda c: c.broker_us)}),
        ("late, ms", True, {"p50": lines(every, lambda c: c.p50), "p99": lines(every, lambda c: c.p99)})])
    again = Growth("the base case, and again at the end", (0, 0), ("first", "again"), 0, MOST, "")
    return [row(one, every[one.what]) for one in GROWTHS] + [row(again, [base, play(place, "lanes", 8)])]
