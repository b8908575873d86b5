# SPDX-License-Identifier: Apache-2.0
"""Tests of the decoder of Kafka's protocol, with requests and answers as librdkafka 2.0.2 and newer ones exchange them.
Run by selftest.py."""
from __future__ import annotations

import struct
import unittest

import protocol
from protocol import committed_of, progress_of, says_member, says_yes, stored_of, written_of

METADATA = "1 41 0dd3f1a0 CgE"
TAGGED = b"\x01\x00\x02\x07\x07"  # one tagged field of two bytes


class Form:
    """Writes primitive types, compact ones for flexible versions."""

    def __init__(self, flexible: bool):
        self.flexible = flexible
        self.tags = TAGGED if flexible else b""

    def length(self, form: str, count: int) -> bytes:
        """Returns a length. A compact one has seven bits in each byte, the low ones first."""
        if not self.flexible:
            return struct.pack(">" + form, count)
        return bytes([count + 1]) if count + 1 < 128 else bytes([(count + 1) & 127 | 128, count + 1 >> 7])

    def text(self, word: str | None) -> bytes:
        return self.length("h", -1) if word is None else self.length("h", len(word)) + word.encode()

    def array(self, *items: bytes) -> bytes:
        return self.length("i", len(items)) + b"".join(item + self.tags for item in items)

    def request(self, body: bytes) -> bytes:
        return struct.pack(">ihhih", 0, 0, 0, 1, 1) + b"a" + self.tags + body + self.tags

    def stored(self, version: int, partition: int, error: int, offset: int) -> bytes:
        """Returns a partition in the answer to a Produce."""
        start = struct.pack(">q", 0) if version >= 5 else b""
        faults = self.array(*([struct.pack(">i", 0) + self.text("bad")] if error else []))
        said = faults + self.text("refused" if error else None) if version >= 8 else b""
        return struct.pack(">ihqq", partition, error, offset, -1) + start + said

    def answer(self, body: bytes) -> bytes:
        return struct.pack(">ii", 0, 1) + self.tags + body + self.tags


def of_versions(api: str, versions: range) -> list[tuple[int, Form]]:
    flexible = {"Produce": 9, "OffsetCommit": 8, "OffsetFetch": 6}[api]
    return [(version, Form(version >= flexible)) for version in versions]


class Decoded(unittest.TestCase):
    def test_newest_versions_of_the_client_are_decoded(self):
        for versions, newest in ((protocol.PRODUCES, 10), (protocol.COMMITS, 9), (protocol.FETCHES, 9), (protocol.MEMBERS, 3)):
            self.assertEqual(max(versions), newest)

    def test_records_are_counted_in_a_produce(self):
        batch = bytes(57) + struct.pack(">i", 12) + bytes(100)
        for version, form in of_versions("Produce", protocol.PRODUCES):
            partition = struct.pack(">i", 3) + form.length("i", len(batch)) + batch
            topic = form.text("schedule.1s") + form.array(partition)
            for transaction in (None, "bridge-1"):
                frame = form.request(form.text(transaction) + struct.pack(">hi", -1, 500) + form.array(topic))
                self.assertEqual(written_of(frame, version), {("schedule.1s", 3): 12}, version)

    def test_offsets_are_read_from_the_answer_to_a_produce(self):
        for version, form in of_versions("Produce", protocol.PRODUCES):
            topic = form.text("e2e.a") + form.array(*(form.stored(version, *each) for each in ((3, 0, 41), (4, 87, -1), (5, 0, 70))))
            frame = form.answer(form.array(topic) + struct.pack(">i", 0))
            self.assertEqual(stored_of(frame, version), {("e2e.a", 3): 41, ("e2e.a", 5): 70}, version)

    def test_progress_is_read_from_a_commit(self):
        for version, form in of_versions("OffsetCommit", protocol.COMMITS):
            epoch = struct.pack(">i", -1) if version >= 6 else b""
            head = form.text("group") + struct.pack(">i", 4) + form.text("member")
            head += form.text("own") if version >= 7 else b""
            head += struct.pack(">q", -1) if version <= 4 else b""
            partitions = form.array(struct.pack(">iq", 3, 41) + epoch + form.text(METADATA),
                                    struct.pack(">iq", 5, 7) + epoch + form.text(None))
            frame = form.request(head + form.array(form.text("s.1s") + partitions))
            self.assertEqual(progress_of(frame, version), {("s.1s", 3): (41, METADATA), ("s.1s", 5): (7, "")}, version)

    def test_answers_that_accept_a_commit(self):
        for version, form in of_versions("OffsetCommit", protocol.COMMITS):
            for error in (0, 25):
                partitions = form.array(struct.pack(">ih", 3, 0), struct.pack(">ih", 5, error))
                frame = form.answer(struct.pack(">i", 0) + form.array(form.text("s.1s") + partitions))
                self.assertEqual(says_yes(frame, version), error == 0, (version, error))

    def test_answers_that_confirm_a_member(self):
        for version, error, known in ((3, 0, True), (0, 0, True), (3, 27, True), (3, 16, False), (0, 25, False)):
            frame = struct.pack(">ii", 10, 1) + (bytes(4) if version else b"") + struct.pack(">h", error)
            self.assertEqual(says_member(frame, version), known, (version, error))

    def test_committed_offsets_are_read(self):
        for version, form in of_versions("OffsetFetch", protocol.FETCHES):
            for error, refused in ((0, 0), (14, 0), (0, 3)):
                partitions = form.array(struct.pack(">iqi", 3, 41, -1) + form.text(METADATA) + struct.pack(">h", refused),
                                        struct.pack(">iqi", 5, -1, -1) + form.text(None) + struct.pack(">h", 0))
                group = form.array(form.text("s.1s") + partitions) + struct.pack(">h", error)
                body = form.array(form.text("group") + group) if version >= 8 else group
                states = {} if error or refused else {("s.1s", 3): (41, METADATA), ("s.1s", 5): (-1, "")}
                self.assertEqual(committed_of(form.answer(struct.pack(">i", 0) + body), version), states, version)
