# SPDX-License-Identifier: Apache-2.0
"""Partitions of the bridge's topics that accept no records, among good requests. The second broker leads a partition of a
level topic and one of the dead-letter topic. It also has a replica of each partition of another level, which needs two
in sync. Played by name, it leads a partition of the topic of cancels or of events, too. Then it stops."""
from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from among import ATTEMPTS, BAD_THINGS, MAX_WAIT_MS, SECOND, Among, Bad, Maker, return_second
from client import Admin, now_ms
from contract import LEVELS, Request, partition_of
from generator import Generator
from processes import Bridge
from scenarios import source
from stage import LANES, TARGETS, Stage, both_modes, require

STALL_S = (0, 15)           # in exactly-once mode the worker stalls once when it loses a broker
LEVEL, SHORT = "1s", "5s"   # one has a partition on the second broker, the other a replica there
LEVEL_LANE, DEAD_LANE, SHORT_LANE, CANCELLED_LANE, EVENTS_LANE = range(5)
BROKERS_OWN = 4             # partitions of each of the brokers' own topics
AWAY = {LEVEL_LANE, DEAD_LANE, SHORT_LANE}
VOIDED_S = (8, 30)          # delay of the requests that are cancelled
BEHIND_MS = 10_000          # in exactly-once mode the lane reads no cancel until so long after the return of the broker


def in_lane(lane: int) -> bytes:
    """Returns a key whose partition is this lane."""
    return next(key for key in (b"key-%d" % n for n in range(10_000)) if partition_of(key, LANES) == lane)


def waiting_in(lane: int, wait_ms: int):
    """Makes requests of one lane with this delay."""
    def maker(stage: Stage) -> Maker:
        generator, key = Generator(stage.seed + 1, ["e2e.a"], "e2e.a", MAX_WAIT_MS, stage.schedule), in_lane(lane)

        def make(n: int, now: int) -> Request:
            request = generator.request(now, key=key, wait_ms=wait_ms, value=b"v")
            request.kind = "own"
            return request
        return make
    return maker


def poison_in_lane(stage: Stage) -> Maker:
    make, key = BAD_THINGS["poison"].make(stage), in_lane(DEAD_LANE)

    def make_in_lane(n: int, now: int) -> Request:
        request = make(n, now)
        while request.key is None or "dlb-op" in dict(request.headers):  # some are refused for their key
            n += 1
            request = make(n, now)
        request.key = key
        return request
    return make_in_lane


def cancelled_in_lane(stage: Stage) -> Maker:
    """Makes requests that are due in seconds, each followed by its cancel."""
    key, delay_s = in_lane(CANCELLED_LANE), VOIDED_S[stage.exactly_once]

    def make(n: int, now: int) -> Request:
        name = b"voided-%d" % (n // 2)
        if n % 2:
            return Request(key, b"", [("dlb-op", b"cancel"), ("dlb-id", name)], "cancel")
        return Request(key, b"v", [("dlb-delay", b"%ds" % delay_s), ("dlb-id", name)], "voided", target="e2e.a",
                       delay_ms=delay_s * 1000, out_key=key, id=name)
    return make


def end_second(stage: Stage) -> None:
    os.kill(stage.kafka.pid(SECOND), signal.SIGTERM)
    stage.admin.wait("the end of the second broker", lambda: not stage.kafka.running(SECOND))


def lost(lane: int) -> list[list[int]]:
    """Returns the brokers of each partition. The one of the lane is on the broker that stops."""
    return [[SECOND if n == lane else 1] for n in range(LANES)]


def own(make: Callable[[Stage], Maker], topic: str, lane: int | None = None) -> Bad:
    """lane: that of a bad thing that is played only by name."""
    away = AWAY if lane is None else AWAY | {lane}
    says = "partition of the bridge unavailable, its lane waits: run 'delaybridge check' and kafka-topics.sh " \
        f'--describe --under-min-isr-partitions","topic":"schedule.{topic}"'
    return Bad(make, begin=end_second, heal=return_second, spares=lambda request: request.partition not in away,
               says=says, after_s=STALL_S, apart=lane is not None)


OWN = {
    "level": own(waiting_in(LEVEL_LANE, 2000), LEVEL),
    "dead_letter": own(poison_in_lane, "dead-letter"),
    "short_level": own(waiting_in(SHORT_LANE, 7000), SHORT),
    "cancelled": own(cancelled_in_lane, "cancelled", CANCELLED_LANE),
    "events": own(waiting_in(EVENTS_LANE, 1000), "events", EVENTS_LANE),
}


class AmongOwn(Among):
    healed_ms = 0

    def create(self, topic: str, on: list[int], count: int = LANES, **config: str) -> None:
        self.stage.admin.create(topic, count, on=on, **config)

    def create_own(self) -> None:
        """Creates all topics on the first broker, except the partitions that must become unavailable."""
        schedule = self.stage.schedule
        for topic in ("__consumer_offsets", "__transaction_state"):
            self.create(topic, [1], BROKERS_OWN, cleanup_policy="compact")
        for name, count in TARGETS.items():
            self.create(name, [1], count)
        self.create(schedule, [1])
        self.stage.admin.create_placed(f"{schedule}.dead-letter", lost(DEAD_LANE))
        self.stage.admin.create_placed(f"{schedule}.{LEVEL}", lost(LEVEL_LANE))
        for name, lane in (("cancelled", CANCELLED_LANE), ("events", EVENTS_LANE)):
            if name in self.names:
                self.stage.admin.create_placed(f"{schedule}.{name}", lost(lane))
        self.create(f"{schedule}.{SHORT}", [1, SECOND], min_insync_replicas="2")
        for level in LEVELS:
            if level not in (LEVEL, SHORT):
                self.create(f"{schedule}.{level}", [1])

    def prepare(self) -> Bridge:
        stage = self.stage
        if {"level", "short_level"} & set(self.names):
            stage.use_levels()
        stage.broker(brokers=2, controllers=1)
        stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])  # the other broker ends
        self.create_own()
        path = stage.ready({}, max_attempts=ATTEMPTS, events=["all"] if "events" in self.names else [])
        for name in TARGETS:
            stage.collector.add(name)
        return stage.bridge(path)

    def good(self) -> Maker:
        """Makes good requests for all lanes, since a transaction may have written to a partition when its broker ends. Those of
        the lanes that wait are not measured."""
        generator = self.stage.generator(MAX_WAIT_MS)
        keys = [in_lane(lane) for lane in range(LANES)]
        return lambda n, now: generator.request(now, key=keys[n % len(keys)])

    def each(self, step: str, names: list[str] | None = None) -> None:
        super().each(step, names)
        if step == "heal":
            self.healed_ms = now_ms()

    def may_come(self, request: Request) -> bool:
        """Returns whether the lane may have been behind with its reading when this cancelled request was due."""
        return self.stage.exactly_once and request.due < self.healed_ms + BEHIND_MS

    def accounted(self) -> list[Request]:
        """A delivery of a cancelled request is one of no request, which the verifier reports, unless it may come."""
        came = {source(seen) for seen in list(self.stage.collector.seen)}
        return [request for request in super().accounted() if request.kind not in ("voided", "cancel") or
                (request.kind == "voided" and self.may_come(request) and (request.partition, request.offset) in came)]

    def settle(self) -> str:
        voided = [request.due for request in self.stage.sender.journal if request.kind == "voided"]
        require(not voided or max(voided) > self.healed_ms + BEHIND_MS or not self.stage.exactly_once,
                "all cancelled requests were due before the lane reads their cancels")
        time.sleep(max(0, max(voided, default=0) + MAX_WAIT_MS - now_ms()) / 1000)
        return super().settle()

    def turns(self) -> list[list[str]]:
        """All bad things share the broker, so they are one turn."""
        return [self.names]


def alone(name: str) -> Callable[[Stage], str]:
    def play(stage: Stage) -> str:
        return AmongOwn(stage, {name: OWN[name]}).play()
    play.__name__, play.__doc__ = f"own_{name}", f"Good requests next to unavailable partitions of the bridge: {name}."
    return play


def own_topics(stage: Stage) -> str:
    """Partitions of the bridge without a leader, or with too few replicas: good requests of other lanes are on time."""
    return AmongOwn(stage, {name: bad for name, bad in OWN.items() if not bad.apart}).play()


SCENARIOS = both_modes(own_topics, *(alone(name) for name in OWN))
ON_DEMAND = set(SCENARIOS) - {"own_cancelled"}
