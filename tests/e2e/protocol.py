# SPDX-License-Identifier: Apache-2.0
"""As much of Kafka's protocol as tells what a client asked and was told, in the versions that librdkafka 2.0.2 speaks.
A request is its size, kind, version, number and the client's name; an answer its size and that number."""
from __future__ import annotations

import struct

NAMES = {0: "Produce", 1: "Fetch", 8: "OffsetCommit", 9: "OffsetFetch", 11: "JoinGroup", 12: "Heartbeat", 14: "SyncGroup",
         18: "ApiVersions", 22: "InitProducerId", 24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", 26: "EndTxn", 28: "TxnOffsetCommit"}
# Versions that are looked into.
PRODUCES, COMMITS, FETCHES, MEMBERS = range(3, 8), range(3, 8), range(6, 8), range(4)
SERVED = 3  # of ApiVersions
REBALANCE_IN_PROGRESS = 27
BATCH_COUNT = 57  # where a batch of records says how many it has

Place = tuple[str, int]  # topic, partition


class Bytes:
    """Reads Kafka's primitive types one after the other."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise ValueError("it is too short")
        return self.data[self.at - size:self.at]

    def number(self, form: str) -> int:
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def string(self) -> str:
        return self.take(max(0, self.number("h"))).decode()

    def bytes(self) -> bytes:
        return self.take(max(0, self.number("i")))

    def array(self, read) -> list:
        return [read() for _ in range(self.number("i"))]

    # The compact forms, of flexible versions.

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def short_string(self) -> str:
        return self.take(max(0, self.varint() - 1)).decode()

    def short_array(self, read) -> list:
        return [read() for _ in range(self.varint() - 1)]

    def rest(self) -> bytes:
        return self.data[self.at:]

    def tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def client_of(frame: bytes) -> str:
    return Bytes(frame[12:]).string()


def request(frame: bytes) -> Bytes:
    """What stands behind its head."""
    reader = Bytes(frame[12:])
    reader.string()
    return reader


def generation_of(frame: bytes) -> int:
    """Of a Heartbeat, a SyncGroup or an OffsetCommit: the group's, as the member sees it."""
    reader = request(frame)
    reader.string()  # group
    return reader.number("i")


def progress_of(frame: bytes, version: int) -> dict[Place, tuple[int, str]]:
    """Of an OffsetCommit: offset and text of each partition."""
    reader = request(frame)
    reader.string(), reader.number("i"), reader.string()  # group, generation, member
    if version >= 7:
        reader.string()  # the member's own id
    if version <= 4:
        reader.number("q")  # how long to keep it

    def partition() -> tuple[int, tuple[int, str]]:
        number, offset = reader.number("i"), reader.number("q")
        if version >= 6:
            reader.number("i")  # the leader's epoch
        return number, (offset, reader.string())

    topics = reader.array(lambda: (reader.string(), reader.array(partition)))
    return {(topic, number): state for topic, partitions in topics for number, state in partitions}


def transaction_of(frame: bytes) -> bytes:
    """Of a request that begins with its transactional id: the id."""
    return request(frame).string().encode()


def says_yes(frame: bytes) -> bool:
    """The answer to an OffsetCommit bears no error."""
    reader = Bytes(frame[12:])  # behind how long to hold back
    topics = reader.array(lambda: (reader.string(), reader.array(lambda: (reader.number("i"), reader.number("h")))))
    return all(error == 0 for _, partitions in topics for _, error in partitions)


def says_member(frame: bytes, version: int) -> bool:
    """The answer to a Heartbeat or a SyncGroup: this coordinator knows the member, be it that it is to join anew."""
    return struct.unpack_from(">h", frame, 12 if version > 0 else 8)[0] in (0, REBALANCE_IN_PROGRESS)


def written_of(frame: bytes) -> dict[Place, int]:
    """Of a Produce: how many records for where."""
    reader = request(frame)
    reader.string(), reader.number("h"), reader.number("i")  # transactional id, acks, time

    def partition() -> tuple[int, int]:
        return reader.number("i"), struct.unpack_from(">i", reader.bytes(), BATCH_COUNT)[0]

    topics = reader.array(lambda: (reader.string(), reader.array(partition)))
    return {(topic, number): count for topic, partitions in topics for number, count in partitions}


def stored_of(frame: bytes, version: int) -> dict[Place, int]:
    """Of the answer to a Produce: from which offset on, where there was no error."""
    reader = Bytes(frame[8:])

    def partition() -> tuple[int, int, int]:
        number, error, offset, _ = reader.number("i"), reader.number("h"), reader.number("q"), reader.number("q")
        if version >= 5:
            reader.number("q")
        return number, error, offset

    topics = reader.array(lambda: (reader.string(), reader.array(partition)))
    return {(topic, number): offset for topic, partitions in topics for number, error, offset in partitions
            if error == 0 and offset >= 0}


def committed_of(frame: bytes) -> dict[Place, tuple[int, str]]:
    """Of the answer to an OffsetFetch: offset and text, -1 where there is none; empty if it bears an error."""
    reader = Bytes(frame[8:])
    reader.tags()
    reader.number("i")
    failed = False

    def partition() -> tuple[int, tuple[int, str]]:
        nonlocal failed
        number, offset, _, text = reader.number("i"), reader.number("q"), reader.number("i"), reader.short_string()
        failed |= reader.number("h") != 0
        reader.tags()
        return number, (offset, text)

    def topic() -> tuple[str, list]:
        found = reader.short_string(), reader.short_array(partition)
        reader.tags()
        return found

    topics = reader.short_array(topic)
    failed |= reader.number("h") != 0
    return {} if failed else {(name, number): state for name, partitions in topics for number, state in partitions}


def serving_without(frame: bytes, hidden: set[str]) -> bytes:
    """The answer to an ApiVersions, of version SERVED, without these kinds of request."""
    reader, kept = Bytes(frame[8:]), []
    error = reader.number("h")
    for _ in range(reader.varint() - 1):
        start = reader.at
        kind = reader.number("h")
        reader.number("i"), reader.tags()  # from which version to which
        if NAMES.get(kind) not in hidden:
            kept.append(reader.data[start:reader.at])
    if len(kept) > 126:
        raise ValueError("more kinds than one byte counts")
    body = frame[4:8] + struct.pack(">hB", error, len(kept) + 1) + b"".join(kept) + reader.rest()
    return struct.pack(">i", len(body)) + body
