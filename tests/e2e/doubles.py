# SPDX-License-Identifier: Apache-2.0
"""What at least once may deliver twice: a record whose first forward Kafka never acknowledged to the bridge, or one
that was acknowledged and not committed yet when somebody else got its lane. Each that came twice is judged by itself, by
what went between the bridges and Kafka (Evidence, as the proxy saw it); no fault that was done is an excuse. Pure, as the
verifier is."""
from __future__ import annotations

import base64
import bisect
import math
import struct
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from contract import Seen
from protocol import Place

COMMIT_MS = 700  # progress is committed each 100 ms, on a machine that everybody is on
SIGN_MS = 200    # a member shows each 100 ms that it lives
Owner = tuple[str, int]  # a member of the group, in a generation of it
Record = tuple[str, int, int]  # topic, partition, offset


@dataclass
class Commit:
    """Progress that a member asked to have kept."""
    sent_ms: float
    kept: bool = False            # the broker has said yes to all of it
    told_ms: float = math.inf     # when the member was told so, or that it is not


@dataclass
class Line:
    """A connection of a bridge."""
    asked_ms: float = 0           # its last request
    left_ms: float = math.inf     # when the bridge let it go, or died


@dataclass(frozen=True)
class Write:
    """Records that stand in a log: from when until when the bridge did not know it."""
    asked_ms: float
    told_ms: float
    line: Line


@dataclass(frozen=True)
class Take:
    """A member got lanes, and was told what is committed."""
    owner: Owner
    asked_ms: float
    told_ms: float
    states: dict[Place, tuple[int, str]]

    def knows(self, record: Record) -> bool:
        topic, partition, offset = record
        base, text = self.states.get((topic, partition), (-1, ""))
        return offset < base or offset - base in done_above(text)


def done_above(text: str) -> frozenset[int]:
    """Of progress as the bridge writes it ("1 BASE CHECKSUM BITMAP"): which offsets are done, from base on."""
    words = text.split(" ")
    if len(words) < 4:
        return frozenset()
    bitmap = base64.b64decode(words[3] + "=" * (-len(words[3]) % 4))
    return frozenset(i for i in range(8 * len(bitmap)) if bitmap[i // 8] >> i % 8 & 1)


class Evidence:
    """What the bridges asked Kafka and were told. Times are one clock's, ms."""

    def __init__(self) -> None:
        self.commits: dict[Owner, list[Commit]] = defaultdict(list)
        self.signs: dict[Owner, list[float]] = defaultdict(list)  # when it showed that it lives
        self.takes: dict[int, list[Take]] = defaultdict(list)     # by lane
        self.writes: dict[Place, list[tuple[int, int, Write]]] = defaultdict(list)  # first offset, count

    def commit(self, owner: Owner, at: float) -> Commit:
        self.commits[owner].append(Commit(at))
        return self.commits[owner][-1]

    def sign(self, owner: Owner, at: float) -> None:
        self.signs[owner].append(at)

    def take(self, take: Take) -> None:
        for lane in {partition for _, partition in take.states}:
            self.takes[lane].append(take)

    def write(self, place: Place, offset: int, count: int, write: Write) -> None:
        self.writes[place].append((offset, count, write))

    def sort(self) -> None:
        for writes in self.writes.values():
            writes.sort(key=lambda w: w[0])
        for takes in self.takes.values():
            takes.sort(key=lambda t: t.told_ms)

    def write_of(self, record: Record) -> Write | None:
        """None: nobody was told that it is in the log."""
        topic, partition, offset = record
        writes = self.writes[topic, partition]
        at = bisect.bisect_right(writes, offset, key=lambda w: w[0]) - 1
        return writes[at][2] if at >= 0 and offset < writes[at][0] + writes[at][1] else None

    def heard(self, write: Write, owner: Owner | None) -> bool:
        """Its answer was read. A process that stood still gives up first, when it goes on, and leaves it unread."""
        if write.line.left_ms == math.inf or write.line.asked_ms > write.told_ms or owner is None:
            return True
        signs = self.signs[owner]
        after = bisect.bisect_left(signs, write.told_ms + SIGN_MS)
        return after < len(signs) and signs[after] < write.line.left_ms

    def owner(self, lane: int, at: float) -> Owner | None:
        before = bisect.bisect_right(self.takes[lane], at, key=lambda t: t.told_ms)
        return self.takes[lane][before - 1].owner if before else None

    def next_take(self, lane: int, at: float) -> Take | None:
        after = bisect.bisect_right(self.takes[lane], at, key=lambda t: t.told_ms)
        return self.takes[lane][after] if after < len(self.takes[lane]) else None

    def could_commit(self, owner: Owner, since: float, until: float) -> bool:
        """In that time it committed; or it lived, with no commit under way and none refused."""
        commits, signs = self.commits[owner], self.signs[owner]
        sent = [c.sent_ms for c in commits]
        if any(c.kept for c in commits[bisect.bisect_left(sent, since):bisect.bisect_left(sent, until)]):
            return True
        for sign in signs[bisect.bisect_left(signs, since):bisect.bisect_left(signs, until)]:
            last = bisect.bisect_right(sent, sign) - 1
            if last < 0 or (commits[last].told_ms <= sign and sent[last] < since):
                return True
        return False


@dataclass
class Doubles:
    excused: Counter[str] = field(default_factory=Counter)
    unexplained: dict[bytes, list[str]] = field(default_factory=dict)  # what is known of each forward
    known_ms: list[float] = field(default_factory=list)  # how long the bridge had known an excused one
    forwards: int = 0
    about: int = 0  # forwards that could excuse

    def line(self) -> str:
        kinds = " ".join(f"{kind.replace(' ', '_')}={n}" for kind, n in sorted(self.excused.items()))
        known = f" longest_known={max(self.known_ms):.0f}ms" if self.known_ms else ""
        return (f"twice: {kinds or 'nothing'}{known} excusable={self.about / max(1, self.forwards):.1%} of "
                f"{self.forwards} forwards unexplained={len(self.unexplained)}")

    def examples(self, count: int = 3) -> str:
        return "".join(f"\n    {source.decode()} was forwarded to " + "; to ".join(each)
                       for source, each in list(self.unexplained.items())[:count])


UNACKNOWLEDGED, UNCOMMITTED = "not acknowledged", "not committed"


class Judge:
    def __init__(self, evidence: Evidence, schedule: str):
        self.evidence, self.schedule = evidence, schedule
        evidence.sort()

    def excuse(self, forward: Record, copies: list[Record], source: Record) -> tuple[str, float] | None:
        """Why it may have been forwarded once more, and how long the bridge had known that it was. copies: the same
        request's, on the levels."""
        lane, write = source[1], self.evidence.write_of(forward)
        owner = write and self.evidence.owner(lane, write.asked_ms)
        if write is None or not self.evidence.heard(write, owner):
            return UNACKNOWLEDGED, 0
        take = self.evidence.next_take(lane, write.asked_ms)
        if take is None:
            return None
        waited = [source] + [c for c in copies if c != forward and self.before(c, write)]
        if all(take.knows(record) for record in waited):
            return None
        if owner and self.evidence.could_commit(owner, write.told_ms + COMMIT_MS, take.asked_ms):
            return None
        signs = self.evidence.signs[owner] if owner else []
        last = bisect.bisect_left(signs, take.asked_ms) - 1
        return UNCOMMITTED, max(0.0, signs[last] - write.told_ms) if last >= 0 else 0.0

    def before(self, record: Record, write: Write) -> bool:
        other = self.evidence.write_of(record)
        return other is None or other.asked_ms < write.asked_ms

    def describe(self, forward: Record, lane: int) -> str:
        write = self.evidence.write_of(forward)
        if write is None:
            return f"{forward}, never acknowledged"
        owner, take = self.evidence.owner(lane, write.asked_ms), self.evidence.next_take(lane, write.asked_ms)
        said = f"{forward} at {write.asked_ms:.0f} by {owner}, acknowledged after {write.told_ms - write.asked_ms:.0f} ms"
        said += f", line left {write.line.left_ms - write.told_ms:.0f} ms later" if write.line.left_ms < math.inf else ""
        return said + (f", lane taken after {take.asked_ms - write.asked_ms:.0f} ms by {take.owner}" if take else "")


def judge_doubles(ends: list[Seen], hops: list[Seen], schedule: str, evidence: Evidence) -> Doubles:
    """Each copy too many is a record that was forwarded again, so there was an earlier forward of it, to a level or to
    the end, that has its excuse."""
    judge, result = Judge(evidence, schedule), Doubles()
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
        excuses = [judge.excuse(f, levels[source], (schedule, int(lane), int(offset))) for f in each]
        found = [excuse for excuse in excuses if excuse]
        result.forwards += len(each)
        result.about += len(found)
        for kind, known in found[:max(0, copies[source] - 1)]:
            result.excused[kind] += 1
            result.known_ms.append(known)
        if len(found) < copies[source] - 1:
            result.unexplained[source] = [judge.describe(f, int(lane)) for f in each]
    return result


def origin(hop: Seen, schedule: str) -> bytes:
    """Of which request this waits: its envelope has the lane at 56, the offset at 48."""
    offset, lane = struct.unpack_from("<qI", hop.value, 48)
    return f"{schedule}/{lane}/{offset}".encode()
