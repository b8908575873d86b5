# SPDX-License-Identifier: Apache-2.0
"""How late a reader has what is due, beside what plain produce and consume shows at the same time."""
from __future__ import annotations

import urllib.request

from place import Place
from processes import free_port
from table import Row

SECONDS = 12


def handed_within(port: int) -> dict[str, float]:
    """The share that the bridge gave to its client within so many ms, by its own histogram: what is later
    than that is Kafka's, and of the machine that both share."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines()]

    def seen(bound: str) -> float:
        return sum(float(value) for name, *_, value in lines
                   if name.startswith("delaybridge_lateness_seconds_bucket") and f'le="{bound}"' in name)
    return {ms: seen(bound) / max(seen("+Inf"), 1) for ms, bound in (("1", "0.001"), ("5", "0.005"))}


def beside_plain(place: Place, rate: int, delay: int, delay_max: int, **settings) -> tuple[dict, dict]:
    """At this rate through the bridge, and at the same time plain records, of another producer to
    another reader."""
    port = free_port(1)
    name, config = place.schedule(listen=f"127.0.0.1:{port}", **settings)
    target, plain = place.topic("bench.target"), place.topic("bench.plain")
    bridge = place.bridge(config, wait=True)
    count = rate * SECONDS
    idle = delay_max // 1000 + 8
    reads = [place.tool("read", topic=topic, count=count, idle=idle).await_ready() for topic in (target, plain)]
    loads = [place.tool("load", topic=name, kind="request", rate=rate, count=count, target=target, delay=delay,
                        delay_max=delay_max),
             place.tool("load", topic=plain, kind="plain", rate=rate, count=count)]
    for load in loads:
        load.result()
    results = [read.result() for read in reads]
    results[0]["handed"] = handed_within(port)
    bridge.stop()
    return results[0], results[1]


def row(what: str, bridge: dict, plain: dict, p50: float | None, p99: float | None) -> Row:
    text = (f"{bridge['p50']:.1f} / {bridge['p99']:.1f} / {bridge['p999']:.1f} / {bridge['max']:.1f} "
            f"(plain {plain['p50']:.1f} / {plain['p99']:.1f} / {plain['p999']:.1f} / {plain['max']:.1f})")
    text += "; handed to the client within " + ", ".join(
        f"{ms} ms: {100 * share:.1f} %" for ms, share in bridge["handed"].items())
    whole = bridge["complete"] and bridge["early"] == 0
    if not whole:
        text += f"; {bridge['seen']} seen, {bridge['early']} early"
    if p99 is not None:
        return Row(what, text, f"≤ {p50} / ≤ {p99}", whole and bridge["p50"] <= p50 and bridge["p99"] <= p99)
    return Row(what, text, "p99 ≤ 2 × plain", whole and bridge["p99"] <= 2 * plain["p99"])


def late(place: Place, rates: tuple[int, ...] = (1000, 10_000, 30_000)) -> list[Row]:
    """A steady stream, delays of 1 to 1.5 s (one level)."""
    rows = []
    for rate in rates:
        bridge, plain = beside_plain(place, rate, 1000, 1500)
        limits = (1, 5) if rate == 1000 else (None, None)
        rows.append(row(f"late at {rate:,}/s, ms p50 / p99 / p99.9 / max", bridge, plain, *limits))
        place.rest()
    return rows


def late_chain(place: Place) -> list[Row]:
    """The same through three levels: 5 s, 1 s and 1 s."""
    bridge, plain = beside_plain(place, 1000, 7000, 7500)
    return [row("late at 1,000/s through three hops, ms p50 / p99 / p99.9 / max", bridge, plain, 1, 5)]
