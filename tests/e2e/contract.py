# SPDX-License-Identifier: Apache-2.0
"""The contract as this client understands it: written from the documents, not from the C code."""
from __future__ import annotations

import datetime
from dataclasses import dataclass, field

CODES = (
    "unknown_header", "bad_header", "bad_op", "bad_id", "no_time", "two_times", "bad_time", "bad_retry",
    "too_far", "expired", "no_target", "target_denied", "retries_exhausted", "too_large", "target_failed", "not_ours",
)

# Headers that the bridge writes. It drops them from a request if the spelling is exactly the same.
WRITTEN_BY_BRIDGE = ("dlb-due", "dlb-source", "dlb-error", "dlb-reason", "dlb-sent-at", "dlb-failed-at")
# Headers of a retry's delivery. They count on a request with dlb-retry, and are dropped from all others.
OF_RETRIES = ("dlb-attempt", "dlb-first-at", "dlb-origin")
# The last five headers of a dead letter. Older copies are dropped.
VERDICT = ("dlb-error", "dlb-reason", "dlb-source", "dlb-sent-at", "dlb-failed-at")
# The last header of a dead letter without its value, or without key and headers too. A request with it is refused.
TRUNCATED = "dlb-truncated"

LEVELS = ("1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h").split()

Header = tuple[str, bytes | None]


def is_ours(name: str) -> bool:
    return name.lower().startswith("dlb-")


def business(headers: list[Header]) -> list[Header]:
    return [header for header in headers if not is_ours(header[0])]


def murmur2(data: bytes) -> int:
    """Returns the hash that Kafka's Java client uses."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i:i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def rfc3339(ms: int, offset_minutes: int = 0, lower: bool = False, micros: int = 0) -> str:
    """Formats an instant with a zone. Subtracts micros, so that the reader must round up to ms again."""
    zone = datetime.timezone(datetime.timedelta(minutes=offset_minutes))
    at = datetime.datetime.fromtimestamp(ms // 1000, zone)
    fraction = (ms % 1000) * 1000 - micros
    if fraction < 0:
        at, fraction = at - datetime.timedelta(seconds=1), fraction + 1_000_000
    digits = f"{fraction:06d}"
    if not micros:
        digits = digits[:3]
    tail = "Z" if offset_minutes == 0 else "%s%02d:%02d" % (
        "-" if offset_minutes < 0 else "+", *divmod(abs(offset_minutes), 60))
    text = at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{digits}" if fraction else "") + tail
    return text.lower() if lower else text


def duration(ms: int) -> str:
    """Formats a duration in canonical form: 90000 -> 1m30s."""
    text = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        if ms >= size:
            text += f"{ms // size}{unit}"
            ms %= size
    return text or "0s"


def iso_duration(ms: int, micros: int = 0) -> str:
    """Formats a duration in ISO 8601 with days at most. Subtracts micros, so that the reader must round up to ms again."""
    total = ms * 1000 - micros
    days, rest = divmod(total, 86_400_000_000)
    hours, rest = divmod(rest, 3_600_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    text = f"T{hours}H" * (hours > 0) or "T"
    text += f"{minutes}M" * (minutes > 0)
    if seconds or fraction:
        text += f"{seconds}" + (f".{fraction:06d}".rstrip("0") if fraction else "") + "S"
    if text == "T":
        text = "" if days else "T0S"
    return "P" + f"{days}D" * (days > 0) + text


@dataclass
class Retry:
    """A retry. Its wait counts from its reading by a bridge, unless its request has a due time."""
    number: int                  # of this retry, from 1
    least_ms: int                # bounds of the wait, jitter included
    most_ms: int
    # The headers of the request. A first retry has none.
    first_ms: int | None = None
    origin: bytes | None = None


@dataclass
class Request:
    """A record for the schedule topic, and the result that the contract demands."""
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    kind: str                    # A name for people.
    code: str | None = None      # Code of the dead letter; None: it must be delivered.
    target: str = ""
    delay_ms: int | None = None  # due at the record's timestamp plus this; or
    due_ms: int | None = None    # due at this instant
    out_key: bytes | None = None
    id: bytes | None = None
    waited: bool = False         # a dead letter after a wait: its dlb- headers are new
    expires_ms: int | None = None
    expires_delay: int | None = None
    tag: str = ""
    timestamp_ms: int | None = None  # of the record; None: the client's clock
    retry: Retry | None = None
    spread_ms: int = 0           # the bridge chooses a time from due on
    # Set from the broker's acknowledgement.
    partition: int = -1
    offset: int = -1
    stamped_ms: int = 0
    sent_ms: int = 0
    acked_at: float = 0.0
    extra: dict = field(default_factory=dict)

    @property
    def due(self) -> int:
        if self.retry is not None and self.due_ms is None:
            return self.sent_ms + self.retry.least_ms  # or later
        return self.due_ms if self.due_ms is not None else self.stamped_ms + (self.delay_ms or 0)

    @property
    def earliest(self) -> int:
        """Returns the start of the lateness. Some records have an older timestamp than their sending time."""
        return max(self.due, self.stamped_ms, self.sent_ms)


@dataclass
class Seen:
    """A record that came out."""
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    received_ms: float  # this client's clock at the receipt

    def header(self, name: str) -> bytes | None:
        """Returns the value of the last header of this name, or None."""
        for have, value in reversed(self.headers):
            if have == name:
                return value
        return None
