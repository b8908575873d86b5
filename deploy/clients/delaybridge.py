# SPDX-License-Identifier: Apache-2.0
"""Headers of Delaybridge requests, checked before they are sent. Copy this file. It needs no client:
each function returns the headers as a list of (name, bytes), as confluent-kafka and kafka-python take them.

    producer.produce("schedule", key="order-17", value=order, headers=schedule("15m", target="orders.timeout"))
    producer.produce("schedule", key="order-17", headers=cancel())"""
from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

# Of requests.
DELAY, DELIVER_AT, TARGET, KEY = "dlb-delay", "dlb-deliver-at", "dlb-target", "dlb-key"
ID, OP, EXPIRES_AT = "dlb-id", "dlb-op", "dlb-expires-at"
# Of deliveries, and of dead letters.
DUE, SOURCE = "dlb-due", "dlb-source"
ERROR, REASON, SENT_AT, FAILED_AT, TRUNCATED = "dlb-error", "dlb-reason", "dlb-sent-at", "dlb-failed-at", "dlb-truncated"

RECORD_KEY: Any = object()  # the delivery has the key of the request
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_DELAY = re.compile("".join(f"(?:([0-9]+){name})?" for name, _ in _UNITS))
_INSTANT_MIN, _INT64_MAX = 100_000_000_000, 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Headers = list[tuple[str, "bytes | None"]]


def _milliseconds(span: timedelta) -> int:
    return -(-span // timedelta(milliseconds=1))  # rounded up


def format_delay(delay: int | timedelta) -> str:
    """Returns milliseconds or a timedelta as text: 90000 is 1m30s. A fraction of a millisecond is rounded up."""
    ms = _milliseconds(delay) if isinstance(delay, timedelta) else delay
    if isinstance(ms, bool) or not isinstance(ms, int) or not 0 <= ms <= _INT64_MAX:
        raise ValueError(f"not a delay in whole milliseconds: {delay!r}")
    text = ""
    for name, unit in _UNITS:
        n, ms = divmod(ms, unit)
        text += f"{n}{name}" if n else ""
    return text or "0s"


def parse_delay(text: str) -> int:
    """Returns the milliseconds of a text such as 1h30m or 250ms."""
    found = _DELAY.fullmatch(text)
    ms = sum(int(n or 0) * unit for n, (_, unit) in zip(found.groups(), _UNITS)) if found else -1
    if not text or not 0 <= ms <= _INT64_MAX:
        raise ValueError(f"not a delay such as 250ms, 15m or 1h30m: {text!r}")
    return ms


def format_instant(instant: int | datetime) -> str:
    """Returns epoch milliseconds or a datetime with a zone as text. A fraction of a millisecond is rounded up."""
    if isinstance(instant, datetime):
        if instant.tzinfo is None:
            raise ValueError(f"an instant needs a time zone: {instant!r}")
        instant = _milliseconds(instant - _EPOCH)
    if isinstance(instant, bool) or not isinstance(instant, int) or not _INSTANT_MIN <= instant <= _INT64_MAX:
        raise ValueError(f"not an instant in epoch milliseconds (seconds by mistake?): {instant!r}")
    return str(instant)


def check_target(target: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", target) or target in (".", ".."):
        raise ValueError(f"not a topic name: {target!r}")
    return target


def check_id(id: str) -> str:  # pylint: disable=redefined-builtin
    if not 1 <= len(id.encode()) <= 128:
        raise ValueError(f"not an id of 1 to 128 bytes: {id!r}")
    return id


def schedule(delay: int | str | timedelta | None = None, *, at: int | datetime | None = None, target: str | None = None,
             key: bytes | str | None = RECORD_KEY, id: str | None = None,  # pylint: disable=redefined-builtin
             expires_at: int | datetime | None = None) -> Headers:
    """Returns the headers of a request. Give `delay` or `at`. key: of the delivered record, None for a null key."""
    if (delay is None) == (at is None):
        raise ValueError("give either delay or at")
    headers: Headers = []
    if delay is not None:
        text = format_delay(parse_delay(delay) if isinstance(delay, str) else delay)
        headers.append((DELAY, text.encode()))
    elif at is not None:
        headers.append((DELIVER_AT, format_instant(at).encode()))
    if target is not None:
        headers.append((TARGET, check_target(target).encode()))
    if key is not RECORD_KEY:
        headers.append((KEY, key.encode() if isinstance(key, str) else key))
    if id is not None:
        headers.append((ID, check_id(id).encode()))
    if expires_at is not None:
        headers.append((EXPIRES_AT, format_instant(expires_at).encode()))
    return headers


def replace(*args: Any, **fields: Any) -> Headers:
    """Returns the headers of a request that cancels older ones of its name. Takes the arguments of schedule. The record
    needs the key of the older request."""
    return [(OP, b"replace"), *schedule(*args, **fields)]


def cancel(id: str | None = None) -> Headers:  # pylint: disable=redefined-builtin
    """Returns the headers of a cancel. The record needs the key of its request, and the id if the request has one."""
    return [(OP, b"cancel"), *([(ID, check_id(id).encode())] if id is not None else [])]
