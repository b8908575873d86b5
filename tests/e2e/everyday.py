# SPDX-License-Identifier: Apache-2.0
"""The usual production cluster: three brokers, three copies, a few hundred requests a second."""
from __future__ import annotations

import time

from contract import Request
from stage import Stage, both_modes, judge, require

RATE, WATCH_S, SETTLE_S = 500, 12, 6
MOST_OF_A_CORE = 0.4
KEYS = (b"one lane", b"another")  # so that more than five records of a partition are in flight


def three_brokers(stage: Stage) -> str:
    """Load on three brokers: no client thread may use a whole core while it waits for acknowledgements."""
    stage.broker(brokers=3, props=("offsets.topic.replication.factor=3", "transaction.state.log.replication.factor=3",
                                   "transaction.state.log.min.isr=2"))
    bridge = stage.bridge(stage.ready(replication=3))
    generator, seconds = stage.generator(RATE), WATCH_S * (3 if stage.full else 1)

    def make(n: int, now: int) -> Request:
        return generator.request(now, wait_ms=1000 + generator.random.randrange(1000), key=KEYS[n % len(KEYS)],
                                 value=b"x" * 100, target="e2e.a")

    stage.sender.send_paced(make, RATE * SETTLE_S, RATE)
    start, began = bridge.cpu_seconds(), time.monotonic()
    stage.sender.send_paced(make, RATE * seconds, RATE)
    cpu = (bridge.cpu_seconds() - start) / (time.monotonic() - began)
    report = stage.verify(timeout=90)
    line = judge(report)
    require(cpu < MOST_OF_A_CORE, f"the bridge takes {cpu:.0%} of a core at {RATE}/s")
    return f"{line} rate={RATE}/s cpu={cpu:.1%} of a core"


SCENARIOS = both_modes(three_brokers)
