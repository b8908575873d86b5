# SPDX-License-Identifier: Apache-2.0
"""Judgment of requests of which some were cancelled or replaced, on a stage."""
from __future__ import annotations

import pickle
import time
from dataclasses import dataclass

from client import Admin, Collector, now_ms
from doubles import origin
from stage import Stage, Unsure, require, require_harness
from verifier import Report, Showed, right
from voids import Judge, Traffic, Verdict, must_be_accounted, place_unplaced

READ_S, GRACE_S = 60, 2


@dataclass
class Settled:
    report: Report
    verdict: Verdict


def schedule_log(stage: Stage) -> list:
    """Reads the whole schedule topic."""
    reader = Collector(stage.kafka.bootstrap, [stage.schedule])
    reader.start()
    Admin.wait("the schedule topic", lambda: stage.schedule in reader.partitions)
    read = reader.catch_up(READ_S)
    reader.end()
    require_harness(read, "the reader of the schedule topic stalls")
    return list(reader.seen)


def settle(stage: Stage, hops: Collector, timeout: float, showed: Showed = right, skewed: tuple[str, ...] = (),
           wins_ms: int | None = None, withheld: tuple[str, ...] = ()) -> Settled:
    """Waits until all requests that nothing is over have come out, and judges all. Raises if a cancelled one came. hops: the
    reader of the levels. skewed: processes with another clock. wins_ms: see voids.Judge.judge. withheld:
    targets that operators pause or limit."""
    sender, log = stage.sender, schedule_log(stage)
    sender.placeless[:] = place_unplaced(sender.journal, sender.placeless, log)
    judge = Judge(sender.journal, log, sender.unsure, withheld)
    stage.collector.wait_for(judge.must_come(), stage.schedule, timeout)
    time.sleep(GRACE_S + max(0, max(r.due for r in sender.journal) - now_ms()) / 1000)  # cancelled ones could still come
    ends = list(stage.collector.seen)
    traffic = Traffic(stage.proxy.evidence, ends, [(s, place_of_hop(s, stage.schedule)) for s in list(hops.seen)], skewed)
    verdict = judge.judge(ends, traffic, wins_ms)
    unsure = sender.unsure  # a second copy of a cancelled one, which its producer wrote before the cancel, may come
    sender.unsure = [r for r in unsure if must_be_accounted(r)] + verdict.dropped
    report = stage.verify(journal=verdict.to_verify, timeout=5, showed=showed, hops=list(hops.seen))
    sender.unsure = unsure
    if report.faults or verdict.wrongly or verdict.by_time:  # for another judgment
        (stage.folder / "cancels.pickle").write_bytes(
            pickle.dumps((sender.journal, log, unsure, ends, list(hops.seen), stage.proxy.evidence)))
    if verdict.wrongly:
        stage.require_decided_once(verdict.wrongly[0])
    require(not verdict.wrongly, f"{len(verdict.wrongly)} came out after their cancel had won: {verdict.wrongly[:3]}")
    require(verdict.dropped, "nothing was cancelled")
    if verdict.by_time and not report.faults:
        raise Unsure(f"{len(verdict.by_time)} came out although their cancel was early: {verdict.by_time[:3]}")
    return Settled(report, verdict)


def place_of_hop(seen, schedule: str) -> tuple[int, int]:
    _, lane, offset = origin(seen, schedule).decode().rsplit("/", 2)
    return int(lane), int(offset)
