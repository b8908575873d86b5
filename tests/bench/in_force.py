# SPDX-License-Identifier: Apache-2.0
"""The cost of cancels in force: memory, restores, and each kind of forward. Also their savings."""
from __future__ import annotations

import os
import signal
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from place import LANES, Place, metric, now_ms
from processes import Bridge, cpu_seconds, reserve_ports
from table import STATED, Row

HOUR = 3_600_000
MANY, FEW, LANE = 5_000_000, 50_000, 600_000
RESTORE_S, MORE_US, TABLE_MIB = 5, 0.3, 100
FREED_S = 15  # until the allocator has returned the memory of the restore
READ_A_SECOND = 300_000  # requests that the pass over the schedule topic reads


@dataclass
class Prepared:
    """A schedule topic whose group has committed offsets. Otherwise the entries would count as those of another topic."""
    name: str
    config: Path
    port: int


def prepare(place: Place, lanes: int = LANES, **settings) -> Prepared:
    port = reserve_ports()
    name, config = place.schedule(lanes, listen=f"127.0.0.1:{port}", levels=["1s", "1m", "1h"], **settings)
    place.load(topic=name, kind="request", count=100 * lanes, due=now_ms() + HOUR + HOUR // 2)
    bridge = place.bridge(config, wait=True, members=settings.get("workers", 1))
    place.admin.wait("all requests in a level", lambda: sum(place.ends(f"{name}.1h")) == 100 * lanes)
    place.rest()
    bridge.stop()
    return Prepared(name, config, port)


def put_in_force(place: Place, ready: Prepared, count: int) -> None:
    """Writes entries that void no record of this bench: their names begin with another letter."""
    if count:
        place.load(topic=f"{ready.name}.cancelled", kind="entry", prefix="c", count=count)


def value(ready: Prepared, name: str) -> float:
    try:
        return metric_alone(ready.port, name)
    except OSError:
        return -1  # it does not listen yet


def metric_alone(port: int, name: str) -> float:
    """Reads the sum of a metric over its series, with labels or without."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return sum(float(number) for series, *_, number in lines if series.split("{")[0] == name)


@dataclass
class Restored:
    bridge: Bridge
    seconds: float  # from the lanes' assignment until all are open


def restored(place: Place, ready: Prepared, count: int, env: dict[str, str] | None = None) -> Restored:
    """Starts a bridge, and waits until all entries are in force."""
    bridge = place.bridge(ready.config, env=env)
    until = time.monotonic() + 120
    while value(ready, "delaybridge_lanes_restoring") <= 0 and value(ready, "delaybridge_cancel_entries") < count:
        if time.monotonic() > until:
            raise RuntimeError("no lane was assigned:\n" + bridge.tail())
        time.sleep(0.005)
    began = time.monotonic()
    while value(ready, "delaybridge_lanes_restoring") != 0 or value(ready, "delaybridge_cancel_entries") < count:
        if time.monotonic() > until:
            raise RuntimeError("the lanes do not open:\n" + bridge.tail())
        time.sleep(0.01)
    return Restored(bridge, time.monotonic() - began)


def cancels_restore(place: Place, count: int = MANY, lane: int = LANE) -> list[Row]:
    """A start with cancels in force: memory of each, and time until the lanes open."""
    ready = prepare(place, cancel_memory=f"{TABLE_MIB}MiB")
    plain = restored(place, ready, 0)
    place.rest(FREED_S)
    before = plain.bridge.rss_mib()
    plain.bridge.stop()
    put_in_force(place, ready, count)
    place.rest()
    many = restored(place, ready, count)
    place.rest(FREED_S)
    after = many.bridge.rss_mib()
    many.bridge.stop()
    alone = prepare(place, 1, cancel_memory=f"{TABLE_MIB}MiB")
    put_in_force(place, alone, lane)
    place.rest()
    one = restored(place, alone, lane)
    one.bridge.stop()
    each = (after - before) * 2**20 / count
    return [Row(f"{count // 1000:,}k cancels in force: RSS for each",
                f"{each:.1f} B ({before:.0f} MiB without, {after:.0f} MiB; the table has {TABLE_MIB} MiB)", STATED, True, each),
            Row(f"{count // 1000:,}k cancels in {LANES} lanes: until all lanes are open",
                f"{many.seconds:.2f} s ({count / many.seconds / 1000:.0f}k/s)", f"≤ {RESTORE_S} s", many.seconds <= RESTORE_S,
                many.seconds),
            Row(f"{lane // 1000:,}k cancels in one lane: until it is open",
                f"{one.seconds:.2f} s ({lane / one.seconds / 1000:.0f}k/s)", STATED, True, one.seconds)]


def forwards(place: Place, entries: int, count: int) -> dict[str, dict]:
    """Measures a hop, a delivery and an intake while so many cancels are in force. No record is cancelled."""
    ready = prepare(place, cancel_memory=f"{TABLE_MIB}MiB")
    put_in_force(place, ready, entries)
    results = {}
    for what in ("hop", "delivery", "intake"):
        bridge = restored(place, ready, entries).bridge
        place.rest()
        os.kill(bridge.pid, signal.SIGSTOP)  # shorter than its session: the records wait for it
        grows, base = write(place, ready, what, count)
        os.kill(bridge.pid, signal.SIGCONT)
        results[what] = place.meter(grows, count, bridge.pid, base=base, timeout=120).result()
        bridge.stop()
    return results


def write(place: Place, ready: Prepared, what: str, count: int) -> tuple[str, int]:
    """Writes the records of one measurement. Returns the topic that grows, and its present size."""
    if what == "intake":
        place.load(topic=ready.name, kind="request", count=count, due=now_ms() + HOUR + HOUR // 2)
        return f"{ready.name}.1h", sum(place.ends(f"{ready.name}.1h"))
    stamp = now_ms() - 10 * 60_000
    if what == "hop":
        place.load(topic=f"{ready.name}.1m", kind="envelope", count=count, stamp=stamp, due=now_ms() + HOUR + HOUR // 2)
        return f"{ready.name}.1h", sum(place.ends(f"{ready.name}.1h"))
    target = place.topic("bench.target")
    place.load(topic=f"{ready.name}.1m", kind="envelope", count=count, stamp=stamp, due=now_ms() - 1000, target=target)
    return target, 0


def cancels_cost(place: Place, count: int = 400_000, many: int = MANY) -> list[Row]:
    """A hop, a delivery and an intake while cancels are in force that void none of the records."""
    numbers = (0, FEW, many)
    seen = {n: forwards(place, n, count) for n in numbers[::1 if place.round % 2 else -1]}
    rows = []
    for what in ("hop", "delivery", "intake"):
        cpu = [seen[n][what]["cpu_us"][0] for n in numbers]
        rate = [seen[n][what]["per_second"] / 1000 for n in numbers]
        sound = all(seen[n][what]["complete"] for n in numbers)
        more = cpu[2] - cpu[0]
        rows.append(Row(f"{what}: client CPU a record with 0, {FEW // 1000}k and {many // 1000:,}k cancels in force",
                        f"{cpu[0]:.2f}, {cpu[1]:.2f}, {cpu[2]:.2f} µs ({rate[0]:.0f}k/s, {rate[1]:.0f}k/s, {rate[2]:.0f}k/s)",
                        f"at most {MORE_US} µs more", more <= MORE_US, more, sound))
    return rows


@dataclass
class Orders:
    hops: float
    deliveries: float
    bytes: float  # that the bridge wrote
    cpu_us: float


def written_bytes(place: Place, *topics: str) -> int:
    """Returns the bytes of these topics on the broker's disk."""
    data = place.kafka.folder / "data" / "broker-1"
    return sum(log.stat().st_size for topic in topics for log in data.glob(f"{topic}-*/*.log"))


def play_orders(place: Place, count: int, cancelled: bool) -> Orders:
    """Sends orders with timers of 37 s, and the cancels of 95 % of them at once."""
    port = reserve_ports()
    name, config = place.schedule(listen=f"127.0.0.1:{port}")
    target = place.topic("bench.target")
    bridge = place.bridge(config, wait=True)
    place.load(topic=name, kind="request", count=count, delay=37_000, target=target)
    if cancelled:
        place.rest()  # they are in a level; before, a cancel would save that hop too
        place.load(topic=name, kind="cancel", count=count, skip=20)
    ready, ended = Prepared(name, config, port), lambda: (metric_alone(port, "delaybridge_cancelled_records_total") +
                                                          sum(place.ends(target)))
    place.admin.wait("the end of all orders", lambda: ended() >= count, 90)
    place.rest()
    bytes_ = written_bytes(place, *place.levels(name), f"{name}.cancelled", target)
    hops = metric(ready.port, "delaybridge_forwarded_records_total", 'kind="hop"')[0]
    cpu = cpu_seconds(bridge.pid) / count * 1e6
    bridge.stop()
    return Orders(hops / count, sum(place.ends(target)) / count, bytes_ / count, cpu)


def cancels_orders(place: Place, count: int = 200_000) -> list[Row]:
    """Orders with timers of 37 s, 95 % of which are cancelled after a second."""
    seen = place.in_turns(kept=lambda: play_orders(place, count, False), cancelled=lambda: play_orders(place, count, True))
    kept, cancelled = seen["kept"], seen["cancelled"]
    sound = abs(cancelled.deliveries - 0.05) < 0.001 and kept.deliveries == 1
    return [Row("95 % cancelled: hops an order, with cancels / without", f"{cancelled.hops:.2f} / {kept.hops:.2f}", STATED, True,
                cancelled.hops, sound),
            Row("95 % cancelled: bytes that the bridge writes for an order, with cancels / without",
                f"{cancelled.bytes:.0f} / {kept.bytes:.0f} B", STATED, True, cancelled.bytes, sound),
            Row("95 % cancelled: client CPU an order, with cancels / without",
                f"{cancelled.cpu_us:.1f} / {kept.cpu_us:.1f} µs", STATED, True, cancelled.cpu_us, sound)]


def in_force_at(place: Place, mode: str, rate: int, seconds: int) -> dict:
    name, config = place.schedule(delivery=mode)
    bridge = place.bridge(config, wait=True)
    read = place.tool("read", topic=f"{name}.cancelled", count=rate * (seconds + 3), idle=8, settle=3000,
                      entries=1).await_ready()
    place.load(topic=name, kind="cancel", count=rate * (seconds + 3), rate=rate, linger=0)
    seen = read.result()
    bridge.stop()
    return seen


def cancels_in_force(place: Place, rate: int = 1000, seconds: int = 10) -> list[Row]:
    """From the timestamp of a cancel until its sender can read in_force on S.cancelled, at 1,000/s. The commit that proves it
    follows within 100 ms at least once, and is in the same transaction in exactly-once mode. cancel --wait awaits it."""
    rows = []
    for mode, most in (("at-least-once", 20), ("exactly-once", 100)):
        seen = in_force_at(place, mode, rate, seconds)
        rows.append(Row(f"in_force of a cancel, {mode}, ms p50 / p99 / max",
                        f"{seen['p50']:.1f} / {seen['p99']:.1f} / {seen['max']:.1f}", f"p99 ≤ {most}", seen["p99"] <= most,
                        seen["p99"], seen["complete"]))
    return rows


def first_deliveries(place: Place, count: int, cancels: int) -> tuple[float, float, bool]:
    """Starts a bridge with a backlog of requests and cancels. Returns the times until the first delivery of any lane and
    until that of the last lane, and whether all came."""
    name, config = place.schedule()
    target = place.topic("bench.target")
    place.load(topic=name, kind="request", count=count - cancels, due=now_ms() + HOUR, target=target)
    if cancels:
        place.load(topic=name, kind="cancel", prefix="c", count=cancels)
    due = now_ms()
    place.load(topic=f"{name}.1s", kind="envelope", count=LANES, stamp=due - 1000, due=due, target=target)
    place.rest(3)
    read = place.tool("read", topic=target, count=LANES, idle=90).await_ready()
    began = now_ms()
    bridge = place.bridge(config)
    seen = read.result()
    bridge.stop()
    return (due + seen["first"] - began) / 1000, (due + seen["last"] - began) / 1000, seen["complete"]


def cancels_backlog(place: Place, count: int = MANY) -> list[Row]:
    """The first deliveries of a start with a backlog of requests, which are read for cancels before a lane opens."""
    seen = place.in_turns(none=lambda: first_deliveries(place, count, 0),
                          tenth=lambda: first_deliveries(place, count, count // 10))
    most, rows = count / READ_A_SECOND, []
    for part, (first, last, complete) in (("no cancel", seen["none"]), ("one cancel in ten", seen["tenth"])):
        rows.append(Row(f"{count // 1000:,}k unread requests, {part}: from the start of the process to the first delivery of "
                        "the first / the last lane",
                        f"{first:.1f} / {last:.1f} s ({count / last / 1000:.0f}k requests/s)", f"≤ {most:.0f} s", last <= most,
                        last, complete))
    return rows
