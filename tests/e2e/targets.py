# SPDX-License-Identifier: Apache-2.0
"""Targets that are deleted while records are in flight to them."""
from __future__ import annotations

import time

from client import now_ms
from contract import Request
from stage import Stage, both_modes, judge, require, require_harness, require_prompt


def target_deleted(stage: Stage) -> str:
    """Two targets are deleted, one is recreated: only records of the other become dead letters, and none block."""
    config = stage.ready(max_attempts=3)
    for topic in ("e2e.gone", "e2e.back"):
        stage.admin.create(topic, 3)
        stage.collector.add(topic)
        stage.collector.forgiven.add(topic)
    bridge = stage.bridge(config)
    generator, rate = stage.generator(3000), 150

    def make(n: int, now: int) -> Request:
        if n % 5:
            return generator.request(now)
        request = generator.request(now, target=("e2e.gone", "e2e.back")[n // 5 % 2], wait_ms=n % 7 * 250)
        request.kind = request.target
        return request

    sending = stage.background(make, rate * (60 if stage.full else 18), rate)
    time.sleep(6)
    deleted = {}
    for topic in ("e2e.gone", "e2e.back"):
        stage.admin.delete(topic)
        deleted[topic] = now_ms()
    time.sleep(3)
    stage.admin.create("e2e.back", 3)
    stage.collector.add("e2e.back")
    sending.finish()
    stage.collector.wait_for([r for r in stage.sender.journal if r.kind == "good"], stage.schedule, 60)
    stage.collector.wait_for(stage.sender.journal, stage.schedule, 60)
    unseen = settle(stage, deleted)
    report = stage.verify()
    require_harness(unseen <= 0.1 * rate * 2, f"{unseen} were deleted with their topic before they were read")
    line = judge(report, 60)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    require("e2e.gone" not in stage.admin.topics(), "the bridge recreated the deleted target")
    # With exactly-once, all records of the transaction wait once for the timeout of those in flight to the target.
    good = sorted(s.timestamp_ms - r.earliest for s, r in seen_of(stage, "good"))
    require_prompt(good[int(len(good) * .99)] < (13_000 if stage.exactly_once else 2500),
                   f"good records were delayed: p99 {good[int(len(good) * .99)]} ms: {line}")
    return f"{line} good_p99={good[int(len(good) * .99)]}ms gone_unseen={unseen}"


def seen_of(stage: Stage, kind: str) -> list:
    by_source = {f"{stage.schedule}/{r.partition}/{r.offset}".encode(): r for r in stage.sender.journal}
    pairs = [(s, by_source.get(s.header("dlb-source"))) for s in stage.collector.seen]
    return [(s, r) for s, r in pairs if r is not None and r.kind == kind]


def settle(stage: Stage, deleted: dict[str, int]) -> int:
    """Expects a dead letter for each request that became one. Requests due about the time of the deletion may have been
    deleted with the topic before a read. Removes them from the journal and returns their number."""
    dead = {s.header("dlb-source") for s in stage.collector.of(f"{stage.schedule}.dead-letter")}
    unseen = []
    for request in list(stage.sender.journal):
        source = f"{stage.schedule}/{request.partition}/{request.offset}".encode()
        if source in dead and request.kind == "e2e.gone":
            request.code, request.waited = "target_failed", True
        elif source not in stage.collector.sources and \
                deleted.get(request.kind, 0) - 1500 < request.earliest < deleted.get(request.kind, 0) + 300:
            unseen.append(request)
    for request in unseen:
        stage.sender.journal.remove(request)
    return len(unseen)


SCENARIOS = both_modes(target_deleted)
