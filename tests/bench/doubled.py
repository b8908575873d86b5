# SPDX-License-Identifier: Apache-2.0
"""Counts what at-least-once delivers twice, by cause. The traffic between the bridges and Kafka shows which forward was
repeated, and so the time between it and the cause."""
from __future__ import annotations

import os
import random
import signal
import time
from collections import defaultdict
from dataclasses import dataclass

from contract import Request, Seen
from doubles import Excused, judge_doubles
from place import BINARY, Place
from processes import Bridge, cpu_seconds
from stage import Stage, require
from table import STATED, Row

RATE, DELAY_MS, DELAY_MAX_MS, SEED = 100, 200, 6000, 1
WARM_S, NOTICE_S, CALM_S = 12, 3, 5  # CALM_S: after the group has settled
AWAY_S, STOP_S, SILENT_S, THIRD_S = 4, 9, 12, 4
BEFORE_MS = 4000  # a forward this long before an event belongs to it, an older one to the event before
BROKERS = (1, 2, 3)


@dataclass(frozen=True)
class Event:
    cause: str
    began_ms: float


class Causes:
    """Two bridges on three brokers under load, and the events that they meet. The doc string of a cause names it."""

    def __init__(self, place: Place):
        self.place, self.dice, self.events = place, random.Random(SEED), []
        self.stage = Stage(place.folder, BINARY, True, SEED)
        self.stage.broker_started(place.kafka)
        self.config = self.stage.ready(replication=len(BROKERS))
        self.trace = self.stage.trace()
        self.bridges = [self.stage.bridge(self.config, f"bridge-{n}", members=n, named=True) for n in (1, 2)]
        generator = self.stage.generator(DELAY_MAX_MS)

        def make(_: int, now: int) -> Request:
            return generator.request(now, wait_ms=self.dice.randint(DELAY_MS, DELAY_MAX_MS), value=b"x" * 100)

        self.sending = self.stage.background(make, 10_000_000, RATE)
        time.sleep(WARM_S)

    def kill(self) -> None:
        """kill -9 of a bridge, and a start at once"""
        bridge = self.dice.choice(self.bridges)
        self.begin()
        bridge.kill()
        bridge.start()

    def stop(self) -> None:
        """SIGSTOP of a bridge for 9 s"""
        pid = self.dice.choice(self.bridges).pid
        self.begin()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOP_S)
        os.kill(pid, signal.SIGCONT)

    def broker(self) -> None:
        """kill -9 of a broker that is not the coordinator, and a start after 4 s"""
        number = self.busiest("Produce", other_than=self.busiest("OffsetCommit"))
        self.place.ended_s += cpu_seconds(self.place.kafka.pid(number))
        self.on_broker(number, "kill", AWAY_S, "restart")

    def coordinator(self) -> None:
        """SIGSTOP of the coordinator's broker for 12 s"""
        self.on_broker(self.busiest("OffsetCommit"), "pause", SILENT_S, "resume")

    def lanes(self) -> None:
        """a third bridge joins and leaves, so that lanes are lost and regained"""
        self.begin()
        third = Bridge(BINARY, self.config, f"bridge-3.{len(self.events)}", named=True).start()
        require(self.stage.admin.wait_members(self.stage.group, 3), "a third bridge does not join")
        time.sleep(THIRD_S)
        require(third.stop() == 0, "a third bridge does not leave")

    def begin(self) -> None:
        self.began_ms = time.time() * 1000

    def busiest(self, api: str, other_than: int = 0) -> int:
        """Returns the broker that gets most requests of a kind now."""
        passed = self.stage.proxy.passed
        passed.clear()
        time.sleep(1)
        return max((n for n in BROKERS if n != other_than), key=lambda n: passed[api, n])

    def on_broker(self, number: int, fault: str, seconds: float, end: str) -> None:
        self.begin()
        self.place.kafka.call(fault, str(number))
        time.sleep(seconds)
        self.place.kafka.call(end, str(number))

    def play(self, cause: str) -> None:
        getattr(self, cause)()
        self.events.append(Event(cause, self.began_ms))
        time.sleep(NOTICE_S)
        require(self.stage.admin.wait_members(self.stage.group, 2), f"{cause}: the group does not settle")
        time.sleep(CALM_S)


CAUSES = ("kill", "stop", "broker", "coordinator", "lanes")


def spread(values: list[float]) -> str:
    """Returns minimum, median and maximum."""
    values = sorted(values)
    return " / ".join(f"{v:,.0f}" for v in (values[0], values[len(values) // 2], values[-1])) + " ms"


def last(events: list[Event], ms: float) -> Event | None:
    """Returns the last event that had begun then."""
    return next((event for event in reversed(events) if event.began_ms <= ms), None)


def row(cause: str, events: list[Event], seen: list[Seen], repeated: list[Excused], sound: bool) -> Row:
    """repeated: the forwards of all causes that were repeated. A negative time before the event is one after it."""
    before_ms: dict[str, list[float]] = defaultdict(list)  # the event, by reason
    for forward in repeated:
        event = last(events, forward.stamp_ms + BEFORE_MS)
        if event and event.cause == cause:
            before_ms[forward.kind].append(event.began_ms - forward.stamp_ms)
    twice, met = sum(map(len, before_ms.values())), [e for e in events if e.cause == cause]
    count = sum(last(events, s.timestamp_ms) in met for s in seen)
    text = f"{twice:,} of {count:,} ({twice / count:.1%}) in {len(met)} events"
    for kind, each in sorted(before_ms.items()):
        text += f"; {len(each):,} {kind}, first forwarded {spread(each)} before"
    return Row(getattr(Causes, cause).__doc__, text, STATED, True, twice / count, sound)


def doubles(place: Place, events: int = 3) -> list[Row]:
    """Deliveries that come twice with at-least-once, by cause. Two bridges at 100/s, delays of 0.2 to 6 s."""
    causes = Causes(place)
    for cause in CAUSES:
        for _ in range(events):
            causes.play(cause)
    causes.sending.finish(stop=True)
    stage, trace = causes.stage, causes.trace
    report = stage.verify(timeout=90)
    require(trace.catch_up(60), "the reader of the levels stalls")
    for reader in (trace, stage.collector):
        reader.end()
    found = judge_doubles(stage.collector.seen, trace.seen, stage.schedule, stage.proxy.evidence)
    rows = [row(cause, causes.events, stage.collector.seen, found.repeated, not report.faults) for cause in CAUSES]
    return [*rows, Row("all", f"{report.duplicates:,} of {report.delivered:,} twice; {report.faults['lost']} lost, "
                       f"{report.faults['early']} early, {len(found.unexplained)} twice for no known reason", STATED, True,
                       report.duplicates, not report.faults)]
