# SPDX-License-Identifier: Apache-2.0
"""Three brokers, and one unavailable target of four."""
from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import lateness
from paths import rates, stated
from place import WARM, WARM_ROUNDS, Place
from processes import Bridge
from table import Row

GOOD, MOST_P99 = 3, 2.0
WARM_S, SETTLE_S, CALM_S, STOPPED_S = 8, 15, 12, 24
LEAD_S = 3                        # Start of each stream, which does not count, since clients connect then.
RATE, SLOW_RATE = 250, 25         # Records a second to each target.
QUIET_MS, SLOW_QUIET_MS = 20, 50  # Above this p99 the machine is too busy for a measurement.
EXACTLY_QUIET_MS = 60             # The same with transactions.
SMALL_BYTES = 100                 # Less than a record of 100 bytes with its batch.
AUTHORIZER = ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
              "allow.everyone.if.no.acl.found=true", "super.users=User:nobody")


def three(place: Place, count: int = 200_000) -> list[Row]:
    """Three brokers on the same cores, three replicas of everything, acks=all."""
    return rates(place, count)


def three_late(place: Place, seconds: int = lateness.SECONDS) -> list[Row]:
    """1,000/s on three brokers, then plain records."""
    return [stated(lateness.late(place, seconds)[0])]


def leader_of_quorum(place: Place) -> int:
    """Returns the leader of the quorum, from the notes of live brokers."""
    file = Path(place.kafka.folder) / "data" / f"broker-{place.live[0]}" / "__cluster_metadata-0" / "quorum-state"
    return json.loads(file.read_text())["leaderId"]


class Targets:
    """A bridge and four targets, of which three are good."""

    def __init__(self, place: Place, rate: int, **settings):
        self.place, self.rate = place, rate
        self.name, self.config = place.schedule(**settings)
        self.good = [place.topic("bench.good") for _ in range(GOOD)]
        self.bridge: Bridge = place.bridge(self.config, wait=True)
        self.written = 0  # records to the fourth target

    def stream(self, fourth: str, seconds: int, stop_pid: int = 0) -> dict:
        """Sends the same stream to each of the four targets. Returns the lateness of the good ones after the first seconds.
        stop_pid: a process to stop after the generators and the reader have connected."""
        seconds += LEAD_S
        read = self.place.tool("read", topic=",".join(self.good), count=GOOD * self.rate * seconds, idle=15,
                               settle=(LEAD_S - 1) * 1000)  # counts from the first due time, a second after its sending
        read.await_ready()
        loads = [self.place.tool("load", topic=self.name, kind="request", rate=self.rate, count=self.rate * seconds,
                                 target=target, delay=1000, delay_max=1500) for target in (*self.good, fourth)]
        if stop_pid:
            self.place.rest(LEAD_S)
            os.kill(stop_pid, signal.SIGSTOP)
        for load in loads:
            load.result()
        self.written += self.rate * seconds
        return read.result()


def row(what: str, seen: dict, calm: list[dict], quiet_ms: float) -> Row:
    """Judges a stream by the better one of the two calm streams around it, in which all four targets were good."""
    base = min(calm, key=lambda one: one["p99"])
    quiet, complete = base["p99"] <= quiet_ms, all(one["complete"] for one in (seen, *calm))
    ratio = seen["p99"] / base["p99"]
    around = ", ".join(f"{one['p50']:.1f} / {one['p99']:.1f} / {one['max']:.0f}" for one in calm)
    text = f"{seen['p50']:.1f} / {seen['p99']:.1f} / {seen['max']:.0f} (before and after {around}; {ratio:.1f} times)"
    if not complete:
        text += f"; {seen['seen']} seen, {seen['early']} early: not whole"
    if not quiet:
        text += f"; not judged: the machine is too busy, p99 above {quiet_ms} ms without the bad target"
    return Row(f"{what}: lateness of the three other targets in ms, p50 / p99 / max", text, f"p99 ≤ {MOST_P99:g} × without",
               complete and quiet and ratio <= MOST_P99, ratio, complete and quiet)


def warm(place: Place, targets: Targets, slow_one: str, rounds: int) -> None:
    """Runs streams until the brokers, one of which is new, have compiled their code."""
    for _ in range(rounds):
        targets.stream(slow_one, WARM_S - LEAD_S)
        if place.compiling(2) < WARM:
            break


def slow(place: Place, settle_s: int = SETTLE_S, calm_s: int = CALM_S, stopped_s: int = STOPPED_S,
         warm_rounds: int = WARM_ROUNDS) -> list[Row]:
    """One of four targets is led by a stopped broker that leads no other topic, and by a live one before and after."""
    place.without(3)
    place.warm(warm_rounds)
    targets = Targets(place, SLOW_RATE)
    place.kafka.call("restart", "3")
    place.await_brokers(3)
    slow_one = "bench.slow"
    place.create(slow_one, 4, on=[3], min_insync_replicas="1")
    place.rest(settle_s)
    if leader_of_quorum(place) == 3:
        raise RuntimeError("broker 3 leads the quorum, so its stop would measure an election")
    warm(place, targets, slow_one, warm_rounds)
    before = targets.stream(slow_one, calm_s)
    broker = place.kafka.pid(3)
    try:
        stopped = targets.stream(slow_one, stopped_s, broker)
    finally:
        os.kill(broker, signal.SIGCONT)
    resumed = time.monotonic()
    count = targets.written
    back = place.tool("read", topic=slow_one, count=count, idle=30, order=1, begin=1).result()
    back_s = time.monotonic() - resumed
    place.rest(settle_s)
    after = targets.stream(slow_one, calm_s)
    targets.bridge.stop()
    return [row(f"a target's leader is stopped for {stopped_s} s", stopped, [before, after], SLOW_QUIET_MS),
            Row("the records of that target after its return", f"{back['distinct']:,} of {count:,}, "
                f"{back['seen'] - back['distinct']} twice, after {back_s:.1f} s", "= count", back["distinct"] == count)]


def beside_bad(place: Place, what: str, fourth: str, seconds: int, exactly_once: bool) -> list[Row]:
    """Measures four good targets, then replaces the fourth by a bad one, then measures four good ones again."""
    targets = Targets(place, RATE, delivery="exactly-once" if exactly_once else "at-least-once")
    quiet_ms = EXACTLY_QUIET_MS if exactly_once else QUIET_MS
    good = place.topic("bench.fourth")
    before, with_it, after = (targets.stream(one, seconds) for one in (good, fourth, good))
    targets.bridge.stop()
    return [row(("exactly once, " if exactly_once else "") + what, with_it, [before, after], quiet_ms)]


def beside_missing(place: Place, seconds: int, exactly_once: bool) -> list[Row]:
    return beside_bad(place, "a target does not exist", "bench.missing", seconds, exactly_once)


def beside_forbidden(place: Place, seconds: int, exactly_once: bool) -> list[Row]:
    denied = place.topic("bench.denied")
    place.admin.forbid_writing(denied)
    return beside_bad(place, "Write is denied on a target", denied, seconds, exactly_once)


def beside_small(place: Place, seconds: int, exactly_once: bool) -> list[Row]:
    small = place.topic("bench.small", max_message_bytes=str(SMALL_BYTES))
    return beside_bad(place, "all records are too large for a target", small, seconds, exactly_once)


def missing(place: Place, seconds: int = CALM_S) -> list[Row]:
    """One of four targets does not exist for a while, with 250/s to each."""
    return beside_missing(place, seconds, False)


def missing_exactly(place: Place, seconds: int = CALM_S) -> list[Row]:
    """The same, exactly once."""
    return beside_missing(place, seconds, True)


def forbidden(place: Place, seconds: int = CALM_S) -> list[Row]:
    """The bridge may not write to one of four targets for a while, with 250/s to each."""
    return beside_forbidden(place, seconds, False)


def forbidden_exactly(place: Place, seconds: int = CALM_S) -> list[Row]:
    """The same, exactly once."""
    return beside_forbidden(place, seconds, True)


def too_large(place: Place, seconds: int = CALM_S) -> list[Row]:
    """One of four targets refuses records of this size for a while, with 250/s to each."""
    return beside_small(place, seconds, False)


def too_large_exactly(place: Place, seconds: int = CALM_S) -> list[Row]:
    """The same, exactly once."""
    return beside_small(place, seconds, True)
