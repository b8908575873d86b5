# SPDX-License-Identifier: Apache-2.0
"""Judges requests that were cancelled or replaced, by offsets and acknowledgements alone. Pure, like the verifier, which then
judges the requests that must come out, and those that came out.

A cancel or a replace is over a request if it has the same name, is in the same lane, and has a larger offset. A request that
it is over may come out or not. It must not come out after the cancel had won:

- The cancel was acknowledged before the process that delivered the request got the lane (Evidence).
- This process had already forwarded the replace, or a request behind the cancel.
- The cancel was acknowledged long before the request was due. Only a run without stalls may judge by this time.

A request must come out if it was due long before each cancel over it, so that it was late already."""
from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from dataclasses import dataclass, field

from contract import Header, Request, Seen
from doubles import Evidence, Write

NAME_MAX = 128
# The code of a replace that is refused, but still voids: its form was right.
VOIDS_ALTHOUGH_REFUSED = ("target_denied",)
LATE_MS = 1000  # Added to the largest lateness that was seen.
Name = tuple[int, str, bytes]
Place = tuple[int, int]


def name_of(request: Request) -> Name | None:
    """Returns the lane, the space and the name. None: it has no name."""
    key, given = request.key, dict(request.headers).get("dlb-id")
    if key is None:
        return None
    if given is not None:
        return request.partition, "id", given
    return (request.partition, "key", key) if 1 <= len(key) <= NAME_MAX else None


def op_of(headers: list[Header]) -> bytes:
    return dict(headers).get("dlb-op") or b"schedule"


def voids(request: Request) -> bool:
    """Returns whether the request is a cancel or a replace that voids others."""
    op = op_of(request.headers)
    return (op == b"cancel" and request.code is None) or \
        (op == b"replace" and (request.code is None or request.code in VOIDS_ALTHOUGH_REFUSED))


def must_be_accounted(request: Request) -> bool:
    """Returns whether the request must come out if nothing is over it. An accepted cancel has no output."""
    return request.code is not None or op_of(request.headers) != b"cancel"


def source_of(seen: Seen) -> Place:
    _, lane, offset = (seen.header("dlb-source") or b"/-1/-1").decode().rsplit("/", 2)
    return int(lane), int(offset)


def face(key: bytes | None, value: bytes | None, headers: list[Header]) -> tuple:
    return key, value, tuple(headers)


@dataclass(frozen=True)
class Over:
    """A cancel or a replace on the log of the schedule topic."""
    offset: int
    sent_ms: int
    acked_ms: float | None  # None: its producer got no acknowledgement of this copy


def place_unplaced(journal: list[Request], unplaced: list[Request], log: list[Seen]) -> list[Request]:
    """Gives requests that were acknowledged without an offset their place in the log. Returns those that are not in it."""
    taken = {(r.partition, r.offset) for r in journal}
    places: dict[tuple, list[Place]] = defaultdict(list)
    for seen in log:
        if (seen.partition, seen.offset) not in taken:
            places[face(seen.key, seen.value, seen.headers)].append((seen.partition, seen.offset))
    lost = []
    for request in unplaced:
        found = places[face(request.key, request.value, request.headers)]
        if not found:
            lost.append(request)
            continue
        request.partition, request.offset = found.pop(0)
        journal.append(request)
    return lost


@dataclass
class Verdict:
    """The requests of the journal, sorted."""
    to_verify: list[Request] = field(default_factory=list)  # They came out, or had to.
    wrongly: list[str] = field(default_factory=list)  # Each came out although a cancel had won.
    by_time: list[str] = field(default_factory=list)  # The same, but only the time proves it.
    dropped: list[Request] = field(default_factory=list)  # Cancelled, and they did not come out.
    came_first: int = 0  # Cancelled, but they came out.
    cancels: int = 0
    replaces: int = 0
    proofs: int = 0  # Deliveries of these whose process is known.

    def line(self) -> str:
        return (f"cancels={self.cancels} replaces={self.replaces} cancelled={len(self.dropped)} "
                f"came_first={self.came_first} judged_by_evidence={self.proofs}")


class Traffic:
    """The acknowledged forwards of each process, by lane. skewed: processes whose clocks are not the one of this machine."""

    def __init__(self, evidence: Evidence, ends: list[Seen], hops: list[tuple[Seen, Place]], skewed: tuple[str, ...]):
        self.evidence, self.skewed = evidence, skewed
        evidence.sort()
        self.forwards: dict[tuple[str, int], tuple[list[float], list[int]]] = {}
        each: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
        for seen, (lane, offset) in itertools.chain(((s, source_of(s)) for s in ends), hops):
            if write := self.write_of(seen):
                each[write.line.process, lane].append((write.told_ms, offset))
        for where, told in each.items():
            told.sort()
            self.forwards[where] = ([at for at, _ in told], list(itertools.accumulate((offset for _, offset in told), max)))

    def write_of(self, seen: Seen) -> Write | None:
        return self.evidence.write_of((seen.topic, seen.partition, seen.offset))

    def read_until(self, process: str, lane: int, stamp_ms: int) -> int:
        """Returns the largest offset of the lane whose forward was acknowledged to the process before this stamp, or -1."""
        times, most = self.forwards.get((process, lane), ([], []))
        before = bisect.bisect_left(times, stamp_ms)
        return most[before - 1] if before else -1

    def taken_ms(self, process: str, lane: int, stamp_ms: int | None) -> float | None:
        """Returns when the process got the lane for this delivery: the last time that it joined before the stamp. None as
        stamp: its first time. It may read its offsets again without a join, and then it restores nothing."""
        at, owner = None, None
        for take in self.evidence.takes[lane]:
            if take.owner[0] == process and take.owner != owner and (stamp_ms is None or take.told_ms <= stamp_ms):
                at = take.asked_ms
                if stamp_ms is None:
                    return at
            owner = take.owner
        return at

    def proof(self, seen: Seen, lane: int, over: list[Over]) -> tuple[bool, str | None]:
        """Returns whether the evidence knows the process of this delivery, and why a cancel had won, or None."""
        write = self.write_of(seen)
        if write is None:
            return False, None
        process = write.line.process
        known = process.rsplit(".", 1)[0] not in self.skewed
        taken = self.taken_ms(process, lane, seen.timestamp_ms if known else None)
        read = self.read_until(process, lane, seen.timestamp_ms) if known else -1
        for one in over:
            if one.acked_ms is not None and taken is not None and one.acked_ms < taken:
                return True, f"{process} got the lane {taken - one.acked_ms:.0f} ms after the cancel {one.offset} was acknowledged"
            if one.offset <= read:
                return True, f"{process} had forwarded {lane}/{read}, which is not before the cancel {one.offset}"
        return True, None


class Judge:
    def __init__(self, journal: list[Request], log: list[Seen], unsure: list[Request] = (), withheld: tuple[str, ...] = ()):
        """log: the records of the schedule topic. Its cancels count even if their producer got no acknowledgement. withheld:
        targets that operators pause or limit, whose records are late without a fault."""
        self.journal, self.withheld = journal, withheld
        sent = [r for r in (*journal, *unsure) if voids(r)]
        acked = {(r.partition, r.offset): r.acked_at * 1000 for r in sent if r.acked_at}
        by_face = {face(r.key, r.value, r.headers): r for r in sent}
        self.over: dict[Name, list[Over]] = defaultdict(list)
        placed = {(r.partition, r.offset): r for r in sent if r.offset >= 0}
        for seen in log:
            if (seen.partition, seen.offset) not in placed and (r := by_face.get(face(seen.key, seen.value, seen.headers))):
                placed[seen.partition, seen.offset] = r
        for (lane, offset), request in placed.items():
            if name := name_of(request):
                self.over[lane, name[1], name[2]].append(Over(offset, request.sent_ms, acked.get((lane, offset))))

    def over_it(self, request: Request) -> list[Over]:
        name = name_of(request)
        if name is None or (request.code is not None and not request.waited):
            return []  # a request that is refused when it is read is a dead letter in any case
        return [one for one in self.over.get(name, []) if one.offset > request.offset]

    def must_come(self) -> list[Request]:
        return [r for r in self.journal if must_be_accounted(r) and not self.over_it(r)]

    def lateness(self, ends: dict[Place, list[Seen]], withheld: bool) -> int:
        """Returns the largest lateness of requests that nothing is over, for withheld targets or for the others."""
        return max((int(seen.received_ms) - request.earliest for request in self.must_come()
                    if (request.target in self.withheld) == withheld
                    for seen in ends.get((request.partition, request.offset), [])), default=0)

    def judge(self, ends: list[Seen], traffic: Traffic | None = None, wins_ms: int | None = None) -> Verdict:
        """wins_ms: a cancel has won if it was acknowledged so long before the due time. None: the time proves nothing."""
        found, by_source = Verdict(), defaultdict(list)
        for seen in ends:
            by_source[source_of(seen)].append(seen)
        late_ms = [self.lateness(by_source, withheld) + LATE_MS for withheld in (False, True)]
        for request in self.journal:
            found.cancels += voids(request) and op_of(request.headers) == b"cancel"
            found.replaces += voids(request) and op_of(request.headers) == b"replace"
            if not must_be_accounted(request):
                continue
            over, came = self.over_it(request), by_source.get((request.partition, request.offset), [])
            found.came_first += bool(over and came)
            if came or not over or all(
                    request.earliest + late_ms[request.target in self.withheld] < one.sent_ms for one in over):
                found.to_verify.append(request)
            else:
                found.dropped.append(request)
            if over and came:
                self.judge_came(found, request, over, came, traffic, wins_ms)
        return found

    @staticmethod
    def judge_came(found: Verdict, request: Request, over: list[Over], came: list[Seen], traffic: Traffic | None,
                   wins_ms: int | None) -> None:
        where = f"{request.partition}/{request.offset} ({request.kind}, due {request.due})"
        for seen in came:
            known, why = traffic.proof(seen, request.partition, over) if traffic else (False, None)
            found.proofs += known
            if why:
                found.wrongly.append(f"{where} came out: {why}")
                return
        early = [one for one in over if one.acked_ms is not None and wins_ms is not None and
                 one.acked_ms + wins_ms < request.due]
        if early:
            found.by_time.append(f"{where} came out: the cancel {early[0].offset} was acknowledged "
                                 f"{request.due - early[0].acked_ms:.0f} ms before the due time")
