# SPDX-License-Identifier: Apache-2.0
"""How much remainder the wheel should take."""
from __future__ import annotations

import json
import subprocess

from place import TOOL, Place
from steady import Stream, steady
from table import Row

FAR_S, MIX_S = 7200, 12


def mean_hops(most_s: int) -> dict[int, float]:
    """By hold in seconds, for delays evenly spread up to this."""
    out = subprocess.run([str(TOOL.parent / "bench_core"), "hops", "0", str(most_s)], capture_output=True,
                         text=True, check=True).stdout
    return {line["hold_ms"] // 1000: line["hops"] for line in map(json.loads, out.splitlines())}


def hold(place: Place) -> list[Row]:
    """Delays evenly spread up to 12 s with a hold of 1 to 10 s; and what it means for delays up to 2 h."""
    short, long = mean_hops(MIX_S), mean_hops(FAR_S)
    costs = {}
    for seconds in short:
        costs[seconds] = steady(place, Stream(2000, 0, MIX_S * 1000), hold=f"{seconds}s")
        place.rest()
    least, most = min(short), max(short)
    hop_us = (costs[least].cpu_us - costs[most].cpu_us) / (short[least] - short[most])
    rows = []
    for seconds, cost in costs.items():
        far_us = cost.cpu_us + hop_us * (long[seconds] - short[seconds])
        rows.append(Row(f"hold {seconds} s: CPU a message of bridge + broker, ms late p50 / p99, RSS; hops up to 2 h",
                        f"{cost.bridge_us:.1f} + {cost.broker_us:.1f} µs, {cost.p50:.1f} / {cost.p99:.1f}, "
                        f"{cost.rss_mib:.0f} MiB, {short[seconds]:.2f} hops; {long[seconds]:.2f} hops, "
                        f"about {far_us:.0f} µs", "stated", cost.whole))
    rows.append(Row("hold: a hop costs, bridge and broker", f"{hop_us:.1f} µs", "stated", True))
    return rows
