# SPDX-License-Identifier: Apache-2.0
"""The cost of an idle bridge, and of waiting records."""
from __future__ import annotations

import json
import time
from datetime import datetime

from place import Place, now_ms
from processes import Bridge
from table import STATED, Row

WATCH_S = 15


def broker_cpu(place: Place, seconds: float) -> float:
    """Returns the CPU of all brokers without their compilers, in percent of a core."""
    start = place.brokers_s() - place.compiled()
    time.sleep(seconds)
    return (place.brokers_s() - place.compiled() - start) / seconds * 100


def idle(place: Place, watch_s: int = WATCH_S) -> list[Row]:
    """152 partitions, and each lane has a record that is due in an hour."""
    name, config = place.schedule()
    place.load(topic=name, kind="request", count=800, due=now_ms() + 3_700_000, target="bench.idle")
    place.rest(watch_s)
    before = broker_cpu(place, watch_s)
    bridge = place.bridge(config, wait=True)
    place.rest(4)
    start = bridge.cpu_seconds()
    during = broker_cpu(place, watch_s)
    cpu = (bridge.cpu_seconds() - start) / watch_s * 100
    rss = bridge.rss_mib()
    bridge.stop()
    place.rest(4)
    after = broker_cpu(place, watch_s)
    more = during - min(before, after)
    return [Row("idle, 152 partitions: CPU of the bridge / more CPU of the broker than without it, in percent of a core",
                f"{cpu:.1f} % / {more:.1f} % ({during:.1f} %; without the bridge before and after {before:.1f}, {after:.1f} %)",
                "≤ 1 % / ≤ 3 %", cpu <= 1 and more <= 3, more, more > -0.5),
            Row("idle: RSS", f"{rss:.0f} MiB", "≤ 64 MiB", rss <= 64)]


def lanes_assigned_ms(bridge: Bridge) -> int:
    """Returns when the lanes were assigned, by the wall clock."""
    line = next(line for line in bridge.log.read_text().splitlines() if "lanes assigned" in line)
    return round(datetime.fromisoformat(json.loads(line)["ts"].replace("Z", "+00:00")).timestamp() * 1000)


def start(place: Place, count: int = 1_000_000) -> list[Row]:
    """A start with a million records in the levels, then one with a million unread requests."""
    rows = []
    name, config = place.schedule(log={"level": "info", "format": "json"})
    target = place.topic("bench.target")
    waiting = now_ms()
    for level, ms in (("10m", 600_000), ("1h", 3_600_000), ("2h", 7_200_000)):
        place.load(topic=f"{name}.{level}", kind="envelope", count=count // 3, stamp=waiting, due=waiting + ms,
                   target=target)
    due = now_ms()
    place.load(topic=f"{name}.1s", kind="envelope", count=800, stamp=due - 1000, due=due, target=target)
    read = place.tool("read", topic=target, count=800, idle=20).await_ready()
    began = now_ms()
    bridge = place.bridge(config)
    seen = due + read.result()["first"]
    owned = lanes_assigned_ms(bridge)
    rss = bridge.rss_mib()
    bridge.stop()
    rows.append(Row(f"start with {count // 1000}k waiting records: time of the first delivery",
                    f"{seen - owned:.0f} ms after the log line of the assigned lanes ({owned - began} ms after the "
                    f"start of its process); RSS {rss:.0f} MiB", "≤ 1,000 ms", seen - owned <= 1000))
    name, config = place.schedule()
    place.load(topic=name, kind="request", count=count, due=now_ms() + 3_700_000, target=target)
    place.rest()
    bridge = place.bridge(config)
    meter = place.meter(f"{name}.1h", count, bridge.pid).result()
    rss = bridge.rss_mib()
    bridge.stop()
    rows.append(Row(f"{count // 1000}k unread requests: intake", f"{meter['per_second'] / 1000:.0f}k/s, RSS {rss:.0f} MiB",
                    STATED, True))
    return rows
