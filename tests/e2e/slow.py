# SPDX-License-Identifier: Apache-2.0
"""A target whose broker acknowledges slowly, among good requests. The second broker leads only this target. The proxy delays
each of its answers to writes."""
from __future__ import annotations

from among import ATTEMPTS, SECOND, Among, Bad, to
from client import Admin
from processes import Bridge
from stage import LANES, TARGETS, Stage, both_modes, level_topics

SLOW_S = 0.4
LEARN_S = 3, 3  # the bridge learns in this time how slow the target is


def slow_down(stage: Stage) -> None:
    stage.proxy.add("Produce", "answer_late", SLOW_S, times=10 ** 9, broker=SECOND)


SLOW = {"slow": Bad(lambda stage: to("e2e.slow", stage), topics=["e2e.slow"], begin=slow_down, after_s=LEARN_S)}


class AmongSlow(Among):
    def prepare(self) -> Bridge:
        stage, schedule = self.stage, self.stage.schedule
        stage.broker(brokers=2, proxied=True)
        stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])
        own = [schedule, f"{schedule}.dead-letter", *level_topics(schedule)]
        for topic, count in {**dict.fromkeys(own, LANES), **TARGETS, "__transaction_state": 4, "__consumer_offsets": 4}.items():
            stage.admin.create(topic, count, on=[1], **({"cleanup_policy": "compact"} if topic[0] == "_" else {}))
        stage.admin.create("e2e.slow", 1, on=[SECOND])  # one batch in flight, so one delay
        path = stage.ready({}, max_attempts=ATTEMPTS)
        for name in TARGETS:
            stage.collector.add(name)
        return stage.bridge(path)


def among_slow(stage: Stage) -> str:
    """Good requests next to a target whose broker acknowledges slowly."""
    return AmongSlow(stage, SLOW).play()


SCENARIOS = both_modes(among_slow)
ON_DEMAND = {"among_slow"}  # only exactly-once has a transaction of slow targets
