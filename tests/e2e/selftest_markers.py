# SPDX-License-Identifier: Apache-2.0
"""Tests that a double is blamed on brokers only with evidence in the log."""
from __future__ import annotations

import struct
import unittest

from contract import Seen
from markers import ABORT, COMMIT, HEAD, LENGTH_FROM, batches, decides_twice, doubled_by_brokers, was_decided_twice

PRODUCER, EPOCH = 4000, 7
SOURCE = b"schedule/3/17"


def zigzag(value: int) -> bytes:
    value, out = value << 1, b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def batch(base: int, count: int, body: bytes, attributes: int, producer: int, epoch: int) -> bytes:
    length = HEAD.size - LENGTH_FROM + len(body)
    return HEAD.pack(base, length, 0, 2, 0, attributes, count - 1, 0, 0, producer, epoch, 0, count) + body


def data(base: int, count: int = 3, producer: int = PRODUCER, epoch: int = EPOCH) -> bytes:
    return batch(base, count, b"compressed", 0x13, producer, epoch)


def end(base: int, kind: int, coordinator: int, producer: int = PRODUCER, epoch: int = EPOCH) -> bytes:
    record = b"\0" + zigzag(0) + zigzag(0) + zigzag(4) + struct.pack(">hh", 0, kind) + zigzag(6)
    record += struct.pack(">hi", 0, coordinator) + zigzag(0)
    return batch(base, 1, zigzag(len(record)) + record, 0x30, producer, epoch)


def copy_at(offset: int, source: bytes = SOURCE) -> Seen:
    return Seen("e2e.a", 0, offset, 0, None, None, [("dlb-source", source)], 0)


class Decided(unittest.TestCase):
    """The records at 10 to 12 were forwarded, and again at 20 to 22."""

    def blamed(self, *log: bytes, ends: tuple[Seen, ...] = (copy_at(11), copy_at(21))) -> set[bytes]:
        read = list(batches(b"".join(log)))
        return doubled_by_brokers(list(ends), [], "schedule", lambda record: was_decided_twice(read, record[2]))

    def test_two_coordinators_decide_one_transaction(self):
        again = data(20), end(23, COMMIT, 6)
        self.assertEqual(self.blamed(data(10), end(13, COMMIT, 5), end(14, ABORT, 6), *again), {SOURCE})
        self.assertEqual(self.blamed(data(10), end(13, COMMIT, 5), end(14, ABORT, 6, epoch=EPOCH + 1), *again), {SOURCE})
        other = data(13, producer=1), end(16, COMMIT, 9, producer=1)
        self.assertEqual(self.blamed(data(10), *other, end(17, COMMIT, 5), end(18, ABORT, 6), *again), {SOURCE})

    def test_a_log_shows_any_transaction_that_is_decided_twice(self):
        def shows(*log: bytes) -> bool:
            return decides_twice(list(batches(b"".join(log))))
        before, other = (data(0), end(3, COMMIT, 5)), (data(4, producer=1), end(7, ABORT, 5, producer=1, epoch=EPOCH + 1))
        twice = data(10), end(13, COMMIT, 5), end(14, ABORT, 6, epoch=EPOCH + 1)
        self.assertTrue(shows(*before, *other, *twice))
        self.assertFalse(shows(*before, *other, *twice[:2]))
        self.assertFalse(shows(*before, *other, twice[0], twice[2]))

    def test_a_double_without_evidence_is_the_bridges(self):
        again = data(20), end(23, COMMIT, 6)
        self.assertFalse(self.blamed(data(10), end(13, COMMIT, 5), *again))
        self.assertFalse(self.blamed(data(10), end(13, COMMIT, 5), end(14, ABORT, 5), *again), "one coordinator")
        self.assertFalse(self.blamed(data(10), end(13, COMMIT, 5), end(14, COMMIT, 6), *again), "two commits")
        self.assertFalse(self.blamed(data(10), end(13, COMMIT, 5), end(14, ABORT, 6, producer=1), *again), "another producer")
        self.assertFalse(self.blamed(data(10), end(13, COMMIT, 5), end(14, ABORT, 6, epoch=EPOCH + 2), *again), "a later epoch")
        self.assertFalse(self.blamed(data(10), end(13, COMMIT, 5), data(14), end(17, ABORT, 6), *again), "another transaction")
        self.assertFalse(self.blamed(), "no log")

    def test_each_additional_copy_needs_evidence(self):
        ends = copy_at(11), copy_at(21), copy_at(31)
        log = data(10), end(13, COMMIT, 5), end(14, ABORT, 6), data(20), end(23, COMMIT, 6), data(30), end(33, COMMIT, 6)
        self.assertFalse(self.blamed(*log, ends=ends))
        self.assertFalse(self.blamed(*log, ends=(copy_at(11),)), "a single copy")
        self.assertFalse(self.blamed(*log, ends=(copy_at(21), copy_at(31))), "another transaction was decided twice")

    def test_an_incomplete_batch_ends_the_log(self):
        whole = data(10) + end(13, COMMIT, 5)
        self.assertEqual(len(list(batches(whole + data(14)[:-1]))), 2)
        self.assertEqual([b.kind for b in batches(whole)], [None, COMMIT])
