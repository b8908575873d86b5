# SPDX-License-Identifier: Apache-2.0
"""What a client may write in a second, by Kafka's protocol itself (AlterClientQuotas, version 0): the Python client has no
call for it."""
from __future__ import annotations

import struct

from groups import ask
from protocol import Bytes
from stage import require

ALTER_CLIENT_QUOTAS = 49


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def array(*items: bytes) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


def set_quota(broker: str, client_id: str, **limits: float) -> None:
    """limits: producer_byte_rate or consumer_byte_rate, of all clients with this id together, on each broker."""
    operations = [string(name) + struct.pack(">d?", limit, False) for name, limit in limits.items()]
    entry = array(string("client-id") + string(client_id)) + array(*operations)
    answer = Bytes(ask(broker, ALTER_CLIENT_QUOTAS, 0, array(entry) + struct.pack(">?", False), timeout=20))
    answer.number("i")  # how long to hold back
    errors = answer.array(lambda: (answer.number("h"), answer.string(),
                                   answer.array(lambda: (answer.string(), answer.string())))[0])
    require(errors == [0], f"the quota was refused: {errors}")
