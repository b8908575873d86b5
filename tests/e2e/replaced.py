# SPDX-License-Identifier: Apache-2.0
"""Level topics that are deleted, or deleted and created again, under a running bridge."""
from __future__ import annotations

import time

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from histories import LANES, Act
from stage import Stage, both_modes, judge, require, until, will_say

GONE = "level topic does not exist"
HELD = "topic was recreated under the running bridge"
PAUSED_MS = 14_000  # the 10s level pauses its partition for such a wait


def level_replaced(stage: Stage) -> str:
    """A level topic is recreated while its partitions are paused: blocked, logged, and no new record is lost."""
    stage.use_levels()  # records wait in the level that is deleted
    stage.broker()
    act = Act(stage, "level-replaced")
    try:
        return replaced(act)
    finally:
        act.close()


def replaced(act: Act) -> str:
    level = f"{act.schedule}.10s"
    bridge = act.bridge(act.path)
    done = act.send(6, **act.wait(11_000))
    judge(act.verify(done, timeout=60))  # the old log has finished records
    old = act.send(6, **act.wait(PAUSED_MS))
    act.taken()
    time.sleep(1)  # the partitions are paused then
    act.admin.delete(level)
    act.apply(act.path)
    new = act.send(30, **act.wait(PAUSED_MS))
    will_say(bridge, HELD, 40)
    time.sleep(PAUSED_MS / 1000)
    done += act.send(10)
    judge(act.verify(done, timeout=40))  # all other levels continue
    act.end(bridge)
    ends = act.ends(level, OffsetSpec.latest())
    starts = act.ends(level, OffsetSpec.earliest())
    require(sum(starts.values()) == 0, f"records of the new log were deleted: {starts}")
    kept = sum(ends.values())
    require(kept > 0, "no record is in the new log")
    act.commit([TopicPartition(level, lane, 0) for lane in range(LANES)])  # --reset-offsets --to-earliest
    bridge = act.bridge(act.path, "second")
    judge(act.verify(done + new, timeout=60))
    act.end(bridge)
    return f"blocked and logged; {len(old)} records lost with the old log, the {len(new)} of the new one came "\
           "after a reset"


def level_deleted(stage: Stage) -> str:
    """A level topic is deleted under a running bridge: logged, others continue, and 'topics apply' recreates it."""
    stage.use_levels()  # records wait in the level that is deleted
    stage.broker()
    act = Act(stage, "level-deleted")
    try:
        return deleted(act)
    finally:
        act.close()


def deleted(act: Act) -> str:
    level = f"{act.schedule}.10s"
    bridge = act.bridge(act.path)
    lost = act.send(6, **act.wait(PAUSED_MS))
    act.taken()
    act.admin.delete(level)
    good = act.send(30, **act.wait(3_000))
    held = act.send(10, **act.wait(12_000))
    will_say(bridge, GONE, 60)
    good += act.send(20)
    judge(act.verify(good + held, timeout=60))
    time.sleep(5)
    gained = bridge.log.read_text().count('"lanes assigned"')
    require(gained <= 6, f"the lanes were assigned {gained} times")
    act.apply(act.path)
    until("the lanes assigned again", lambda: bridge.log.read_text().count('"lanes assigned"') > gained)
    back = act.send(10, **act.wait(11_000))
    judge(act.verify(good + held + back, timeout=60))
    require(sum(act.ends(level, OffsetSpec.latest()).values()) > 0, "the level is not used again")
    act.end(bridge)
    return f"logged; {len(lost)} records lost with the topic, the {len(good) + len(held)} others came; in use again after apply"


SCENARIOS = both_modes(level_replaced, level_deleted)
