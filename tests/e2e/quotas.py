# SPDX-License-Identifier: Apache-2.0
"""Sets quotas with AlterClientQuotas version 0 of Kafka's protocol, for which the Python client has no call."""
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
    """Sets limits of all clients with this id together, on each broker: producer_byte_rate or consumer_byte_rate."""
    operations = [string(name) + struct.pack(">d?", limit, False) for name, limit in limits.items()]
    entry = array(string("client-id") + string(client_id)) + array(*operations)
    answer = Bytes(ask(broker, ALTER_CLIENT_QUOTAS, 0, array(entry) + struct.pack(">?", False), timeout=20))
    answer.number("i")  # throttle time
    errors = answer.array(lambda: (answer.number("h"), answer.string(),
                                   answer.array(lambda: (answer.string(), answer.string())))[0])
    require(errors == [0], f"the quota was refused: {errors}")
