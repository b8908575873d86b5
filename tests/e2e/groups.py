# SPDX-License-Identifier: Apache-2.0
"""Reads which member has which lanes, with DescribeGroups version 0 of Kafka's protocol. The admin client's call may
hang or abort when a broker stops, and scenarios stop brokers."""
from __future__ import annotations

import socket
import struct

from protocol import Bytes


def ask(broker: str, kind: int, version: int, body: bytes, timeout: float) -> bytes:
    """Sends one request. Returns the answer without its header."""
    request = struct.pack(">hhih", kind, version, 1, 3) + b"e2e" + body
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


def call(broker: str, group: str, timeout: float) -> bytes:
    return ask(broker, 15, 0, struct.pack(">ih", 1, len(group)) + group.encode(), timeout)


def members(bootstrap: str, group: str, timeout: float = 5) -> dict[str, list[int]]:
    """Returns the lanes of each member. Returns {} while the group settles or no broker answers."""
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
