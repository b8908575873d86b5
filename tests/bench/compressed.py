# SPDX-License-Identifier: Apache-2.0
"""Cost and gain of compression for hops and deliveries."""
from __future__ import annotations

from dataclasses import dataclass

from place import Place
from processes import cpu_seconds
from table import Row

CODECS = ("none", "lz4", "zstd")
SIZE, DELAY_MS, DELAY_MAX_MS, LEVELS = 1000, 3000, 5000, ["1s", "2s"]


@dataclass(frozen=True)
class Passed:
    bridge_us: float  # CPU of a message
    broker_us: float
    level_bytes: float  # of a hop on the brokers' disks, in one replica
    whole: bool


def stored(place: Place, topics: list[str]) -> int:
    """Returns the bytes of these topics' logs."""
    logs = (place.folder / "kafka" / "data").rglob("*.log")
    return sum(log.stat().st_size for log in logs if log.parent.name.rpartition("-")[0] in topics)


def passed(place: Place, codec: str, count: int) -> Passed:
    """Sends JSON orders of 1 kB at full speed through one or two levels."""
    kafka = {role: {"compression.type": codec} for role in ("hops", "deliveries")}
    name, config = place.schedule(levels=LEVELS, kafka=kafka)
    target, bridge = place.topic("bench.target"), place.bridge(config, wait=True)
    read = place.tool("read", topic=target, count=count, idle=20).await_ready()
    bridge_s, broker_s = cpu_seconds(bridge.pid), place.brokers_s()
    place.load(topic=name, kind="request", target=target, count=count, size=SIZE, orders=1, delay=DELAY_MS,
               delay_max=DELAY_MAX_MS)
    seen = read.result()
    bridge_s, broker_s = cpu_seconds(bridge.pid) - bridge_s, place.brokers_s() - broker_s
    levels = place.levels(name)
    hops = sum(place.ends(*levels))
    found = Passed(1e6 * bridge_s / count, 1e6 * broker_s / count, stored(place, levels) / hops, seen["complete"])
    bridge.stop()
    return found


def compressed(place: Place, count: int = 300_000) -> list[Row]:
    """Hops and deliveries of JSON orders of 1 kB, uncompressed, with lz4 and with zstd."""
    seen = place.in_turns(**{codec: lambda codec=codec: passed(place, codec, count) for codec in CODECS})
    base = seen["none"]

    def row(codec: str, one: Passed) -> Row:
        cpu = (one.bridge_us + one.broker_us) / (base.bridge_us + base.broker_us)
        return Row(f"1 kB orders, {codec}: CPU a message of bridge + brokers, bytes a hop on disk",
                   f"{one.bridge_us:.1f} + {one.broker_us:.1f} µs ({cpu:.2f} ×), {one.level_bytes:.0f} B "
                   f"({one.level_bytes / base.level_bytes:.2f} ×)", "", True, cpu, one.whole)

    return [row(codec, seen[codec]) for codec in CODECS]  # in this order in every round
