# SPDX-License-Identifier: Apache-2.0
"""A target whose broker acknowledges slowly, among good requests. The second broker leads only this target. The proxy delays
each of its answers to writes."""
from __future__ import annotations

from dataclasses import replace

from among import ATTEMPTS, SECOND, Among, Bad, to
from client import Admin
from processes import Bridge
from stage import LANES, TARGETS, Stage, both_modes, level_topics

SLOW_S = 0.4
# With exactly-once, a record waits for the open transaction and for its own. Each of them waits for up to two batches of the
# slow target, since one batch is in flight at a time.
WAIT_MS = 0, 4 * int(SLOW_S * 1000)
SAYS = 'delays the other targets of this bridge: give it its own configuration and schedule topic","target":"e2e.slow"'


def slow_down(stage: Stage) -> None:
    stage.proxy.add("Produce", "answer_late", SLOW_S, times=10 ** 9, broker=SECOND)


SLOW = Bad(lambda stage: to("e2e.slow", stage), topics=["e2e.slow"], begin=slow_down, more_ms=WAIT_MS)


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
    """Good requests next to a target whose broker acknowledges slowly. With exactly-once they wait for it, and the log names it."""
    return AmongSlow(stage, {"slow": replace(SLOW, says=SAYS if stage.exactly_once else "")}).play()


SCENARIOS = both_modes(among_slow)
ON_DEMAND = set(SCENARIOS)
