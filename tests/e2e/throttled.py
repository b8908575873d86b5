# SPDX-License-Identifier: Apache-2.0
"""A broker quota far below the bytes that are due at once. The broker answers the write that exceeds the quota. It then
reads no request from that connection for the throttle time. Requests sent meanwhile must not time out."""
from __future__ import annotations

import random

from client import now_ms
from quotas import set_quota
from stage import Stage, both_modes, judge, require, require_prompt

RATE = 30_000           # Bytes a second of all clients of the bridge.
SIZE = 1000
BRIEF = 350, 6_000      # Requests due at once, and their delay: hops and deliveries share the quota.
APART = 600, 30_000     # The deliveries have the quota alone.
MOST = 1.3              # Limit, as a multiple of the time that the writes need at this rate.


def sent_at_once(stage: Stage, count: int, due: int) -> None:
    generator, dice = stage.generator(1000), random.Random(stage.seed)
    for n in range(count):
        request = generator.request(now_ms(), wait_ms=0, key=b"k%d" % n, target=("e2e.a", "e2e.b")[n % 2], headers=[],
                                    value=dice.randbytes(SIZE))
        request.due_ms, request.delay_ms, request.timestamp_ms = due, None, None
        request.headers = [h for h in request.headers if h[0] not in ("dlb-delay", "dlb-deliver-at")]
        request.headers.append(("dlb-deliver-at", str(due).encode()))
        stage.sender.send(request)
    stage.sender.flush()


def throttled(stage: Stage) -> str:
    """Twenty times the quota of a second is due at once: every record comes late, and once."""
    count, wait_ms = APART if stage.full else BRIEF
    stage.use_levels()  # hops use up the quota, too
    config = stage.ready()
    bridge = stage.bridge(config, named=True)
    set_quota(stage.kafka.bootstrap, "bridge.1", producer_byte_rate=RATE)
    start, write_s = now_ms(), count * SIZE / RATE
    sent_at_once(stage, count, start + wait_ms)
    report = stage.verify(timeout=wait_ms / 1000 + 10 * write_s)
    took = (max(s.received_ms for s in stage.collector.seen) - start) / 1000
    line = f"{judge(report)} took={took:.1f}s two_writes={2 * write_s:.0f}s rate={RATE}/s"
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    log = bridge.tail(10_000)
    require("broker quota exceeded" in log, "nothing was throttled:\n" + bridge.tail())
    for words in ("delivery failed", "target unavailable", "transaction aborted",
                  "partition of the bridge unavailable"):
        require(words not in log, f"throttling is treated as a failure ({words}):\n{bridge.tail(30)}")
    require_prompt(took <= (wait_ms / 1000 + MOST * write_s if stage.full else MOST * 2 * write_s), line)
    return line


SCENARIOS = both_modes(throttled)
