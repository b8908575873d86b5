# SPDX-License-Identifier: Apache-2.0
"""Due records of a paused target, and how they come at a limit."""
from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from in_force import metric_alone
from overload import bound_mib
from place import BINARY, LANES, Place, peak_mib
from processes import reserve_ports
from table import STATED, Row

COUNT, RATE, PAUSE_S = 1_000_000, 20_000, 60
MOST = 1.15        # times the time that the rate needs.


def command(config: Path, *words: str) -> dict:
    done = subprocess.run([str(BINARY), *words, "-c", str(config), "-o", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def until(port: int, name: str, least: float, timeout: float) -> float:
    """Waits until a metric has this value. Returns how long that took."""
    began = time.monotonic()
    while metric_alone(port, name) < least:
        if time.monotonic() - began > timeout:
            raise RuntimeError(f"{name} is {metric_alone(port, name):.0f}, not {least:.0f}, after {timeout} s")
        time.sleep(0.2)
    return time.monotonic() - began


def paused(place: Place, count: int = COUNT, rate: int = RATE, pause_s: int = PAUSE_S) -> list[Row]:
    """A paused target gets records that are due at once, and then a limit. Memory and writes of the pause, time of the limit."""
    port, target = reserve_ports(), place.topic("bench.paused")
    name, config = place.schedule(LANES, listen=f"127.0.0.1:{port}")
    bridge = place.bridge(config, wait=True)
    command(config, "pause", target)
    place.load(topic=name, kind="request", target=target, count=count, delay=1000, delay_max=1500)
    until(port, "delaybridge_withheld_total", count, 300)
    time.sleep(pause_s)
    writes = metric_alone(port, "delaybridge_withheld_total") / count
    mib = peak_mib(bridge.pid)
    command(config, "limit", target, f"{rate}/s")
    # The pause has the same pattern as the limit, which replaces it.
    took = until(port, "delaybridge_target_deliveries_total", count, 20 * count / rate)
    bound = bound_mib(place, name)
    most = MOST * count / rate + 3
    bridge.stop()
    return [Row(f"{count:,} due records of a paused target: peak memory of the bridge, in MiB",
                f"{mib:.0f} (records in {bound.partitions} level partitions)", f"≤ {bound.mib:.0f}", mib <= bound.mib),
            Row(f"the same: writes of each record in the {pause_s} s after the last one was due", f"{writes:.1f}", STATED, True),
            Row(f"the same: time until all are delivered at a limit of {rate:,}/s instead, in s", f"{took:.1f}",
                f"≤ {most:.0f}", took <= most)]
