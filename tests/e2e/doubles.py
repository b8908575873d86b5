# SPDX-License-Identifier: Apache-2.0
"""Judges duplicates. At-least-once allows a second delivery in three cases:

- Kafka never acknowledged the first forward to the bridge.
- The forward was acknowledged, but not yet committed when another process got the lane.
- The forward was in flight when the process lost the lane.

Each duplicate is judged alone, by the traffic between the bridges and Kafka that the proxy saw (Evidence). A fault that
the test has injected is no excuse. Pure, like the verifier."""
from __future__ import annotations

import base64
import bisect
import math
import struct
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from contract import Seen
from protocol import Place

COMMITTED_MS = 100  # Interval of commits.
COMMIT_MS = 700  # Facts known this long before the answer to a commit are in the next commit.
IDLE_MS = 1500   # Longest time without a commit, also on a busy machine.
SIGN_MS = 200    # A member sends a heartbeat each 100 ms.
NEXT_MS = 200    # Longest time from the answer to a commit to the next commit.
IN_FLIGHT = 5    # Requests of an idempotent producer to one partition.
Owner = tuple[str, int]  # A process, and its number of requests to join the group.
Record = tuple[str, int, int]  # topic, partition, offset
Progress = dict[Place, tuple[int, str]]


def knows(progress: Progress, record: Record) -> bool:
    topic, partition, offset = record
    base, text = progress.get((topic, partition), (-1, ""))
    return offset < base or offset - base in done_above(text)


@dataclass
class Commit:
    """A commit request of a member."""
    sent_ms: float
    progress: Progress = field(default_factory=dict)
    first_ms: float = 0            # first request with this progress; a client repeats requests
    kept_ms: float = math.inf      # when the broker accepted all of it
    told_ms: float = math.inf      # when the member got the answer, good or bad

    @property
    def kept(self) -> bool:
        return self.kept_ms < math.inf

    def covers(self, record: Record) -> bool:
        return knows(self.progress, record)

    def speaks_of(self, record: Record) -> bool:
        return record[:2] in self.progress


@dataclass
class Line:
    """A connection of a bridge."""
    process: str = ""
    alive_ms: float = 0           # its last request was sent at this time or later
    left_ms: float = math.inf     # when the bridge closed it, or died


@dataclass(frozen=True)
class Write:
    """Records in a log. The bridge learned of them between asked_ms and told_ms."""
    asked_ms: float
    told_ms: float
    line: Line


@dataclass(frozen=True)
class Take:
    """A process got lanes, and the committed offsets."""
    owner: Owner
    asked_ms: float
    told_ms: float
    states: Progress

    def knows(self, record: Record) -> bool:
        return knows(self.states, record)


def done_above(text: str) -> frozenset[int]:
    """Returns the done offsets, relative to the base, of progress as the bridge writes it:
    "1 BASE CHECKSUM BITMAP"."""
    words = text.split(" ")
    if len(words) < 4:
        return frozenset()
    bitmap = base64.b64decode(words[3] + "=" * (-len(words[3]) % 4))
    return frozenset(i for i in range(8 * len(bitmap)) if bitmap[i // 8] >> i % 8 & 1)


class Evidence:
    """The requests of the bridges and the answers of Kafka. All times are milliseconds of one clock."""

    def __init__(self) -> None:
        self.commits: dict[Owner, list[Commit]] = defaultdict(list)
        self.signs: dict[Owner, list[float]] = defaultdict(list)  # sending times of requests that confirmed a membership
        self.lives: dict[str, list[float]] = defaultdict(list)    # signs of life of a process
        self.takes: dict[int, list[Take]] = defaultdict(list)     # by lane
        self.writes: dict[Place, list[tuple[int, int, Write]]] = defaultdict(list)  # first offset, count

    def commit(self, owner: Owner, at: float, progress: Progress) -> Commit:
        again = (c.first_ms for c in reversed(self.commits[owner])
                 if c.progress == progress and not (c.kept and c.told_ms <= at))  # otherwise the bridge sent it again, not the client
        first = next(again, at)
        self.commits[owner].append(Commit(at, progress, first))
        return self.commits[owner][-1]

    def sign(self, owner: Owner, at: float) -> None:
        self.signs[owner].append(at)

    def live(self, process: str, at: float) -> None:
        self.lives[process].append(at)

    def take(self, take: Take) -> None:
        for lane in {partition for _, partition in take.states}:
            self.takes[lane].append(take)

    def write(self, place: Place, offset: int, count: int, write: Write) -> None:
        bisect.insort(self.writes[place], (offset, count, write), key=lambda w: w[0])

    def sort(self) -> None:
        for times in (*self.signs.values(), *self.lives.values()):
            times.sort()
        for takes in self.takes.values():
            takes.sort(key=lambda t: t.told_ms)

    def write_of(self, record: Record) -> Write | None:
        """Returns the acknowledged write of a record, or None."""
        topic, partition, offset = record
        writes = self.writes[topic, partition]
        at = bisect.bisect_right(writes, offset, key=lambda w: w[0]) - 1
        return writes[at][2] if at >= 0 and offset < writes[at][0] + writes[at][1] else None

    def writer(self, seen: Seen) -> str | None:
        """Returns the process that wrote the record, without the number of its start. None: the write was not acknowledged."""
        write = self.write_of((seen.topic, seen.partition, seen.offset))
        return write.line.process.rsplit(".", 1)[0] if write else None

    def was_stalled(self, process: str, since: float, until: float) -> bool:
        """Returns whether the process gave no sign of life in that time."""
        lives = self.lives[process]
        after = bisect.bisect_left(lives, since)
        return after == len(lives) or lives[after] >= until

    def heard(self, write: Write) -> bool:
        """Returns whether the process read the answer. A stalled process gives up when it resumes, and does not read it."""
        line = write.line
        return (line.left_ms == math.inf or line.alive_ms > write.told_ms or
                not self.was_stalled(line.process, write.told_ms + SIGN_MS, line.left_ms))

    def waited(self, record: Record, write: Write, since: float) -> bool:
        """Returns whether the client had the record at that time. It still sends the requests in flight to the
        partition, if necessary again, and the records that wait behind them in the next request."""
        topic, partition, _ = record
        answered = [w for _, _, w in self.writes[topic, partition]
                    if w.line.process == write.line.process and since < w.asked_ms and w.told_ms <= write.asked_ms]
        return len(answered) <= IN_FLIGHT

    def last_take(self, lane: int, at: float) -> Take | None:
        before = bisect.bisect_right(self.takes[lane], at, key=lambda t: t.told_ms)
        return self.takes[lane][before - 1] if before else None

    def absence(self, lane: int, last: Take) -> Take | None:
        """Returns the latest take by another process, if the process of the last take had the lane before that too."""
        owner, before = last.owner[0], self.takes[lane][:self.takes[lane].index(last)]
        others = [n for n, take in enumerate(before) if take.owner[0] != owner]
        return before[others[-1]] if others and any(t.owner[0] == owner for t in before[:others[-1]]) else None

    def next_take(self, lane: int, at: float) -> Take | None:
        after = bisect.bisect_right(self.takes[lane], at, key=lambda t: t.told_ms)
        return self.takes[lane][after] if after < len(self.takes[lane]) else None

    def chances(self, owner: Owner, record: Record, since: float, until: float, count: int = 4) -> str:
        """Describes the input of could_commit, with times relative to since."""
        def told(c: Commit) -> str:
            again = f", first {c.first_ms - since:.0f}" if c.first_ms < c.sent_ms else ""
            what = "covers it" if c.covers(record) else "does not" if c.speaks_of(record) else "of others"
            return f"{c.sent_ms - since:.0f} to {c.told_ms - since:.0f}{again}: {what}, {'kept' if c.kept else 'not kept'}"

        each = [told(c) for c in self.commits[owner] if since <= c.told_ms and c.sent_ms < until]
        shown = each if len(each) <= 2 * count else each[:count] + ["..."] + each[-count:]
        signs = [sign - since for sign in self.signs[owner] if since <= sign < until]
        seen = f"{len(signs)} signs of life from {signs[0]:.0f} to {signs[-1]:.0f}" if signs else "no sign of life"
        return f"{len(each)} commits ({'; '.join(shown)}) and {seen} in {until - since:.0f} ms"

    def could_commit(self, owner: Owner, record: Record, known: float, until: float) -> bool:
        """Returns whether the owner had a chance to commit the record between known and until. It had one in these cases:

        - It committed the record, or another commit that it composed after it knew of the record.
        - Long after known, two signs of life followed each other without a commit in flight, just answered, or sent
          between them. A member that finds its coordinator again first sends a heartbeat, then a commit.

        A commit that was composed before the owner knew of the record is no chance, even if the client sends it later
        or again. Such a commit may also replace a newer one, and the record is then not committed any more."""
        kept = [c for c in self.commits[owner] if c.kept and c.sent_ms < until]
        since = self.composed_after(owner, known)
        if any(c.covers(record) for c in kept):
            last = max((c for c in kept if c.speaks_of(record)), key=lambda c: c.kept_ms)
            return last.covers(record) or since <= last.first_ms
        return any(since <= c.first_ms for c in kept) or self.was_idle(owner, known + IDLE_MS, until)

    def composed_after(self, owner: Owner, known: float) -> float:
        """Returns the time from which on commits contain a fact: the first answer to a commit that came COMMIT_MS or
        more after it was known."""
        return min((c.told_ms for c in self.commits[owner] if known + COMMIT_MS <= c.told_ms), default=math.inf)

    def was_idle(self, owner: Owner, since: float, until: float) -> bool:
        commits, signs = self.commits[owner], self.signs[owner]
        sent = [c.sent_ms for c in commits]
        lived = signs[bisect.bisect_left(signs, since):bisect.bisect_left(signs, until)]
        for sign, following in zip(lived, lived[1:]):
            last = bisect.bisect_right(sent, sign) - 1
            quiet = last < 0 or commits[last].told_ms + NEXT_MS <= sign
            if quiet and last == bisect.bisect_right(sent, following) - 1:
                return True
        return False


class Excused(NamedTuple):
    """A forward that was repeated, with an excuse."""
    kind: str
    known_ms: float  # how long the bridge had known of it
    stamp_ms: int    # when it was handed to the client


@dataclass
class Doubles:
    repeated: list[Excused] = field(default_factory=list)
    unexplained: dict[bytes, list[str]] = field(default_factory=dict)  # a description of each forward
    forwards: int = 0
    about: int = 0  # forwards that could excuse a duplicate

    @property
    def excused(self) -> Counter[str]:
        return Counter(each.kind for each in self.repeated)

    @property
    def known_ms(self) -> list[float]:
        return [each.known_ms for each in self.repeated]

    def known_beyond(self, ms: float) -> int:
        return sum(known > ms for known in self.known_ms)

    def line(self) -> str:
        kinds = " ".join(f"{kind.replace(' ', '_')}={n}" for kind, n in sorted(self.excused.items()))
        known = f" known_beyond_100ms={self.known_beyond(COMMITTED_MS)}" if self.known_ms else ""
        known += f" longest_known={max(self.known_ms):.0f}ms" if self.known_ms else ""
        return (f"duplicates: {kinds or 'none'}{known} excusable={self.about / max(1, self.forwards):.1%} of "
                f"{self.forwards} forwards unexplained={len(self.unexplained)}")

    def examples(self, count: int = 3) -> str:
        return "".join(f"\n    {source.decode()} was forwarded to " + "; to ".join(each)
                       for source, each in list(self.unexplained.items())[:count])


UNACKNOWLEDGED, UNCOMMITTED, LATE = "not acknowledged", "not committed", "sent late"


class Judge:
    def __init__(self, evidence: Evidence, stamps: dict[Record, int]):
        """stamps: when each forward was handed to the client, by the clock of its process."""
        self.evidence, self.stamps = evidence, stamps
        evidence.sort()

    def excuse(self, forward: Record, copies: list[Record], source: Record) -> tuple[str, float] | None:
        """Returns why the record may be forwarded again, and how long its process had known of the forward. None: no
        reason. copies: records of the same request on the levels."""
        evidence, lane, write = self.evidence, source[1], self.evidence.write_of(forward)
        if write is None or not evidence.heard(write):
            return UNACKNOWLEDGED, 0
        process, last = write.line.process, evidence.last_take(lane, write.asked_ms)
        if last is None:
            return None
        if last.owner[0] != process:
            return (LATE, 0) if evidence.waited(forward, write, last.told_ms) else None
        absence = evidence.absence(lane, last)  # the process may also have the lane again when it sends the record
        if absence and self.stamps[forward] < absence.asked_ms and evidence.waited(forward, write, absence.told_ms):
            return LATE, 0
        take = evidence.next_take(lane, write.asked_ms)
        unknown = [c for c in self.origins(forward, [source] + copies, write) if take and not take.knows(c)]
        if all(evidence.could_commit(last.owner, c, write.told_ms, take.asked_ms) for c in unknown):
            return None
        signs = evidence.signs[last.owner]
        alive = bisect.bisect_left(signs, take.asked_ms)
        return UNCOMMITTED, max(0.0, signs[alive - 1] - write.told_ms) if alive else 0.0

    def origins(self, forward: Record, copies: list[Record], write: Write) -> list[Record]:
        """Returns the records that the forward may have come from."""
        return [c for c in copies if c != forward and self.before(c, write)]

    def before(self, record: Record, write: Write) -> bool:
        other = self.evidence.write_of(record)
        return other is None or other.asked_ms < write.asked_ms

    def describe(self, forward: Record, copies: list[Record], lane: int) -> str:
        """Describes a forward. copies: records of the request on the schedule topic and the levels."""
        write = self.evidence.write_of(forward)
        if write is None:
            return f"{forward}, never acknowledged"
        line, at = write.line, write.asked_ms
        said = f"{forward} by {line.process} at {at:.0f}, acknowledged after {write.told_ms - at:.0f} ms"
        if line.left_ms < math.inf:
            said += f", its line left after {line.left_ms - at:.0f} ms"
        last, take = self.evidence.last_take(lane, at), self.evidence.next_take(lane, at)
        if last:
            said += f", lane taken {at - last.told_ms:.0f} ms before by {last.owner}"
        if take:
            said += f" and {take.told_ms - at:.0f} ms after by {take.owner}"
        for record in self.origins(forward, copies, write) if last and take else []:
            said += f"; of {record} that one " + ("knew" if take.knows(record) else "did not know: once it was known " +
                                                  self.evidence.chances(last.owner, record, write.told_ms, take.asked_ms))
        return said


def judge_doubles(ends: list[Seen], hops: list[Seen], schedule: str, evidence: Evidence) -> Doubles:
    """Judges all requests. Each duplicate is a record that was forwarded again. So an earlier forward of the request, to
    a level or to its target, must have an excuse."""
    judge = Judge(evidence, {(s.topic, s.partition, s.offset): s.timestamp_ms for s in (*ends, *hops)})
    result = Doubles()
    levels: dict[bytes, list[Record]] = defaultdict(list)
    forwards: dict[bytes, list[Record]] = defaultdict(list)
    for hop in hops:
        levels[origin(hop, schedule)].append((hop.topic, hop.partition, hop.offset))
        forwards[origin(hop, schedule)].append((hop.topic, hop.partition, hop.offset))
    copies: Counter[bytes] = Counter()
    for end in ends:
        source = end.header("dlb-source")
        copies[source] += 1
        forwards[source].append((end.topic, end.partition, end.offset))
    for source, each in forwards.items():
        _, lane, offset = source.decode().rsplit("/", 2)
        first = schedule, int(lane), int(offset)
        found = [Excused(*excuse, judge.stamps[f]) for f in each if (excuse := judge.excuse(f, levels[source], first))]
        result.forwards += len(each)
        result.about += len(found)
        result.repeated += found[:max(0, copies[source] - 1)]
        if len(found) < copies[source] - 1:
            result.unexplained[source] = [judge.describe(f, [first] + levels[source], int(lane)) for f in each]
    return result


def origin(hop: Seen, schedule: str) -> bytes:
    """Returns the dlb-source of a record on a level. Its envelope has the offset at byte 48 and the lane at byte 56."""
    offset, lane = struct.unpack_from("<qI", hop.value, 48)
    return f"{schedule}/{lane}/{offset}".encode()
