# SPDX-License-Identifier: Apache-2.0
"""What each lane, level and process costs while nothing is due."""
from __future__ import annotations

from dataclasses import dataclass, replace

from place import Place, now_ms
from standing import broker_cpu
from table import STATED, Row

FEW, MANY = 3, 18  # levels of an hour and more, next to one of a second
HOUR_MS = 3_600_000
WATCH_S = 20


@dataclass(frozen=True)
class Setup:
    lanes: int = 8
    levels: int = FEW
    held: int = FEW  # the levels in which each lane has a waiting record
    processes: int = 1


@dataclass(frozen=True)
class Cost:
    """In percent of a core, and MiB."""
    bridge: float
    broker: float
    rss: float

    def of_each(self, base: Cost, units: int) -> str:
        return (f"{(self.bridge - base.bridge) / units:.3f} % / {(self.broker - base.broker) / units:.3f} % of a core, "
                f"{(self.rss - base.rss) * 1024 / units:.0f} KiB")


BASE = Setup()
GROWN = {"lane": (replace(BASE, lanes=32), 32 - BASE.lanes), "unused level": (replace(BASE, levels=MANY), MANY - FEW),
         "level with waiting records": (replace(BASE, levels=MANY, held=MANY), MANY - FEW),
         "process": (replace(BASE, processes=2), 1)}  # with the number of units that it has more


def at_rest(place: Place, setup: Setup, watch_s: int) -> Cost:
    """Runs bridges whose records are due in an hour at the earliest."""
    levels = [f"{hours}h" for hours in range(1, setup.levels + 1)]
    name, config = place.schedule(lanes=setup.lanes, levels=["1s", *levels])
    stamp = now_ms()
    for hours, level in enumerate(levels[:setup.held], 1):
        place.load(topic=f"{name}.{level}", kind="envelope", count=100 * setup.lanes, stamp=stamp,
                   due=stamp + hours * HOUR_MS, target="bench.idle")
    bridges = [place.bridge(config, wait=number == setup.processes, members=setup.processes)
               for number in range(1, setup.processes + 1)]
    place.rest(5)
    start = sum(bridge.cpu_seconds() for bridge in bridges)
    broker = broker_cpu(place, watch_s)
    bridge = (sum(bridge.cpu_seconds() for bridge in bridges) - start) / watch_s * 100
    cost = Cost(bridge, broker, sum(bridge.rss_mib() for bridge in bridges))
    for one in bridges:
        one.stop()
    place.clear()
    return cost


def idle_each(place: Place, watch_s: int = WATCH_S) -> list[Row]:
    """What one more lane, level and process costs bridge and broker while no record is due."""
    costs = place.in_turns(base=lambda: at_rest(place, BASE, watch_s),
                           **{name: lambda setup=setup: at_rest(place, setup, watch_s) for name, (setup, _) in GROWN.items()})
    base = costs["base"]
    rows = [Row(f"idle, {BASE.lanes} lanes and {BASE.levels + 1} levels: bridge / broker",
                f"{base.bridge:.2f} % / {base.broker:.2f} % of a core, {base.rss:.0f} MiB", STATED, True, base.bridge)]
    for name, (_, units) in GROWN.items():
        one = costs[name]
        rows.append(Row(f"idle, one more {name}: bridge / broker", one.of_each(base, units), STATED, True, (one.bridge - base.bridge) / units))
    return rows
