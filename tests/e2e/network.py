# SPDX-License-Identifier: Apache-2.0
"""The network between the bridge and its brokers: requests of each kind are delayed or lost, brokers are cut off."""
from __future__ import annotations

import random
import time

from client import Collector
from processes import Bridge
from stage import Stage, both_modes, judge, require, require_harness, require_prompt
from verifier import source_of

RATE = 200
WAYS = ("request_late", "answer_late", "request_lost", "answer_lost")
# Delays below and above both limits: a member's session of 6 s, and the 10 s that a client waits in a transaction.
LONG_S, SHORT_S = 12, 3
EXACTLY = ("EndTxn", "TxnOffsetCommit", "AddPartitionsToTxn", "AddOffsetsToTxn", "Produce", "Heartbeat", "Fetch",
           "InitProducerId")
AT_LEAST = ("OffsetCommit", "Produce", "Heartbeat", "Fetch")

# Recovery time by mode. First a session, an election and the 10 s of a client. With exactly-once, the other producer's
# transaction may then meet the same broker. Kafka answers for up to 30 s that a transaction is still being ended.
HANGS_S, TAKEN_OVER_S = {False: 45, True: 80}, {False: 25, True: 60}

# The cases of the reduced counts. The first ones concern the end of a transaction, which may arrive when the next one
# is open.
REDUCED = {
    True: [("EndTxn", "request_late", LONG_S), ("EndTxn", "answer_late", LONG_S), ("EndTxn", "request_lost", 0),
           ("EndTxn", "answer_lost", 0), ("AddPartitionsToTxn", "request_late", SHORT_S),
           ("TxnOffsetCommit", "answer_lost", 0), ("Produce", "request_late", SHORT_S)],
    False: [("OffsetCommit", "request_late", LONG_S), ("Produce", "request_late", SHORT_S),
            ("Produce", "answer_lost", 0), ("Heartbeat", "request_late", LONG_S), ("Fetch", "answer_lost", 0)]}


def rounds(full: bool, exactly_once: bool) -> list[tuple[str, str, int]]:
    if not full:
        return REDUCED[exactly_once]
    return [(api, way, seconds) for api in (EXACTLY if exactly_once else AT_LEAST) for way in WAYS
            for seconds in ((SHORT_S, LONG_S) if way.endswith("late") else (0,))]


def held_requests(stage: Stage) -> str:
    """Chosen requests or answers are delayed beyond every timeout, or lost with their connection."""
    max_ms = 8000
    stage.use_levels(max_ms)
    stage.broker(brokers=1, proxied=True)
    config, trace = stage.ready(), stage.trace()
    bridge = stage.bridge(config, env={"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": "held"}, named=True)
    generator = stage.generator(max_ms)
    sending = stage.background(lambda n, now: generator.request(now), 10_000_000, RATE)
    time.sleep(4)
    plan = rounds(stage.full, stage.exactly_once)
    ends = [late_end(stage, bridge) for _ in range((5 if stage.full else 2) if stage.exactly_once else 0)]
    require_harness(sum(ends) * 2 >= len(ends), f"only {sum(ends)} of {len(ends)} late ends arrived in an open transaction")
    for api, way, seconds in plan:
        rule = stage.proxy.add(api, way, seconds)
        if api == "InitProducerId":  # only a new producer sends it, and the next request needs one
            stage.proxy.add("EndTxn", "answer_lost")
        require(stage.proxy.wait(rule, 40), f"no {api} within 40 s that could be {way}:\n{bridge.tail()}")
        time.sleep(seconds + 2)
    sending.finish(stop=True)
    line = judge_network(stage, trace, 90)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    return f"{line} held_or_lost={len(plan)} of {len({api for api, _, _ in plan})} kinds" + (
        f" late_ends_met={sum(ends)} of {len(ends)}" if ends else "")


def judge_network(stage: Stage, trace: Collector, timeout: float) -> str:
    """Judges each duplicate alone. trace: the reader of the levels."""
    line = judge(stage.verify(timeout=timeout), None)
    if not stage.exactly_once:
        line += " | " + stage.doubles(trace).line()
    trace.end()
    return line


def late_end(stage: Stage, bridge: Bridge) -> bool:
    """Delays the end of a transaction. The client repeats it and opens the next transaction. The late end arrives when
    the records of the next transaction are written and its offsets are not. Then the process dies. If the broker
    applied the late end to the open transaction, its records would be committed without their offsets, and delivered
    again. Returns whether the late end arrived in this state."""
    end = stage.proxy.add("EndTxn", "request_late", LONG_S)
    require(stage.proxy.wait(end, 20), "no transaction ended within 20 s:\n" + bridge.tail())
    released = time.monotonic() + LONG_S
    time.sleep(LONG_S - 1.5)
    offsets = stage.proxy.add("AddOffsetsToTxn", "request_late", 4, whose=end.whose)
    met = stage.proxy.wait(offsets, 1.5)
    time.sleep(max(0.0, released + 0.5 - time.monotonic()))
    bridge.kill()
    offsets.times = 0  # it may have met none
    bridge.start()
    require(stage.admin.wait_members(stage.group, 1), "the bridge does not get its lanes back:\n" + bridge.tail())
    time.sleep(3)
    return met


def partitioned(stage: Stage) -> str:
    """The bridge is cut off from one broker of three, for less and for more than its session."""
    max_ms = 10_000
    stage.use_levels(max_ms)
    stage.broker(brokers=3, proxied=True)
    config, trace = stage.ready(replication=3), stage.trace()
    bridges = [stage.bridge(config, f"bridge-{n}", members=n, named=True) for n in (1, 2)]
    generator, dice = stage.generator(max_ms), random.Random(stage.seed)
    sending = stage.background(lambda n, now: generator.request(now), 10_000_000, RATE)
    time.sleep(5)
    coordinator = stage.proxy.busiest("Heartbeat")
    others = [n for n in (1, 2, 3) if n != coordinator]
    plan = [(coordinator, 3, True), (coordinator, 9, False)]
    if stage.full:
        plan += [(others[0], 10, False)]
        plan += [(dice.randint(1, 3), dice.choice((1, 3, 8, 10, 15)), dice.random() < .5) for _ in range(17)]
    for broker, seconds, reset in plan:
        stage.proxy.cut(broker)
        time.sleep(seconds)
        stage.proxy.heal(broker, reset)
        time.sleep(4)
    sending.finish(stop=True)
    line = judge_network(stage, trace, 120)
    for bridge in bridges:
        require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    return f"{line} cuts={len(plan)} seconds={','.join(str(seconds) for _, seconds, _ in plan)}"


def broker_hangs(stage: Stage) -> str:
    """The coordinator of three brokers stops answering and closes no connection, like a dead host.
    The other brokers take over. The bridge must follow long before the client's timeout of a minute."""
    hangs, taken_over = HANGS_S[stage.exactly_once], TAKEN_OVER_S[stage.exactly_once]
    stage.use_levels(hangs * 1000)
    stage.broker(brokers=3, proxied=True)
    config, trace = stage.ready(replication=3), stage.trace()
    bridge = stage.bridge(config, named=True)
    generator = stage.generator(hangs * 1000)
    sending = stage.background(lambda n, now: generator.request(now), 10_000_000, RATE)
    time.sleep(10)
    broker = str(stage.proxy.busiest("Heartbeat"))
    hung = time.time() * 1000
    stage.kafka.call("pause", broker)
    time.sleep(hangs)
    stage.kafka.call("resume", broker)
    sending.finish(stop=True)
    line = judge_network(stage, trace, 120)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    written = {source_of(r, stage.schedule): r for r in stage.sender.journal if r.acked_at * 1000 < r.earliest}
    late = {key: s.timestamp_ms - written[key].earliest for s in reversed(stage.collector.seen)
            if (key := s.header("dlb-source")) in written}
    after = [ms for key, ms in late.items()
             if hung + taken_over * 1000 < written[key].earliest < hung + hangs * 1000]
    require(len(after) > RATE, f"only {len(after)} records were due after the takeover")
    require_prompt(max(after) < 3000, f"{taken_over} s after the coordinator fell silent, records came {max(after):.0f} ms late")
    return f"{line} most_late={max(late.values()):.0f}ms due_after_takeover={len(after)} of_them_late={max(after):.0f}ms"


SCENARIOS = both_modes(held_requests, partitioned, broker_hangs)
