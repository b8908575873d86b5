# SPDX-License-Identifier: Apache-2.0
"""A steady stream through running bridges: cost and lateness of a message."""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from lateness import handed, shares
from place import Place, Tool
from processes import reserve_ports

PRIME, PRIME_MS, SETTLE_S, WATCH_S = 500, 1100, 1, 5
BEFORE_S = 0.5  # time before the measurement; the request itself does not count


@dataclass(frozen=True)
class Stream:
    rate: int = 5000
    delay_ms: int = 1100
    delay_max_ms: int = 1900
    size: int = 100
    linger_ms: int = 5  # linger.ms of the generator


@dataclass(frozen=True)
class Cost:
    bridge_us: float  # CPU of all bridges for a message
    broker_us: float
    p50: float
    p99: float
    rss_mib: float
    hops: float  # hops of a message
    handed: float  # the share that the client had within a millisecond of the due time
    whole: bool

    @property
    def cpu_us(self) -> float:
        return self.bridge_us + self.broker_us


def watch(place: Place, name: str, ports: Sequence[int], stream: Stream, after_s: float, load: Tool) -> tuple[float, float]:
    """Watches the load from after_s to its end, while as many records leave as arrive. Returns the hops of a message, and
    the share that was handed to a client in time."""
    place.rest(after_s)
    levels, since, told = place.levels(name), time.monotonic(), handed(*ports)
    before = sum(place.ends(*levels))
    load.result()
    took_s = time.monotonic() - since
    return (sum(place.ends(*levels)) - before) / (stream.rate * took_s), shares(handed(*ports), told)["1 ms"]


def steady(place: Place, stream: Stream, waiting: int = 0, processes: int = 1, watch_s: int = WATCH_S,
           **settings) -> Cost:
    """Runs bridges on a new schedule topic, with records that wait in two of its levels, and the stream. Measures only
    while as many records leave as arrive."""
    name, config = place.schedule(**settings)
    target = place.topic("bench.target")
    for level, ms in (("10m", 600_000), ("1h", 3_600_000)) if waiting else ():
        place.load(topic=f"{name}.{level}", kind="envelope", count=waiting // 2, delay=ms,
                   delay_max=ms + 1000, target=target)
    workers = processes * settings.get("workers", 1)
    first = reserve_ports()
    ports = range(first, first + processes)
    bridges = [place.bridge(config, wait=port == ports[-1], members=workers,
                            env={"DELAYBRIDGE_LISTEN": f"127.0.0.1:{port}"}) for port in ports]
    how = {"topic": name, "kind": "request", "target": target, "size": stream.size, "linger": stream.linger_ms}
    prime_ms = min(stream.delay_ms, PRIME_MS)
    place.load(**how, count=PRIME, delay=200, delay_max=prime_ms)  # so that the bridge is connected to the target
    place.rest(prime_ms / 1000 + 1)
    full_s = SETTLE_S + stream.delay_max_ms / 1000  # from here on as many records leave as arrive
    count = int(stream.rate * (full_s + watch_s))
    out = count - int(stream.rate * stream.delay_max_ms / 1000)
    read = place.tool("read", topic=target, count=out, idle=stream.delay_max_ms // 1000 + 10).await_ready()
    meter = place.meter(name, count, *(b.pid for b in bridges), base=-1, **{"from": int(stream.rate * full_s)})
    meter.await_ready()
    load = place.tool("load", **how, count=count, rate=stream.rate, delay=stream.delay_ms,
                      delay_max=stream.delay_max_ms)
    hops, in_time = watch(place, name, ports, stream, full_s - BEFORE_S, load)
    costs, seen = meter.result()["cpu_us"], read.result()
    rss = sum(bridge.rss_mib() for bridge in bridges)
    for bridge in bridges:
        bridge.stop()
    return Cost(sum(costs[:processes]), sum(costs[processes:]), seen["p50"], seen["p99"], rss,
                hops, in_time, seen["complete"])
