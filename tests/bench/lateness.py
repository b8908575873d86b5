# SPDX-License-Identifier: Apache-2.0
"""Lateness at a reader, compared with plain produce and consume at the same time."""
from __future__ import annotations

from place import LANES, Place, metric
from processes import cpu_seconds, reserve_ports
from table import Row

BOUNDS = {"1 ms": "0.001", "5 ms": "0.005", "all": "+Inf"}  # buckets of the histogram
SETTLE_S, SECONDS = 3, 10  # the first seconds do not count, since clients connect then


def handed(*ports: int) -> dict[str, float]:
    """Returns the numbers of records that the bridges at these ports passed to their clients within each bound, by their
    histograms. Kafka and the shared machine cause all later delays."""
    counts = [metric(port, "delaybridge_lateness_seconds_bucket", *(f'le="{bound}"' for bound in BOUNDS.values()))
              for port in ports]
    return dict(zip(BOUNDS, map(sum, zip(*counts))))


def shares(counts: dict[str, float], before: dict[str, float] | None = None) -> dict[str, float]:
    """Returns the shares of all counts, or of those since before."""
    counts = {name: count - (before or {}).get(name, 0) for name, count in counts.items()}
    return {name: count / max(counts["all"], 1) for name, count in counts.items() if name != "all"}


def hops_each(port: int, count: int) -> float:
    return metric(port, "delaybridge_forwarded_records_total", 'kind="hop"')[0] / count


class Stream:
    """A generator that writes records at a rate, and a reader of the result."""

    def __init__(self, place: Place, topic: str, rate: int, seconds: int, wait_s: float = 0, into: str = "", **load):
        self.place = place
        self.load = {"topic": into or topic, "rate": rate, "count": rate * (SETTLE_S + seconds), **load}
        self.read = place.tool("read", topic=topic, count=self.load["count"], idle=int(wait_s) + 8,
                               settle=1000 * SETTLE_S).await_ready()

    def cpu_s(self) -> float:
        """Returns the CPU seconds of the process between generator and reader. Here there is none."""
        return 0.0

    def start(self) -> "Stream":
        self.loading = self.place.tool("load", **self.load)
        return self

    def result(self) -> dict:
        self.loading.result()
        return self.read.result()


class Bridged:
    """A stream through a separate bridge."""

    def __init__(self, place: Place, rate: int, delay: int, delay_max: int, seconds: int = SECONDS, size: int = 100,
                 linger: int = 5, **settings):
        self.port = reserve_ports()
        name, config = place.schedule(listen=f"127.0.0.1:{self.port}", **settings)
        target = place.topic("bench.target", settings.get("lanes", LANES))
        self.bridge = place.bridge(config, wait=True)
        self.stream = Stream(place, target, rate, seconds, delay_max / 1000, into=name, kind="request", target=target,
                             delay=delay, delay_max=delay_max, size=size, linger=linger)

    def cpu_s(self) -> float:
        return cpu_seconds(self.bridge.pid)

    def start(self) -> "Bridged":
        self.began_s = self.cpu_s()
        self.stream.start()
        return self

    def result(self) -> dict:
        result = self.stream.result()
        count = self.stream.load["count"]
        result["bridge_us"] = 1e6 * (self.cpu_s() - self.began_s) / count
        result["handed"] = shares(handed(self.port))
        result["hops"] = hops_each(self.port, count)
        self.bridge.stop()
        return result


class Looped:
    """A stream through the bare loop, which consumes and produces each record without a wait. The reader's lateness counts
    from the second write, as that of a delivery does. exactly_once: with transactions. The lateness then counts from the
    end of the read, so that it includes the wait for the previous transaction."""

    def __init__(self, place: Place, rate: int, seconds: int = SECONDS, lanes: int = LANES, linger: int = 5, size: int = 100,
                 exactly_once: bool = False):
        source, target = place.topic("bench.in", lanes), place.topic("bench.out", lanes)
        self.stream = Stream(place, target, rate, seconds, into=source, kind="plain", linger=linger, size=size)
        once = {"transactions": target} if exactly_once else {}
        self.loop = place.tool("loop", **{"in": source}, out=target, idle="bench.idle", count=self.stream.load["count"], **once)

    def cpu_s(self) -> float:
        return cpu_seconds(self.loop.pid)

    def start(self) -> "Looped":
        self.stream.start()
        return self

    def result(self) -> dict:
        self.stream.loading.result()
        forwarded = self.loop.result()
        result = self.stream.read.result()
        result["loop_us"] = 1e6 * forwarded["cpu_seconds"] / forwarded["forwarded"]
        result["each"] = forwarded["forwarded"] / max(forwarded["committed"], 1)
        result["complete"] = result["complete"] and forwarded["complete"]
        return result


def plain_stream(place: Place, rate: int, seconds: int = SECONDS, lanes: int = LANES, **load) -> Stream:
    return Stream(place, place.topic("bench.plain", lanes), rate, seconds, kind="plain", **load)


def beside_plain(place: Place, rate: int, delay: int, delay_max: int, lanes: int = LANES, size: int = 100,
                 **settings) -> tuple[dict, dict]:
    """Runs a stream through the bridge. At the same time another producer writes plain records to another reader."""
    bridged = Bridged(place, rate, delay, delay_max, lanes=lanes, size=size, **settings)
    plain = plain_stream(place, rate, lanes=lanes, size=size)
    bridged.start()
    plain.start()
    return bridged.result(), plain.result()


def then_plain(place: Place, rate: int, delay: int, delay_max: int, seconds: int = SECONDS,
               **settings) -> tuple[dict, dict]:
    """Runs the two streams one after the other, each alone on the machine."""
    bridged = Bridged(place, rate, delay, delay_max, seconds, **settings).start().result()
    place.rest()
    return bridged, plain_stream(place, rate, seconds).start().result()


def row(what: str, bridge: dict, plain: dict, goal: tuple[float, float] | None = None, other: str = "plain") -> Row:
    """goal: limits of p50 and p99. None: the other stream's p99 is the limit."""
    text = (f"{bridge['p50']:.1f} / {bridge['p99']:.1f} / {bridge['p999']:.1f} / {bridge['max']:.1f} "
            f"({other} {plain['p50']:.1f} / {plain['p99']:.1f} / {plain['p999']:.1f} / {plain['max']:.1f})")
    text += f"; in the first {SETTLE_S} s, not counted, at most {bridge['settling']:.0f} ({other} {plain['settling']:.0f})"
    text += "; handed to the client within " + ", ".join(
        f"{bound}: {100 * share:.1f} %" for bound, share in bridge["handed"].items())
    text += f"; {bridge['hops']:.2f} hops each"
    sound = bridge["complete"] and bridge["early"] == 0
    if not sound:
        text += f"; {bridge['seen']} seen, {bridge['early']} early"
    if goal is not None:
        return Row(what, text, f"≤ {goal[0]} / ≤ {goal[1]}",
                   sound and bridge["p50"] <= goal[0] and bridge["p99"] <= goal[1], bridge["p99"], sound)
    ratio = bridge["p99"] / plain["p99"]
    return Row(what, text, f"p99 ≤ 2 × {other}", sound and ratio <= 2, ratio, sound)


def late(place: Place, seconds: int = SECONDS) -> list[Row]:
    """1,000/s, delays of 1 to 1.5 s (one level), then plain records, each alone on the machine."""
    bridge, plain = then_plain(place, 1000, 1000, 1500, seconds)
    return [row("late at 1,000/s, ms p50 / p99 / p99.9 / max", bridge, plain, (1, 5))]


def late_beside(place: Place, rate: int, what: str = "", **settings) -> list[Row]:
    bridge, plain = beside_plain(place, rate, 1000, 1500, **settings)
    return [row(f"late at {rate:,}/s{what}, ms p50 / p99 / p99.9 / max", bridge, plain)]


def late_10k(place: Place) -> list[Row]:
    """10,000/s, and as many plain records at the same time."""
    return late_beside(place, 10_000)


def late_30k(place: Place) -> list[Row]:
    """30,000/s, and as many plain records at the same time."""
    return late_beside(place, 30_000)


def late_32(place: Place) -> list[Row]:
    """5,000/s on 32 lanes to 32 partitions, and as many plain records to 32 partitions at the same time."""
    return late_beside(place, 5000, " on 32 lanes", lanes=32)


def late_10kb(place: Place) -> list[Row]:
    """5,000/s with values of 10 KB, and as many such plain records at the same time."""
    return late_beside(place, 5000, " with values of 10 KB", size=10_000)


def late_chain(place: Place, seconds: int = SECONDS) -> list[Row]:
    """1,000/s through three levels (5 s, 1 s and 1 s), then plain records."""
    bridge, plain = then_plain(place, 1000, 9050, 9450, seconds)
    return [row("late at 1,000/s through three hops, ms p50 / p99 / p99.9 / max", bridge, plain, (1, 5))]
