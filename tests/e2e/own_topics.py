# SPDX-License-Identifier: Apache-2.0
"""Partitions of the bridge's topics that accept no records, among good requests. The second broker leads a partition of a
level topic and one of the dead-letter topic. It also has a replica of each partition of another level, which needs two
in sync. Then it stops."""
from __future__ import annotations

import os
import signal
from collections.abc import Callable

from among import ATTEMPTS, BAD_THINGS, MAX_WAIT_MS, SECOND, Among, Bad, Maker, return_second
from client import Admin
from contract import LEVELS, Request, partition_of
from generator import Generator
from processes import Bridge
from stage import LANES, TARGETS, Stage, both_modes

STALL_S = (0, 15)           # in exactly-once mode the worker stalls once when it loses a broker
LEVEL, SHORT = "1s", "5s"   # one has a partition on the second broker, the other a replica there
LEVEL_LANE, DEAD_LANE, SHORT_LANE = 0, 1, 2
BROKERS_OWN = 4             # partitions of each of the brokers' own topics
AWAY = (LEVEL_LANE, DEAD_LANE, SHORT_LANE)


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


def spared(request: Request) -> bool:
    return request.partition not in AWAY


def end_second(stage: Stage) -> None:
    os.kill(stage.kafka.pid(SECOND), signal.SIGTERM)
    stage.admin.wait("the end of the second broker", lambda: not stage.kafka.running(SECOND))


def lost(lane: int) -> list[list[int]]:
    """Returns the brokers of each partition. The one of the lane is on the broker that stops."""
    return [[SECOND if n == lane else 1] for n in range(LANES)]


def own(make: Callable[[Stage], Maker], topic: str) -> Bad:
    says = f'partition of the bridge unavailable, its lane waits: run kafka-topics.sh --describe --unavailable-partitions","topic":"schedule.{topic}"'
    return Bad(make, begin=end_second, heal=return_second, spares=spared, says=says, after_s=STALL_S)


OWN = {
    "level": own(waiting_in(LEVEL_LANE, 2000), LEVEL),
    "dead_letter": own(poison_in_lane, "dead-letter"),
    "short_level": own(waiting_in(SHORT_LANE, 7000), SHORT),
}


class AmongOwn(Among):
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
        self.create(f"{schedule}.{SHORT}", [1, SECOND], min_insync_replicas="2")
        for level in LEVELS:
            if level not in (LEVEL, SHORT):
                self.create(f"{schedule}.{level}", [1])

    def prepare(self) -> Bridge:
        stage = self.stage
        stage.broker(brokers=2, controllers=1)
        stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])  # the other broker ends
        self.create_own()
        path = stage.ready({}, max_attempts=ATTEMPTS)
        for name in TARGETS:
            stage.collector.add(name)
        return stage.bridge(path)

    def good(self) -> Maker:
        """Makes good requests for all lanes, since a transaction may have written to a partition when its broker ends. Those of
        the lanes that wait are not measured."""
        generator = self.stage.generator(MAX_WAIT_MS)
        keys = [in_lane(lane) for lane in range(LANES)]
        return lambda n, now: generator.request(now, key=keys[n % len(keys)])

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
    return AmongOwn(stage, OWN).play()


SCENARIOS = both_modes(own_topics, *(alone(name) for name in OWN))
ON_DEMAND = set(SCENARIOS) - {"own_topics_exactly"}
