# SPDX-License-Identifier: Apache-2.0
"""The part of the bench that runs all programs one after the other."""
from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from peers.bridge import Bridge
from peers.compared import Measured, killed, late, number
from peers.peer import Flow, Instant, Killed, Peer
from peers.rabbitmq import RabbitMQ
from peers.redis import Redis
from peers.rocketmq import RocketMQ
from place import Place
from table import BROKEN, STATED, Row

RATES, SECONDS, SEARCH_S, INSTANT = (1000, 5000, 10_000), 6, 4, 100_000
FIRST, STRONG, LIMIT, HALVINGS = 20_000, 40_000, 320_000, 2  # rates of the search, and its steps after the first failure
PEERS: dict[str, Callable[[Place, Path], Peer]] = {
    "bridge": lambda place, _: Bridge(place),
    "Redis": lambda _, folder: Redis(folder),
    "RabbitMQ, classic": lambda _, folder: RabbitMQ(folder, "classic"),
    "RabbitMQ, quorum": lambda _, folder: RabbitMQ(folder, "quorum"),
    "RocketMQ, levels": lambda _, folder: RocketMQ(folder, "levels"),
    "RocketMQ, timer": lambda _, folder: RocketMQ(folder, "timer")}


def highest(peer: Peer, known: list[Flow], seconds: float) -> tuple[Flow | None, list[Flow]]:
    """Returns the flow of the highest sustained rate, or None, and all that were tried. Doubles the rate until one is not
    sustained, and then halves the distance."""
    tried: list[Flow] = []
    best = max((flow for flow in known if flow.kept), key=lambda flow: flow.rate, default=None)
    rate, high = STRONG if peer.strong else FIRST, 0
    while rate <= LIMIT and not high:
        tried.append(peer.stream(rate, seconds))
        if tried[-1].kept:
            best, rate = tried[-1], 2 * rate
        else:
            high = rate
    for _ in range(HALVINGS if high else 0):
        tried.append(peer.stream(((best.rate if best else 0) + high) // 2, seconds))
        if tried[-1].kept:
            best = tried[-1]
        else:
            high = tried[-1].rate
    return best, tried


def flow_row(name: str, flow: Flow) -> Row:
    return Row(f"{name}, {flow.rate:,}/s: late p50 / p99 / max in ms, CPU a message", f"{late(flow)}; servers {number(flow.servers_us)} µs, "
               f"clients {number(flow.clients_us)} µs", STATED, True, flow.p99, flow.whole)


def most_row(name: str, best: Flow | None, tried: list[Flow]) -> Row:
    told = "; ".join(f"{flow.rate:,}/s {'kept' if flow.kept else 'not kept'}, {flow.sent:,.0f}/s sent, p99 {flow.p99:,.0f} ms"
                     + flow.faults for flow in tried)
    return Row(f"{name}: highest sustained rate", (f"{best.rate:,}/s, servers {number(best.servers_us)} µs, clients {number(best.clients_us)} "
               "µs a message" if best else "none") + f" ({told})", STATED, best is not None, best.rate if best else 0)


def instant_row(name: str, instant: Instant) -> Row:
    return Row(f"{name}: {instant.count:,} due at one instant", f"{instant.per_second:,.0f}/s, the last after {instant.last_ms:,.0f} ms"
               + ("" if instant.whole else ", not whole"), STATED, instant.whole, instant.last_ms, instant.whole)


def killed_row(what: str, of: Killed) -> Row:
    return Row(what, killed(of), STATED, of.missing == 0 and of.early == 0, of.max)


def measure(peer: Peer, one: Measured, rates: tuple[int, ...], seconds: float, brief: bool) -> Iterator[Row]:
    """Runs all measurements of a program. Yields the rows of each one."""
    peer.stream(rates[-1], 1 if brief else peer.warm_s)
    for rate in rates:
        one.flows.append(peer.stream(rate, seconds))
        yield flow_row(one.short, one.flows[-1])
    if brief:
        return
    if peer.lead_ms:
        one.instant = peer.instant(INSTANT)
        yield instant_row(one.short, one.instant)
    one.most, tried = highest(peer, one.flows, SEARCH_S)
    yield most_row(one.short, one.most, tried)
    one.killed = peer.kill_in_flow()
    yield killed_row(f"{one.short}: kill -9 of all servers", one.killed)
    one.killed_part = peer.kill_part()
    if one.killed_part:
        yield killed_row(f"{one.short}: kill -9 of the bridge only", one.killed_part)


def play(short: str, place: Place, rates: tuple[int, ...], seconds: float, brief: bool) -> list[Row]:
    """Runs a program. Its first row has all figures for the comparison."""
    folder = place.folder / f"peer-{short.replace(', ', '-').lower()}"
    folder.mkdir()
    peer, rows = PEERS[short](place, folder), []
    one = Measured(peer.name, short)
    try:
        peer.start()
        for row in measure(peer, one, rates, seconds, brief):
            print("    " + row.line(), flush=True)
            rows.append(row)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        rows.append(Row(short, BROKEN, "", False))
    finally:
        peer.stop()
    shutil.rmtree(folder)
    return [replace(rows[0], data=one), *rows[1:]]


def peers(place: Place, rates: tuple[int, ...] = RATES, seconds: float = SECONDS, brief: bool = False) -> list[Row]:
    """The bridge with its broker, and other programs that hold messages until they are due, one after the other."""
    first, *others = PEERS
    rows = play(first, place, rates, seconds, brief)
    place.kafka.call("pause", "1")
    try:
        for short in others:
            rows += play(short, place, rates, seconds, brief)
    finally:
        place.kafka.call("resume", "1")
    return rows
