# SPDX-License-Identifier: Apache-2.0
"""Recognizes doubles that brokers make, by the markers in the logs. A transaction coordinator may lose its leadership while
only its own log has the decision to commit. If it still writes its COMMIT markers, the next coordinator does not know of
the decision and aborts the same transaction. So the bridge sees an abort and forwards the records again, but consumers
see both copies. The log then has a COMMIT marker, and behind it an ABORT marker of a later coordinator epoch for the
same transaction. Pure, except for read_log."""
from __future__ import annotations

import bisect
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from contract import Seen
from doubles import Record, origin

# Head of a batch: base offset, length, leader epoch, magic, checksum, attributes, last offset, times, producer, its epoch,
# base sequence, number of records.
HEAD = struct.Struct(">qiibIhiqqqhii")
LENGTH_FROM = 12     # the length counts from here
CONTROL = 0x20       # bit of the attributes: a marker
ABORT, COMMIT = 0, 1


@dataclass(frozen=True)
class Batch:
    """A batch of a log. A marker has its kind and the epoch of the coordinator that wrote it."""
    base: int
    last: int
    producer: int
    epoch: int
    kind: int | None = None
    coordinator: int = -1


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Reads a zigzag varint. Returns it and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def marker(data: bytes, at: int) -> tuple[int, int]:
    """Reads the record of a marker. Returns its kind and its coordinator epoch."""
    _, at = varint(data, at)      # length
    at += 1                       # attributes
    for _ in range(2):            # time, offset
        _, at = varint(data, at)
    size, at = varint(data, at)
    _, kind = struct.unpack_from(">hh", data, at)
    _, at = varint(data, at + size)
    return kind, struct.unpack_from(">hi", data, at)[1]


def batches(data: bytes) -> Iterable[Batch]:
    """Reads the batches of a segment, until its end or an incomplete batch."""
    at = 0
    while at + HEAD.size <= len(data):
        base, length, _, magic, _, attributes, last, _, _, producer, epoch, _, _ = HEAD.unpack_from(data, at)
        end = at + LENGTH_FROM + length
        if magic != 2 or end > len(data):
            return
        kind, coordinator = marker(data, at + HEAD.size) if attributes & CONTROL else (None, -1)
        yield Batch(base, base + last, producer, epoch, kind, coordinator)
        at = end


def read_log(folder: Path) -> list[Batch]:
    """Reads all segments of a partition."""
    return [batch for segment in sorted(folder.glob("*.log")) for batch in batches(segment.read_bytes())]


def was_decided_twice(log: list[Batch], offset: int) -> bool:
    """Returns whether the transaction of the record at this offset has a COMMIT marker, and behind it an ABORT marker of a
    later coordinator. A coordinator that aborts for its own reasons raises the producer's epoch by one."""
    n = bisect.bisect_left(log, offset, key=lambda batch: batch.last)
    if n == len(log) or log[n].base > offset or log[n].kind is not None:
        return False
    record = log[n]
    behind = [b for b in log[n + 1:] if b.producer == record.producer and record.epoch <= b.epoch <= record.epoch + 1]
    while behind and behind[0].kind is None and behind[0].epoch == record.epoch:  # other batches of the transaction
        behind.pop(0)
    return (len(behind) >= 2 and (behind[0].kind, behind[1].kind) == (COMMIT, ABORT) and
            behind[0].epoch == record.epoch and behind[0].coordinator < behind[1].coordinator)


def decides_twice(log: list[Batch]) -> bool:
    """Returns whether a transaction of this log was decided twice. If it is the log of offsets, other partitions of the
    transaction may have the abort alone. Their records are lost, since the offsets are committed."""
    return any(was_decided_twice(log, batch.last) for batch in log if batch.kind is None and batch.producer >= 0)


def doubled_by_brokers(ends: list[Seen], hops: list[Seen], schedule: str, decided_twice: Callable[[Record], bool]) -> set[bytes]:
    """Returns the sources whose additional copies all come from transactions that were decided twice. ends: deliveries and
    dead letters. hops: records of the levels."""
    copies: Counter[bytes | None] = Counter(end.header("dlb-source") for end in ends)
    forwards: dict[bytes, list[Record]] = defaultdict(list)
    for end in ends:
        if copies[source := end.header("dlb-source")] > 1 and source is not None:
            forwards[source].append((end.topic, end.partition, end.offset))
    for hop in hops if forwards else []:
        if (source := origin(hop, schedule)) in forwards:
            forwards[source].append((hop.topic, hop.partition, hop.offset))
    return {source for source, each in forwards.items() if sum(map(decided_twice, each)) >= copies[source] - 1}
