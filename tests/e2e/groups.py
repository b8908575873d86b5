# SPDX-License-Identifier: Apache-2.0
"""Who has which lanes, by Kafka's protocol itself (DescribeGroups, version 0): the admin client's call
for it may hang or abort when a broker goes away, and scenarios take brokers away."""
from __future__ import annotations

import socket
import struct


class Bytes:
    """Reads Kafka's primitive types one after the other."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise ValueError("the answer is too short")
        return self.data[self.at - size:self.at]

    def number(self, form: str) -> int:
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def string(self) -> str:
        return self.take(max(0, self.number("h"))).decode()

    def bytes(self) -> bytes:
        return self.take(max(0, self.number("i")))

    def array(self, read) -> list:
        return [read() for _ in range(self.number("i"))]


def call(broker: str, group: str, timeout: float) -> bytes:
    def string(text: str) -> bytes:
        return struct.pack(">h", len(text)) + text.encode()

    request = struct.pack(">hhi", 15, 0, 1) + string("e2e") + struct.pack(">i", 1) + string(group)
    host, port = broker.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + struct.unpack(">i", answer[:4])[0]:
            part = connection.recv(65536)
            if not part:
                raise OSError("the broker hung up")
            answer += part
    return answer[8:]


def members(bootstrap: str, group: str, timeout: float = 5) -> dict[str, list[int]]:
    """The lanes of each member; empty while the group settles or nobody can say."""
    for broker in bootstrap.split(","):
        try:
            answer = Bytes(call(broker, group, timeout))
        except OSError:
            continue
        found: dict[str, list[int]] = {}
        answer.number("i")  # one group
        error, _, state = answer.number("h"), answer.string(), answer.string()
        answer.string(), answer.string()  # kind of protocol, protocol
        for _ in range(answer.number("i")):
            name = answer.string()
            answer.string(), answer.string(), answer.bytes()  # client, host, subscription
            found[name] = lanes(answer.bytes())
        if error == 0 and state == "Stable":
            return found
    return {}


def lanes(assignment: bytes) -> list[int]:
    if not assignment:
        return []
    reader = Bytes(assignment)
    reader.number("h")
    topics = reader.array(lambda: (reader.string(), reader.array(lambda: reader.number("i"))))
    return sorted(partition for _, partitions in topics for partition in partitions)
