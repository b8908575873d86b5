# SPDX-License-Identifier: Apache-2.0
"""Requests of which some are cancelled or replaced, and their judgment on a stage."""
from __future__ import annotations

import heapq
import pickle
import random
import time
from dataclasses import dataclass

from client import Admin, Collector, now_ms
from contract import Request
from doubles import origin
from generator import Generator
from stage import Late, Stage, require
from verifier import Report, Showed, right
from voids import Judge, Traffic, Verdict, must_be_accounted, name_of, place_unplaced

SHARES = (0.05, 0.5, 0.95)  # of the requests that are cancelled or replaced
REPLACED = 0.2              # of those
SOON_MS, LATER_MS = 4000, 30_000  # a cancel follows its request so soon; one in ten so late
READ_S, GRACE_S = 60, 2


class Orders:
    """Makes requests, and cancels or replaces some of them later. share: the share of these. None: the seed chooses."""

    def __init__(self, generator: Generator, seed: int, share: float | None = None, keys: int | None = None):
        """keys: the number of keys of orders. None: each request has any key."""
        self.generator, self.keys = generator, keys
        self.dice = random.Random(f"orders {seed}")
        self.share = self.dice.choice(SHARES) if share is None else share
        self.due: list[tuple[int, int, Request]] = []  # when a request is voided
        self.made = 0

    def make(self, n: int, now: int) -> Request:
        """Returns the cancel or the replace that is due, or else a new request."""
        if self.due and self.due[0][0] <= now:
            return self.void(heapq.heappop(self.due)[2], now)
        more = {"key": b"order-%d" % self.dice.randrange(self.keys)} if self.keys else {}
        return self.remember(self.generator.request(now, **more), now)

    def remember(self, request: Request, now: int) -> Request:
        self.made += 1
        if self.dice.random() < self.share and name_of(request):
            at = now + self.dice.randint(1, LATER_MS if self.dice.random() < 0.1 else SOON_MS)
            heapq.heappush(self.due, (at, self.made, request))
        return request

    def void(self, other: Request, now: int) -> Request:
        """Returns a cancel, a replace, or a replace that is refused: for its form, which voids nothing, or for its target."""
        given = [h for h in other.headers if h[0] == "dlb-id"]
        if self.dice.random() >= REPLACED:
            return cancel_of(other)
        request = self.generator.request(now, key=other.key)
        kept = [h for h in request.headers if h[0] not in ("dlb-id", "dlb-op")]
        request.kind, request.id = "replace", given[0][1] if given else None
        roll = self.dice.random()
        if roll < 0.1:
            request.kind, request.code = "replace without a time", "no_time"
            kept = [h for h in kept if h[0] not in ("dlb-delay", "dlb-deliver-at")]
        elif roll < 0.2:
            request.kind, request.code = "replace to a denied target", "target_denied"
            kept = [h for h in kept if h[0] != "dlb-target"] + [("dlb-target", b"secret")]
        request.headers = [("dlb-op", b"replace"), *given, *kept]
        return request if request.code else self.remember(request, now)


def cancel_of(request: Request) -> Request:
    """Returns a cancel with the name of this request."""
    given = [h for h in request.headers if h[0] == "dlb-id"]
    return Request(request.key, b"", [("dlb-op", b"cancel"), *given], "cancel")


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
    require(read, "the reader of the schedule topic stalls")
    return list(reader.seen)


def settle(stage: Stage, hops: Collector, timeout: float, showed: Showed = right, skewed: tuple[str, ...] = (),
           wins_ms: int | None = None) -> Settled:
    """Waits until all requests that nothing is over have come out, and judges all. Raises if a cancelled one came. hops: the
    reader of the levels. skewed: processes with another clock. wins_ms: see voids.Judge.judge."""
    sender, log = stage.sender, schedule_log(stage)
    sender.placeless[:] = place_unplaced(sender.journal, sender.placeless, log)
    judge = Judge(sender.journal, log, sender.unsure)
    stage.collector.wait_for(judge.must_come(), stage.schedule, timeout)
    time.sleep(GRACE_S + max(0, max(r.due for r in sender.journal) - now_ms()) / 1000)  # cancelled ones could still come
    ends = list(stage.collector.seen)
    traffic = Traffic(stage.proxy.evidence, ends, [(s, place_of_hop(s, stage.schedule)) for s in list(hops.seen)], skewed)
    verdict = judge.judge(ends, traffic, wins_ms)
    unsure = sender.unsure  # a second copy of a cancelled one, which its producer wrote before the cancel, may come
    sender.unsure = [r for r in unsure if must_be_accounted(r)] + verdict.dropped
    report = stage.verify(journal=verdict.to_verify, timeout=5, showed=showed)
    sender.unsure = unsure
    if report.faults or verdict.wrongly or verdict.by_time:  # for another judgment
        (stage.folder / "cancels.pickle").write_bytes(
            pickle.dumps((sender.journal, log, unsure, ends, list(hops.seen), stage.proxy.evidence)))
    require(not verdict.wrongly, f"{len(verdict.wrongly)} came out after their cancel had won: {verdict.wrongly[:3]}")
    require(verdict.dropped, "nothing was cancelled")
    if verdict.by_time and not report.faults:
        raise Late(f"{len(verdict.by_time)} came out although their cancel was early: {verdict.by_time[:3]}")
    return Settled(report, verdict)


def place_of_hop(seen, schedule: str) -> tuple[int, int]:
    _, lane, offset = origin(seen, schedule).decode().rsplit("/", 2)
    return int(lane), int(offset)
