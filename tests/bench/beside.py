# SPDX-License-Identifier: Apache-2.0
"""Compares the bridge with other programs that hold messages until they are due, each as one node on this machine."""
from __future__ import annotations

from dataclasses import dataclass

Figure = tuple[float, ...]


@dataclass(frozen=True)
class Column:
    title: str
    unit: str
    more: bool = False  # more is better

    def told(self, figure: Figure | None) -> str:
        if figure is None:
            return "–"
        return " / ".join(f"{n:,.3g}" if n < 100 else f"{n:,.0f}" for n in figure) + self.unit

    def better(self, ours: Figure, theirs: Figure) -> bool:
        return all(a > b if self.more else a < b for a, b in zip(ours, theirs))


COLUMNS = {"late": Column("late at 1,000/s, p50 / p99 / max", " ms"), "most": Column("highest sustained rate", "k/s", True),
           "instant": Column("100,000 due at one instant, deliveries a second", "k/s", True),
           "cpu": Column("servers' CPU a message, upper bound", " µs")}
IN_MEMORY = 1.5  # goal: a multiple of the CPU of a single node that keeps all messages in memory
OTHERS: dict[str, dict[str, Figure]] = {
    "RocketMQ": {"late": (586, 1069, 1112), "most": (12.5,), "instant": (33,), "cpu": (80,)},
    "its 100 ms tick": {"late": (65, 117, 155)},
    "its levels": {"late": (55, 155, 250), "most": (13.4,), "cpu": (87,)},
    "RabbitMQ": {"late": (2, 22, 91), "most": (15,), "instant": (12,), "cpu": (112,)},
    "Redis": {"late": (51, 100, 104), "most": (108,), "instant": (445,), "cpu": (6.7,)},
    "etf1": {"late": (15, 76, 16_037), "most": (20,), "instant": (29,), "cpu": (88,)}}
ABOUT = {"RocketMQ": "RocketMQ 5.4, timer (CPU 80 to 110 µs)", "its 100 ms tick": "the same with a tick of 100 ms",
         "its levels": "RocketMQ 5.4, levels", "RabbitMQ": "RabbitMQ, TTL and DLX on quorum queues",
         "Redis": "Redis, sorted set polled at 100 ms, in memory", "etf1": "etf1's scheduler for Kafka"}
KILLED = "all others but Redis: 10 to 26 % duplicates, 6 to 12 s late"


def missed(name: str, ours: Figure) -> list[str]:
    """Returns the programs that are better in this column."""
    def wanted(who: str, has: Figure) -> Figure:
        return tuple(n * IN_MEMORY for n in has) if (name, who) == ("cpu", "Redis") else has
    return [who for who, has in OTHERS.items()
            if name in has and not COLUMNS[name].better(ours, wanted(who, has[name]))]


def verdict(missing: list[str]) -> str:
    return f"; not better than {', '.join(missing)}" if missing else ""


def told(name: str) -> str:
    return "; ".join(f"{who} {COLUMNS[name].told(has[name])}" for who, has in OTHERS.items() if name in has)


def section(ours: dict[str, Figure], killed: str) -> list[str]:
    """Returns the table, with the bridge first. Its brackets have the number of programs that it beats in this column."""
    cells = {name: column.told(ours.get(name)) for name, column in COLUMNS.items()}
    for name, figure in ours.items():
        all_of_them = sum(name in has for has in OTHERS.values())
        cells[name] += f" ({all_of_them - len(missed(name, figure))} of {all_of_them})"
    lines = ["| | " + " | ".join(column.title for column in COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|",
             "| **the bridge** | " + " | ".join(cells.values()) + " |"]
    lines += [f"| {ABOUT[who]} | " + " | ".join(column.told(has.get(name)) for name, column in COLUMNS.items()) + " |"
              for who, has in OTHERS.items()]
    return ["One node each, on this machine. The others were not measured again for this table. The bridge's brackets say how "
            "many of the programs with a figure it beats. Redis keeps all messages in memory, so the bridge may use "
            f"{IN_MEMORY} times its CPU. The bridge's figures do not count the first seconds of a stream, in which clients "
            "connect. The part `late` has their lateness.", "", *lines, "",
            killed or "Under load, kill -9: –."]
