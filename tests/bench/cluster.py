# SPDX-License-Identifier: Apache-2.0
"""On three brokers."""
from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import lateness
from paths import rates, stated
from place import WARM, WARM_ROUNDS, Place
from processes import Bridge
from table import Row

GOOD, MOST_P99 = 3, 2.0
WARM_S, SETTLE_S, CALM_S, LEAD_S, STOPPED_S = 8, 15, 12, 3, 24
RATE = 25  # to each target: four brokers on two cores are late by themselves at 100


def three(place: Place, count: int = 200_000) -> list[Row]:
    """Three brokers, three replicas of everything, acks=all; all of them on the same cores."""
    return rates(place, count)


def three_late(place: Place, seconds: int = lateness.SECONDS) -> list[Row]:
    """1,000/s there, and then plain records."""
    return [stated(row) for row in lateness.late(place, seconds)]


def leader_of_quorum(place: Place) -> int:
    """As the brokers that live have noted it."""
    file = Path(place.kafka.folder) / "data" / f"broker-{place.live[0]}" / "__cluster_metadata-0" / "quorum-state"
    return json.loads(file.read_text())["leaderId"]


class Targets:
    """Four targets, of which three are good, and a bridge."""

    def __init__(self, place: Place):
        self.place = place
        self.name, self.config = place.schedule()
        self.good = [place.topic("bench.good") for _ in range(GOOD)]
        self.bridge: Bridge = place.bridge(self.config, wait=True)

    def stream(self, fourth: str, seconds: int, stop_pid: int = 0) -> dict:
        """The same to each of the four; how late the good ones were. stop_pid is stopped once the generators
        and the reader, which are not what is tried, have begun."""
        read = self.place.tool("read", topic=",".join(self.good), count=GOOD * RATE * seconds, idle=15)
        read.await_ready()
        loads = [self.place.tool("load", topic=self.name, kind="request", rate=RATE, count=RATE * seconds,
                                 target=target, delay=1000, delay_max=1500) for target in (*self.good, fourth)]
        if stop_pid:
            self.place.rest(LEAD_S)
            os.kill(stop_pid, signal.SIGSTOP)
        for load in loads:
            load.result()
        return read.result()


def row(what: str, seen: dict, base: dict) -> Row:
    text = (f"{seen['p50']:.1f} / {seen['p99']:.1f} / {seen['max']:.0f} (without "
            f"{base['p50']:.1f} / {base['p99']:.1f} / {base['max']:.0f})")
    if not seen["complete"]:
        text += f"; {seen['seen']} seen, {seen['early']} early"
    ratio = seen["p99"] / base["p99"]
    return Row(f"{what}: ms the three others are late, p50 / p99 / max", text, f"p99 ≤ {MOST_P99:g} × without",
               seen["complete"] and ratio <= MOST_P99, ratio, seen["complete"])


def warm(place: Place, targets: Targets, slow_one: str, rounds: int) -> int:
    """Until the brokers, one of which was just started, have compiled this too; how many seconds of it."""
    number = 0
    while number < rounds:
        number += 1
        targets.stream(slow_one, WARM_S)
        if place.compiling(2) < WARM:
            break
    return WARM_S * number


def slow(place: Place, settle_s: int = SETTLE_S, calm_s: int = CALM_S, stopped_s: int = STOPPED_S,
         warm_rounds: int = WARM_ROUNDS) -> list[Row]:
    """One of four targets is led by a stopped broker that has nothing else."""
    place.without(3)
    place.warm(warm_rounds)
    targets = Targets(place)
    place.kafka.call("restart", "3")
    slow_one = "bench.slow"
    place.create(slow_one, 4, on=[3], min_insync_replicas="1")
    place.rest(settle_s)
    if leader_of_quorum(place) == 3:
        raise RuntimeError("broker 3 leads the quorum: this would measure another thing")
    warm_s = warm(place, targets, slow_one, warm_rounds)
    base = targets.stream(slow_one, calm_s)
    broker = place.kafka.pid(3)
    try:
        stopped = targets.stream(slow_one, LEAD_S + stopped_s, broker)
    finally:
        os.kill(broker, signal.SIGCONT)
    count = RATE * (warm_s + calm_s + LEAD_S + stopped_s)
    back = place.meter(slow_one, count, timeout=120).result()
    targets.bridge.stop()
    return [row(f"a target's leader is stopped for {stopped_s} s", stopped, base),
            Row("what it was to get, once it is back",
                f"{back['records']:,} of {count:,} after {back['seconds']:.0f} s", "all", back["complete"])]


def missing(place: Place) -> list[Row]:
    """One of four targets does not exist."""
    targets = Targets(place)
    calm = targets.stream(place.topic("bench.fourth"), CALM_S)
    without_one = targets.stream("bench.missing", CALM_S)
    targets.bridge.stop()
    return [row("a target does not exist", without_one, calm)]
