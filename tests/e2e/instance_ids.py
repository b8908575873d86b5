# SPDX-License-Identifier: Apache-2.0
"""Processes with an operator's group.instance.id that the group fences: by their own late commits, and because two have
one id."""
from __future__ import annotations

import time
from pathlib import Path

from processes import Bridge
from stage import Stage, both_modes, judge, require, require_premise

SESSION_S = 12  # Longer than a broker needs to start.
AWAY_S = SESSION_S + 0.4  # A client keeps a commit for a session and up to a second.
ENDS_S = 120
REJOINS = "fenced by the group coordinator, rejoining"
ENDS = "fenced by the group coordinator again within a minute, exiting"


def instance_ids(stage: Stage) -> str:
    """An outage for longer than a session ends no process that has its own group.instance.id. Of two processes with one
    id, one ends with 70, and the other one delivers everything."""
    max_ms = 15_000
    stage.use_levels(max_ms)
    stage.broker(proxied=True)
    config, trace = stage.ready(), stage.trace()
    bridges = [start(stage, config, f"own-{n}", f"e2e-{n}") for n in (1, 2)]
    require(stage.admin.wait_members(stage.group, 2), "the members do not settle:\n" + bridges[0].tail())
    generator = stage.generator(max_ms)
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
    time.sleep(4)
    fenced = outage(stage, bridges)
    rivals = [start(stage, config, "rival-1", "e2e-one")]
    require(stage.admin.wait_members(stage.group, 3), "the third id does not join:\n" + rivals[0].tail())
    rivals.append(start(stage, config, "rival-2", "e2e-one"))
    ended = one_ends(rivals)
    require(stage.admin.wait_members(stage.group, 3), "the other one has no lanes:\n" + rivals[1].tail(30))
    time.sleep(3)
    sending.finish(stop=True)
    line = judge(stage.verify(timeout=60), None)
    if not stage.exactly_once:
        line += " | " + stage.doubles(trace).line()
    trace.end()
    for bridge in (*bridges, rivals[1]):
        require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    require_premise(fenced or stage.exactly_once or not stage.full, f"no late commit fenced its member, so this proves nothing: {line}")
    return f"{line} fenced_by_late_commits={fenced} one_of_two_ended_after={ended:.1f}s"


def start(stage: Stage, config: Path, name: str, instance: str) -> Bridge:
    env = {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": instance, "DELAYBRIDGE_KAFKA_SESSION_TIMEOUT_MS": str(SESSION_S * 1000)}
    return Bridge(stage.binary, config, name, env, named=True).start()


def outage(stage: Stage, bridges: list[Bridge]) -> int:
    """Stops the broker for longer than a session. It starts sooner, and then knows all members for another session, so that
    the commits that clients send without a member id fence them. With exactly-once, members send no commit. Returns how
    many were fenced."""
    stage.kafka.stop()
    down = time.monotonic()
    stage.proxy.cut(1)
    stage.kafka.call("restart", "1")
    time.sleep(max(0.0, down + AWAY_S - time.monotonic()))
    stage.proxy.heal(1, reset=False)
    time.sleep(3)
    require(stage.admin.wait_members(stage.group, 2), "the members do not come back:\n" + bridges[0].tail())
    for bridge in bridges:
        require(bridge.running(), f"the outage ended a process:\n{bridge.tail()}")
    return sum(bridge.tail(10_000).count(REJOINS) for bridge in bridges)


def one_ends(rivals: list[Bridge]) -> float:
    """Waits until the older one ends. Returns the seconds since the start of the other one."""
    older, younger = rivals
    code = older.wait(ENDS_S)
    seconds = younger.age()
    require(code == 70, f"the older process ended with {code}:\n{older.tail(20)}")
    require(ENDS in older.tail(100), f"the log does not say why it ended:\n{older.tail(20)}")
    for rival in rivals:
        require(rival.tail(10_000).count(REJOINS) == 1, f"{rival.name} did not rejoin once:\n{rival.tail(20)}")
    return seconds


SCENARIOS = both_modes(instance_ids)
