# SPDX-License-Identifier: Apache-2.0
"""The best value of hold."""
from __future__ import annotations

import json
import subprocess

from forwarding import bridge_rate, ended_stops
from place import TOOL, Place
from steady import Stream, steady
from table import STATED, Row

FAR_S, MIX_S, HOLDS_S = 7200, 8, (1, 2, 5, 10)


def mean_hops(most_s: int) -> dict[int, float]:
    """Returns the mean hops for each hold in seconds, for delays spread evenly up to most_s."""
    out = subprocess.run([str(TOOL.parent / "bench_core"), "hops", "0", str(most_s)], capture_output=True,
                         text=True, check=True).stdout
    return {line["hold_ms"] // 1000: line["hops"] for line in map(json.loads, out.splitlines())}


def bulk_hop_us(place: Place, count: int = 600_000) -> float:
    """Returns the cost of another hop for bridge and broker."""
    config, grows, _ = ended_stops(place, count)
    place.rest()
    return sum(bridge_rate(place, config, grows, count)["cpu_us"])


def hold(place: Place, seconds: tuple[int, ...] = HOLDS_S, mix_s: int = MIX_S) -> list[Row]:
    """Delays spread evenly up to 8 s with a hold of 1 to 10 s, and an estimate for delays up to 2 h."""
    short, far = mean_hops(mix_s), mean_hops(FAR_S)
    hop_us = bulk_hop_us(place)
    rows = [Row("one hop in bulk: CPU of bridge and broker", f"{hop_us:.1f} µs", STATED, True, hop_us)]
    for hold_s in seconds:
        cost = steady(place, Stream(5000, 0, mix_s * 1000), hold=f"{hold_s}s")
        place.rest()
        rows.append(Row(
            f"hold {hold_s} s: CPU a message of bridge + broker, ms late p50 / p99, RSS; hops up to 2 h, CPU of these",
            f"{cost.bridge_us:.0f} + {cost.broker_us:.0f} µs, {cost.p50:.1f} / {cost.p99:.1f}, {cost.rss_mib:.0f} MiB, "
            f"{short[hold_s]:.2f} hops; {far[hold_s]:.2f} hops, {far[hold_s] * hop_us:.0f} µs", STATED, True,
            cost.p99, cost.whole))
    return rows
