# SPDX-License-Identifier: Apache-2.0
"""What at least once may deliver twice: after a crash or a lost lane what was in flight, and what was forwarded since the
last commit that was answered. Each that came twice is judged by itself. Pure, as the verifier is.

A fault of a broker lasts, and most is forwarded at its end; so what a commit after it shows to be known is not excused."""
from __future__ import annotations

import bisect
import math
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from contract import Seen

COMMIT_MS = 5000  # a commit that is not answered for so long is not waited for
UNSURE_MS = 4000  # in flight for longer: the bridge may have given it up and written it anew
REPORT_MS = 600   # more than a report of what is stored takes to the bridge, on a busy machine
FLIGHT_MS = 1000  # longer than a record is on its way to the log, but beside faults of brokers
Span = tuple[float, float]


@dataclass(frozen=True)
class Trouble:
    """What was forwarded from shortly before its start until its end may be unknown to every commit."""
    kind: str
    start: float
    end: float
    mute: bool = False  # reports of what was stored are held as well: no commit shows anything


@dataclass
class Commit:
    """Progress that a member asked to have kept: on these lanes, whatever the topics."""
    owner: tuple[str, int]  # the member, in its generation
    lanes: frozenset[int]
    sent_ms: float
    kept: bool = False      # the broker has said yes to all of it
    answered_ms: float = math.inf


@dataclass(frozen=True)
class Forward:
    """One record that the bridge wrote, to a level or to its end: from when until when it was in flight. Several
    spans: nobody knows which clock stamped it, and the last is the likeliest."""
    lane: int
    spans: tuple[Span, ...]

    @property
    def at(self) -> float:
        return self.spans[-1][0]

    @property
    def here(self) -> float:
        return self.spans[-1][1]


@dataclass
class Doubles:
    excused: Counter[str] = field(default_factory=Counter)
    unexplained: dict[bytes, list[Forward]] = field(default_factory=dict)
    leads_ms: list[float] = field(default_factory=list)  # how long before its trouble an excused one was written
    forwards: int = 0
    about: int = 0  # forwards that could excuse

    def line(self) -> str:
        kinds = " ".join(f"{kind.replace(' ', '_')}={n}" for kind, n in sorted(self.excused.items()))
        lead = f" longest_before={max(self.leads_ms):.0f}ms" if self.leads_ms else ""
        return (f"twice excused by: {kinds or 'nothing'}{lead} excusable={self.about / max(1, self.forwards):.1%} of "
                f"{self.forwards} forwards unexplained={len(self.unexplained)}")

    def examples(self, troubles: list[Trouble], count: int = 3) -> str:
        """Some unexplained ones: when they were forwarded, after the start of the trouble before."""
        lines = []
        for source, forwards in list(self.unexplained.items())[:count]:
            about = [max((t for t in troubles if t.start <= f.at), key=lambda t: t.start, default=None) for f in forwards]
            lines.append(f"\n    {source.decode()} was forwarded " + ", ".join(
                f"{f.at:.0f} ({f'{f.at - t.start:.0f} ms after {t.kind}' if t else 'before all'})"
                for f, t in zip(forwards, about)))
        return "".join(lines)


def forwards_of(ends: list[Seen], hops: list[Seen], schedule: str,
                moments=lambda stamp_ms, here_ms: [float(stamp_ms)]) -> dict[bytes, list[Forward]]:
    """By the request's dlb-source. moments: when a record with such a stamp, here at such a time, may have been made."""
    found: dict[bytes, list[Forward]] = defaultdict(list)
    for source, seen in [(s.header("dlb-source"), s) for s in ends] + [(origin(s, schedule), s) for s in hops]:
        *others, likely = moments(seen.timestamp_ms, seen.received_ms)
        lane = int(source.rsplit(b"/", 2)[1])
        found[source].append(Forward(lane, (*((at, at + FLIGHT_MS) for at in others), (likely, max(likely, seen.received_ms)))))
    return found


def origin(hop: Seen, schedule: str) -> bytes:
    """Of which request this waits: its envelope has the lane at 56, the offset at 48."""
    offset, lane = struct.unpack_from("<qI", hop.value, 48)
    return f"{schedule}/{lane}/{offset}".encode()


class Known:
    """What commits show to be known: whoever had the lane when the record was written committed it again, well after
    the record was in the log."""

    def __init__(self, commits: list[Commit]):
        self.by_lane: dict[int, list[Commit]] = defaultdict(list)
        self.by_owner: dict[tuple[str, int], list[Commit]] = defaultdict(list)
        for commit in sorted(commits, key=lambda c: c.sent_ms):
            self.by_owner[commit.owner].append(commit)
            for lane in commit.lanes:
                self.by_lane[lane].append(commit)

    @staticmethod
    def last(commits: list[Commit], until: float) -> Commit | None:
        after = bisect.bisect_right(commits, until, key=lambda c: c.sent_ms)
        return commits[after - 1] if after else None

    def answered(self, forward: Forward, lead_ms: float) -> float:
        """When its own commit could be sent, since the one before was answered; 0: nobody knows."""
        owned = self.last(self.by_lane[forward.lane], forward.at)
        before = owned and self.last(self.by_owner[owned.owner], forward.here + lead_ms)
        return min(before.answered_ms, before.sent_ms + COMMIT_MS) if before else 0

    def has(self, forward: Forward) -> bool:
        flight = forward.here - forward.at
        commits = self.by_lane[forward.lane]
        before = self.last(commits, forward.at)
        if flight > UNSURE_MS or before is None:
            return False
        after = bisect.bisect_left(commits, forward.here + flight + REPORT_MS, key=lambda c: c.sent_ms)
        while after < len(commits) and not commits[after].kept:
            after += 1
        return after < len(commits) and before.owner == commits[after].owner


class Excuses:
    """The spans about troubles, and which of them excuses a forward."""

    def __init__(self, troubles: list[Trouble], lead_ms: float, commits: list[Commit]):
        self.lead_ms, self.known = lead_ms, Known(commits)
        self.by_second: dict[int, list[Trouble]] = defaultdict(list)
        for trouble in troubles:
            for second in seconds(trouble.start - lead_ms, trouble.end):
                self.by_second[second].append(trouble)

    def first(self, forward: Forward) -> tuple[Trouble, float] | None:
        """The narrowest that excuses it, rather one in which it was written than one in which it was in flight, or its
        commit, which takes as long as itself; and how long before its start the one or other had come to an end."""
        answered = self.known.answered(forward, self.lead_ms)
        open_spans = [(since, max(answered, until + min(until - since, UNSURE_MS))) for since, until in forward.spans]
        near = {t for span in open_spans for second in seconds(*span) for t in self.by_second.get(second, ())}
        about: list[tuple[Trouble, float]] = []
        for spans in ([(since, since) for since, _ in open_spans], open_spans):
            about += [(t, max(0.0, t.start - until)) for t in sorted(near, key=lambda t: t.end - t.start)
                      for since, until in spans if since <= t.end and until >= t.start - self.lead_ms]
        known = bool(about) and self.known.has(forward)
        return next(((t, lead) for t, lead in about
                     if not known or t.mute or forward.at <= t.start + self.lead_ms), None)


def seconds(start: float, end: float) -> range:
    return range(int(start // 1000), int(end // 1000) + 1)


def judge_doubles(ends: list[Seen], forwards: dict[bytes, list[Forward]], troubles: list[Trouble],
                  lead_ms: float, commits: Iterable[Commit] = ()) -> Doubles:
    """Each copy too many is a record that was forwarded again, so there was a first forward, to a level or to the
    end, about a trouble; the last forward of all is no first one."""
    result, excuses = Doubles(), Excuses(troubles, lead_ms, list(commits))
    result.forwards = sum(map(len, forwards.values()))
    result.about = sum(excuses.first(f) is not None for each in forwards.values() for f in each)
    for source, copies in Counter(s.header("dlb-source") for s in ends).items():
        if copies == 1:
            continue
        each = sorted(forwards[source], key=lambda f: f.at)
        found = sorted((e for e in map(excuses.first, each[:-1]) if e), key=lambda e: e[0].end - e[0].start)
        for trouble, lead in found[:copies - 1]:
            result.excused[trouble.kind] += 1
            result.leads_ms.append(lead)
        if len(found) < copies - 1:
            result.unexplained[source] = each
    return result
