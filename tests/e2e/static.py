# SPDX-License-Identifier: Apache-2.0
"""Members with an operator's id in exactly-once mode: killed and started again with the same id."""
from __future__ import annotations

import time

from processes import Bridge
from scenarios import longest_waits
from stage import Stage, judge, require, require_prompt


def static_exactly(stage: Stage) -> str:
    """Exactly-once: after kill -9, a start with the same group.instance.id has its lanes back in about a second."""
    stage.exactly_once, max_ms = True, 7000
    stage.use_levels(max_ms)
    config, kills = stage.ready(), 20 if stage.full else 4
    bridges = [Bridge(stage.binary, config, f"static-{n}", {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": f"e2e-{n}"}).start()
               for n in (1, 2)]
    require(stage.admin.wait_members(stage.group, 2), "the members do not settle:\n" + bridges[0].tail())
    generator = stage.generator(max_ms)
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
    time.sleep(5)
    windows = [("steady", time.time() * 1000 - 2000, time.time() * 1000)]
    for n in range(kills):
        time.sleep(2)
        start = bridges[n % 2].kill() * 1000
        bridges[n % 2].start()
        time.sleep(3)
        windows.append(("kill", start, time.time() * 1000))
    sending.finish(stop=True)
    report = stage.verify(timeout=60)
    line = judge(report)
    for bridge in bridges:
        require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    longest = longest_waits(stage, windows)
    require_prompt(longest["kill"] <= 2000 + 3 * longest["steady"],
                   f"a record waited {longest['kill']} ms at a kill: {line}")
    stage.totals = {"kill -9 of a bridge": kills}
    return f"{line} kills={kills} longest_wait steady={longest['steady']}ms kill={longest['kill']}ms"


SCENARIOS = {"static_exactly": static_exactly}
