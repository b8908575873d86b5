# SPDX-License-Identifier: Apache-2.0
"""How late a reader has what is due, beside what plain produce and consume shows at the same time."""
from __future__ import annotations

import urllib.request

from place import WARM, Place
from processes import free_port
from table import Row

WARM_ROUNDS = 6
SETTLE_S, SECONDS = 3, 12  # while its clients connect a stream is not looked at


def handed_within(port: int) -> dict[str, float]:
    """The share that the bridge gave to its client within so many ms, by its own histogram: what is later
    than that is Kafka's, and of the machine that both share."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines()]

    def seen(bound: str) -> float:
        return sum(float(value) for name, *_, value in lines
                   if name.startswith("delaybridge_lateness_seconds_bucket") and f'le="{bound}"' in name)
    return {ms: seen(bound) / max(seen("+Inf"), 1) for ms, bound in (("1", "0.001"), ("5", "0.005"))}


class Stream:
    """Records at a rate into a topic, and who reads what comes of them."""

    def __init__(self, place: Place, topic: str, rate: int, wait_s: float = 0, into: str = "", **load):
        self.place, self.load = place, {"topic": into or topic, "rate": rate, "count": rate * (SETTLE_S + SECONDS), **load}
        self.read = place.tool("read", topic=topic, count=self.load["count"], idle=int(wait_s) + 8,
                               settle=1000 * SETTLE_S).await_ready()

    def start(self) -> "Stream":
        self.loading = self.place.tool("load", **self.load)
        return self

    def result(self) -> dict:
        self.loading.result()
        return self.read.result()


class Bridged:
    """The stream through a bridge of its own."""

    def __init__(self, place: Place, rate: int, delay: int, delay_max: int, **settings):
        self.port = free_port(1)
        name, config = place.schedule(listen=f"127.0.0.1:{self.port}", **settings)
        target = place.topic("bench.target")
        self.bridge = place.bridge(config, wait=True)
        self.stream = Stream(place, target, rate, delay_max / 1000, into=name, kind="request", target=target,
                             delay=delay, delay_max=delay_max)

    def start(self) -> "Bridged":
        self.stream.start()
        return self

    def result(self) -> dict:
        result = self.stream.result()
        result["handed"] = handed_within(self.port)
        self.bridge.stop()
        return result


def warm(place: Place, **settings) -> None:
    """Streams until the broker has compiled what these need."""
    for _ in range(WARM_ROUNDS):
        before = place.compiled()
        Bridged(place, 10_000, 1000, 1500, **settings).start().result()
        place.rest()
        if place.compiled() - before < WARM * (SETTLE_S + SECONDS):
            break


def plain_stream(place: Place, rate: int) -> Stream:
    return Stream(place, place.topic("bench.plain"), rate, kind="plain")


def beside_plain(place: Place, rate: int, delay: int, delay_max: int, **settings) -> tuple[dict, dict]:
    """At this rate through the bridge, and at the same time plain records, of another producer to
    another reader."""
    both = [Bridged(place, rate, delay, delay_max, **settings), plain_stream(place, rate)]
    for one in both:
        one.start()
    return both[0].result(), both[1].result()


def then_plain(place: Place, rate: int, delay: int, delay_max: int, **settings) -> tuple[dict, dict]:
    """The same, one after the other: alone on the machine."""
    bridged = Bridged(place, rate, delay, delay_max, **settings).start().result()
    place.rest()
    return bridged, plain_stream(place, rate).start().result()


def row(what: str, bridge: dict, plain: dict, p50: float | None, p99: float | None) -> Row:
    text = (f"{bridge['p50']:.1f} / {bridge['p99']:.1f} / {bridge['p999']:.1f} / {bridge['max']:.1f} "
            f"(plain {plain['p50']:.1f} / {plain['p99']:.1f} / {plain['p999']:.1f} / {plain['max']:.1f})")
    text += f"; in the first {SETTLE_S} s, not counted, at most {bridge['settling']:.0f} (plain {plain['settling']:.0f})"
    text += "; handed to the client within " + ", ".join(
        f"{ms} ms: {100 * share:.1f} %" for ms, share in bridge["handed"].items())
    whole = bridge["complete"] and bridge["early"] == 0
    if not whole:
        text += f"; {bridge['seen']} seen, {bridge['early']} early"
    if p99 is not None:
        return Row(what, text, f"≤ {p50} / ≤ {p99}", whole and bridge["p50"] <= p50 and bridge["p99"] <= p99)
    return Row(what, text, "p99 ≤ 2 × plain", whole and bridge["p99"] <= 2 * plain["p99"])


def late_1000(place: Place) -> list[Row]:
    """1,000/s alone on the machine, and then plain records."""
    bridge, plain = then_plain(place, 1000, 1000, 1500)
    return [row("late at 1,000/s, ms p50 / p99 / p99.9 / max", bridge, plain, 1, 5)]


def late(place: Place) -> list[Row]:
    """A steady stream, delays of 1 to 1.5 s (one level); plain records after it (1,000/s) or beside it."""
    warm(place)
    rows = late_1000(place)
    for rate in (10_000, 30_000):
        place.rest()
        bridge, plain = beside_plain(place, rate, 1000, 1500)
        rows.append(row(f"late at {rate:,}/s, ms p50 / p99 / p99.9 / max", bridge, plain, None, None))
    return rows


def late_chain(place: Place) -> list[Row]:
    """1,000/s through three levels: 5 s, 1 s and 1 s."""
    bridge, plain = then_plain(place, 1000, 7000, 7500)
    return [row("late at 1,000/s through three hops, ms p50 / p99 / p99.9 / max", bridge, plain, 1, 5)]
