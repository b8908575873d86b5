# SPDX-License-Identifier: Apache-2.0
"""The part of Kafka's protocol that the evidence needs, in the versions of librdkafka 2.0.2 to 2.16. A request begins with
its size, kind, version, number and the client's name. An answer begins with its size and the number of the request. In
flexible versions, tagged fields follow."""
from __future__ import annotations

import struct

NAMES = {0: "Produce", 1: "Fetch", 8: "OffsetCommit", 9: "OffsetFetch", 11: "JoinGroup", 12: "Heartbeat", 14: "SyncGroup",
         18: "ApiVersions", 19: "CreateTopics", 21: "DeleteRecords", 22: "InitProducerId", 24: "AddPartitionsToTxn",
         25: "AddOffsetsToTxn", 26: "EndTxn", 28: "TxnOffsetCommit", 32: "DescribeConfigs", 33: "AlterConfigs", 44: "IncrementalAlterConfigs"}
# The versions that are decoded.
PRODUCES, COMMITS, FETCHES, MEMBERS = range(3, 11), range(3, 10), range(6, 10), range(4)
FLEXIBLE = {"Produce": 9, "OffsetCommit": 8, "OffsetFetch": 6}  # first flexible version
SERVED, DESCRIBES = 3, 1  # versions of ApiVersions and of DescribeConfigs
UNKNOWN_TOPIC = 3
REBALANCE_IN_PROGRESS = 27
BATCH_COUNT = 57  # offset of the number of records in a batch

Place = tuple[str, int]  # topic, partition


class Bytes:
    """Reads a sequence of Kafka's primitive types. Flexible versions have compact lengths and tagged fields."""

    def __init__(self, data: bytes, flexible: bool = False):
        self.data, self.at, self.flexible = data, 0, flexible

    def take(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise ValueError("it is too short")
        return self.data[self.at - size:self.at]

    def number(self, form: str) -> int:
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def length(self, form: str) -> int:
        """Returns a length, -1 for null. form: of lengths in versions that are not flexible."""
        return self.varint() - 1 if self.flexible else self.number(form)

    def string(self) -> str:
        return self.take(max(0, self.length("h"))).decode()

    def bytes(self) -> bytes:
        return self.take(max(0, self.length("i")))

    def array(self, read) -> list:
        """read: reads one element, without its tagged fields."""
        return [self.tagged(read) for _ in range(self.length("i"))]

    def tagged(self, read):
        """Returns an element, and skips the tagged fields behind it."""
        element = read()
        self.tags()
        return element

    def tags(self) -> None:
        """Skips tagged fields. Only flexible versions have them."""
        for _ in range(self.varint() if self.flexible else 0):
            self.varint()
            self.take(self.varint())

    def rest(self) -> bytes:
        return self.data[self.at:]


def client_of(frame: bytes) -> str:
    return Bytes(frame[12:]).string()


def request(frame: bytes, flexible: bool = False) -> Bytes:
    """Returns a reader of a request, after its header."""
    reader = Bytes(frame[12:])
    reader.string()  # the client's name, never compact
    reader.flexible = flexible
    reader.tags()
    return reader


def answer(frame: bytes, api: str, version: int) -> Bytes:
    """Returns a reader of an answer, after its header."""
    reader = Bytes(frame[8:], version >= FLEXIBLE[api])
    reader.tags()
    return reader


def generation_of(frame: bytes) -> int:
    """Returns the group's generation in a Heartbeat, a SyncGroup or an OffsetCommit."""
    reader = request(frame)
    reader.string()  # group
    return reader.number("i")


def progress_of(frame: bytes, version: int) -> dict[Place, tuple[int, str]]:
    """Returns offset and metadata of each partition in an OffsetCommit."""
    reader = request(frame, version >= FLEXIBLE["OffsetCommit"])
    reader.string(), reader.number("i"), reader.string()  # group, generation, member
    if version >= 7:
        reader.string()  # group.instance.id
    if version <= 4:
        reader.number("q")  # retention time

    def partition() -> tuple[int, tuple[int, str]]:
        number, offset = reader.number("i"), reader.number("q")
        if version >= 6:
            reader.number("i")  # leader epoch
        return number, (offset, reader.string())

    topics = reader.array(lambda: (reader.string(), reader.array(partition)))
    return {(topic, number): state for topic, partitions in topics for number, state in partitions}


def transaction_of(frame: bytes) -> bytes:
    """Returns the transactional id with which a request begins."""
    return request(frame).string().encode()


def says_yes(frame: bytes, version: int) -> bool:
    """Returns whether the answer to an OffsetCommit has no error."""
    reader = answer(frame, "OffsetCommit", version)
    reader.number("i")  # throttle time
    topics = reader.array(lambda: (reader.string(), reader.array(lambda: (reader.number("i"), reader.number("h")))))
    return all(error == 0 for _, partitions in topics for _, error in partitions)


def says_member(frame: bytes, version: int) -> bool:
    """Returns whether the answer to a Heartbeat or a SyncGroup confirms the member, even if it must join again."""
    return struct.unpack_from(">h", frame, 12 if version > 0 else 8)[0] in (0, REBALANCE_IN_PROGRESS)


def written_of(frame: bytes, version: int) -> dict[Place, int]:
    """Returns the number of records for each partition in a Produce."""
    reader = request(frame, version >= FLEXIBLE["Produce"])
    reader.string(), reader.number("h"), reader.number("i")  # transactional id, acks, timeout

    def partition() -> tuple[int, int]:
        return reader.number("i"), struct.unpack_from(">i", reader.bytes(), BATCH_COUNT)[0]

    topics = reader.array(lambda: (reader.string(), reader.array(partition)))
    return {(topic, number): count for topic, partitions in topics for number, count in partitions}


def stored_of(frame: bytes, version: int) -> dict[Place, int]:
    """Returns the first offset of each partition without an error in the answer to a Produce."""
    reader = answer(frame, "Produce", version)

    def partition() -> tuple[int, int, int]:
        number, error, offset, _ = reader.number("i"), reader.number("h"), reader.number("q"), reader.number("q")
        if version >= 5:
            reader.number("q")  # first offset of the log
        if version >= 8:
            reader.array(lambda: (reader.number("i"), reader.string())), reader.string()  # errors of records, a sentence
        return number, error, offset

    topics = reader.array(lambda: (reader.string(), reader.array(partition)))
    return {(topic, number): offset for topic, partitions in topics for number, error, offset in partitions
            if error == 0 and offset >= 0}


def committed_of(frame: bytes, version: int) -> dict[Place, tuple[int, str]]:
    """Returns offset (-1: none) and metadata of each partition in the answer to an OffsetFetch, or {} on an error."""
    reader = answer(frame, "OffsetFetch", version)
    reader.number("i")  # throttle time
    states, errors = {}, []

    def partition() -> tuple[int, tuple[int, str]]:
        number, offset, _, text = reader.number("i"), reader.number("q"), reader.number("i"), reader.string()
        errors.append(reader.number("h"))
        return number, (offset, text)

    def group() -> None:
        if version >= 8:
            reader.string()
        for name, partitions in reader.array(lambda: (reader.string(), reader.array(partition))):
            states.update({(name, number): state for number, state in partitions})
        errors.append(reader.number("h"))

    if version >= 8:
        reader.array(group)  # the client requests one group
    else:
        group()
    return {} if any(errors) else states


def serving_without(frame: bytes, hidden: set[str]) -> bytes:
    """Returns the answer to an ApiVersions of version SERVED without the hidden kinds of request."""
    reader, kept = Bytes(frame[8:], flexible=True), []
    error = reader.number("h")
    for _ in range(reader.varint() - 1):
        start = reader.at
        kind = reader.number("h")
        reader.number("i")  # lowest and highest version
        reader.tags()
        if NAMES.get(kind) not in hidden:
            kept.append(reader.data[start:reader.at])
    if len(kept) > 126:
        raise ValueError("more kinds than one byte counts")
    body = frame[4:8] + struct.pack(">hB", error, len(kept) + 1) + b"".join(kept) + reader.rest()
    return struct.pack(">i", len(body)) + body


def describing_without(frame: bytes, unknown: set[str]) -> bytes:
    """Returns the answer to a DescribeConfigs of version DESCRIBES as a broker gives it that does not know these topics
    yet."""
    reader = Bytes(frame[12:])  # after the throttle time

    def entry() -> None:
        reader.string(), reader.string(), reader.take(3)  # name, value, three flags
        reader.array(lambda: (reader.string(), reader.string(), reader.take(1)))  # synonyms

    def resource() -> bytes:
        start = reader.at
        reader.number("h"), reader.string()  # error, its sentence
        kind, name = reader.number("b"), reader.string()
        reader.array(entry)
        if name not in unknown:
            return reader.data[start:reader.at]
        return struct.pack(">hhbh", UNKNOWN_TOPIC, -1, kind, len(name)) + name.encode() + struct.pack(">i", 0)

    resources = reader.array(resource)
    body = frame[4:12] + struct.pack(">i", len(resources)) + b"".join(resources)
    return struct.pack(">i", len(body)) + body
