# SPDX-License-Identifier: Apache-2.0
"""The cost of a message while one quantity grows. The base case has 8 lanes, no waiting records, 100 bytes, one level,
one worker and one process."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plot
from place import ROOT, Place
from steady import Cost, Stream, steady
from table import Row

LEVELS = ["1s", "10m", "1h"]
PLOT = ROOT / "tests" / "bench" / "growth.svg"
MOST, MOST_P99 = 1.5, 2.0  # limits of a growth, as multiples of the smallest value


@dataclass(frozen=True)
class Growth:
    values: tuple[int, ...]
    names: tuple[str, ...]
    base: int  # index of the base case in values
    may: float  # limit of the CPU of a message, as a multiple of the base's
    title: str


GROWTHS = {"lanes": Growth((1, 8, 32), ("1", "8", "32"), 1, MOST, "number of lanes"),
           "waiting": Growth((0, 1_000_000, 5_000_000), ("0", "1M", "5M"), 0, MOST, "number of waiting records"),
           "payload": Growth((100, 1000, 10_000), ("100 B", "1 KB", "10 KB"), 0, 2.0, "size of values"),
           "levels": Growth((1, 3, 8), ("1", "3", "8"), 0, 8, "number of levels"),
           "workers": Growth((1, 2), ("1", "2"), 0, MOST, "number of workers"),
           "processes": Growth((1, 2), ("1", "2"), 0, MOST, "number of processes")}


def play(place: Place, what: str, value: int, **how) -> Cost:
    """Measures the base case with one changed value. For levels, the delay makes a chain of so many stops: 1.1 to 1.9 s
    for one stop, 5.1 to 5.9 s for three."""
    rest_ms = (2 * value - 1 if what == "levels" else 1) * 1000
    stream = Stream(delay_ms=rest_ms + 100, delay_max_ms=rest_ms + 900,
                    size=value if what == "payload" else 100)
    more = {what: value} if what in ("lanes", "waiting", "workers", "processes") else {}
    cost = steady(place, stream, **more, **how, levels=LEVELS)
    place.rest()
    return cost


def cell(what: str, name: str, cost: Cost) -> str:
    return (f"{name}: {cost.bridge_us:.1f} + {cost.broker_us:.1f} µs, {cost.p50:.1f} / {cost.p99:.1f} ms, "
            f"{100 * cost.handed:.1f} %, {cost.rss_mib:.0f} MiB" + (f", {cost.hops:.2f} hops" if what == "levels" else ""))


def row(what: str, costs: dict[int, Cost]) -> Row:
    one = GROWTHS[what]
    base, most = costs[one.values[one.base]], costs[one.values[-1]]
    cpu, p99 = most.cpu_us / base.cpu_us, most.p99 / base.p99
    cells = [cell(what, name, costs[value]) for name, value in zip(one.names, one.values) if value in costs]
    goal = f"{one.names[-1]}: CPU ≤ {one.may:g} ×, p99 ≤ {MOST_P99:g} × of {one.names[one.base]}"
    sound = all(c.whole for c in costs.values())
    return Row(f"{what}: CPU a message of bridge + broker, late p50 / p99, handed to the client within 1 ms, RSS",
               "; ".join(cells) + f" (CPU {cpu:.1f} ×, p99 {p99:.1f} ×)", goal,
               sound and cpu <= one.may and p99 <= MOST_P99, p99, sound, data=costs)


def growth(what: str) -> Callable[..., list[Row]]:
    """Returns the part that varies this quantity. ends: only the base case and the largest value."""
    def part(place: Place, ends: bool = False, **how) -> list[Row]:
        one = GROWTHS[what]
        values = (one.values[one.base], one.values[-1]) if ends else one.values
        return [row(what, {value: play(place, what, value, **how) for value in values[::1 if place.round % 2 else -1]})]
    part.__doc__ = f"Cost and lateness by {GROWTHS[what].title}: {', '.join(GROWTHS[what].names)}, at 5,000/s."
    return part


def draw(costs: dict[str, dict[int, Cost]]) -> None:
    """Draws all growths from the data of their rows."""
    def lines(figure: Callable[[Cost], float]) -> dict[str, list[float]]:
        return {one.title: [figure(costs[what][value]) for value in one.values] for what, one in GROWTHS.items()}
    plot.write(PLOT, {one.title: one.names for one in GROWTHS.values()}, [
        ("CPU a message, µs", False, {"bridge": lines(lambda c: c.bridge_us), "broker": lines(lambda c: c.broker_us)}),
        ("late, ms", True, {"p50": lines(lambda c: c.p50), "p99": lines(lambda c: c.p99)})])
