# SPDX-License-Identifier: Apache-2.0
"""The comparison of the programs of one run: a table and a plot."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import plot
from peers.peer import DELAY_MS, FLOW_RATE, HERE, SETTLE_S, Flow, Instant, Killed

PLOT = HERE.parent / "peers.svg"


@dataclass
class Measured:
    """The figures of a program. None: it has no such figure."""
    name: str
    short: str
    flows: list[Flow] = field(default_factory=list)
    most: Flow | None = None
    instant: Instant | None = None
    killed: Killed | None = None
    killed_part: Killed | None = None


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[Measured], str]
    figure: Callable[[Measured], float | None]  # that two programs are compared by
    more: bool = False                          # more is better


def at(one: Measured, rate: int) -> Flow | None:
    return next((flow for flow in one.flows if flow.rate == rate), None)


def number(n: float) -> str:
    return f"{n:.3g}" if n < 100 else f"{n:,.0f}"


def late(flow: Flow | None) -> str:
    if flow is None:
        return "–"
    return " / ".join(map(number, (flow.p50, flow.p99, flow.max))) + flow.faults


def killed(one: Killed) -> str:
    return f"{one.missing:,} missing, {one.twice:,} twice, at most {one.max / 1000:.1f} s late"


def kills(one: Measured) -> str:
    part = f"; the bridge only: {killed(one.killed_part)}" if one.killed_part else ""
    return killed(one.killed) + part if one.killed else "–"


def columns(rates: list[int]) -> list[Column]:
    """Returns the columns, with one for lateness and one for CPU at each rate."""
    found = [Column(f"late at {rate:,}/s, ms p50 / p99 / max", lambda one, rate=rate: late(at(one, rate)),
                    lambda one, rate=rate: flow.p99 if (flow := at(one, rate)) else None) for rate in rates]
    found += [Column(f"CPU at {rate:,}/s, µs", lambda one, rate=rate: number(flow.servers_us) if (flow := at(one, rate)) else "–",
                     lambda one, rate=rate: flow.servers_us if (flow := at(one, rate)) else None) for rate in rates]
    return found + [
        Column("most delivered a second", lambda one: f"{one.most.rate:,}" if one.most else "–",
               lambda one: one.most.rate if one.most else None, True),
        Column("CPU at this rate, µs", lambda one: number(one.most.servers_us) if one.most else "–",
               lambda one: one.most.servers_us if one.most else None),
        Column("100,000 due at one instant, a second", lambda one: f"{one.instant.per_second:,.0f}" if one.instant else "–",
               lambda one: one.instant.per_second if one.instant else None, True),
        Column(f"kill -9 of all servers at {FLOW_RATE:,}/s", kills, lambda one: one.killed.max if one.killed else None)]


def beaten(column: Column, measured: list[Measured]) -> str:
    """Returns how many of the others the first program beats in this column."""
    ours = column.figure(measured[0])
    theirs = [figure for one in measured[1:] if (figure := column.figure(one)) is not None]
    if ours is None or not theirs:
        return ""
    return f" ({sum(ours > figure if column.more else ours < figure for figure in theirs)} of {len(theirs)})"


def table(measured: list[Measured]) -> list[str]:
    """Returns the table, with one line for each figure."""
    rates = [flow.rate for flow in measured[0].flows]
    lines = ["| | " + " | ".join(one.name for one in measured) + " |", "|---" * (len(measured) + 1) + "|"]
    for column in columns(rates):
        cells = [column.cell(one) for one in measured]
        cells[0] += beaten(column, measured)
        if any(cell != "–" for cell in cells):
            lines.append(f"| {column.title} | " + " | ".join(cells) + " |")
    return lines


def section(measured: list[Measured]) -> list[str]:
    about = (f"One node each, one after the other in one run of the part `peers`, which has all figures. Each message of 100 bytes "
             f"waits for {DELAY_MS / 1000:g} s. CPU is that of all servers for a message, without clients. The bridge's brackets say "
             f"how many of the others it beats, for lateness by the p99, and for kills by the lateness. The first {SETTLE_S} s of a "
             "stream do not count.")
    return [about, "", *table(measured), "", f"![lateness and CPU against rate]({PLOT.name})"]


def draw(measured: list[Measured], path: Path = PLOT) -> None:
    """Draws lateness and CPU against the rate, with a column for each program."""
    drawn = [one for one in measured if len(one.flows) > 1]
    if not drawn:
        return

    def lines(figure: Callable[[Flow], float]) -> dict[str, list[float]]:
        return {one.short: [figure(flow) for flow in one.flows] for one in drawn}
    plot.write(path, {one.short: tuple(f"{flow.rate // 1000}k/s" for flow in one.flows) for one in drawn}, [
        ("late, ms", True, {"p50": lines(lambda f: max(f.p50, 0.1)), "p99": lines(lambda f: max(f.p99, 0.1))}),
        ("CPU of servers a message, µs", False, {"servers": lines(lambda f: f.servers_us)})])
