# SPDX-License-Identifier: Apache-2.0
"""How much remainder the wheel should take."""
from __future__ import annotations

import json
import subprocess
from statistics import mean

from forwarding import bridge_rate, ended_stops
from place import TOOL, Place
from steady import Cost, Stream, steady
from table import Row

FAR_S, MIX_S = 7200, 8


def mean_hops(most_s: int) -> dict[int, float]:
    """By hold in seconds, for delays evenly spread up to this."""
    out = subprocess.run([str(TOOL.parent / "bench_core"), "hops", "0", str(most_s)], capture_output=True,
                         text=True, check=True).stdout
    return {line["hold_ms"] // 1000: line["hops"] for line in map(json.loads, out.splitlines())}


def bulk_hop_us(place: Place, count: int = 600_000) -> float:
    """What one hop more costs, of bridge and broker."""
    config, grows, _ = ended_stops(place, count)
    place.rest()
    return sum(bridge_rate(place, config, grows, count)["cpu_us"])


def hold(place: Place) -> list[Row]:
    """Delays evenly spread up to 8 s with a hold of 1 to 10 s; and what it means for delays up to 2 h."""
    short, far = mean_hops(MIX_S), mean_hops(FAR_S)
    hop_us = bulk_hop_us(place)
    costs: dict[int, list[Cost]] = {seconds: [] for seconds in short}
    for turn in (list(costs), list(reversed(costs))):
        for seconds in turn:
            costs[seconds].append(steady(place, Stream(5000, 0, MIX_S * 1000), hold=f"{seconds}s"))
            place.rest()
    rows = [Row("one hop in bulk: CPU of bridge and broker", f"{hop_us:.1f} µs", "stated", True)]
    for seconds, two in costs.items():
        bridge, broker = mean(c.bridge_us for c in two), mean(c.broker_us for c in two)
        rows.append(Row(
            f"hold {seconds} s: CPU a message of bridge + broker, ms late p50 / p99, RSS; hops up to 2 h, CPU of these",
            f"{bridge:.0f} + {broker:.0f} µs, {mean(c.p50 for c in two):.1f} / {mean(c.p99 for c in two):.1f}, "
            f"{max(c.rss_mib for c in two):.0f} MiB, {short[seconds]:.2f} hops; {far[seconds]:.2f} hops, "
            f"{far[seconds] * hop_us:.0f} µs", "stated", all(c.whole for c in two)))
    return rows
