# SPDX-License-Identifier: Apache-2.0
"""Requests that must be refused, each with its code. If a request has several faults, the first in the contract's order
is reported. The kinds with two faults check this order."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from contract import Header, rfc3339

ANY = object()


@dataclass
class Context:
    now: int
    target: str
    default: str | None
    schedule: str


@dataclass
class Kind:
    name: str
    code: str
    make: Callable[[Context], list[Header]]
    named: bool = True        # name a good target if there is no default
    default: bool | None = None  # only with (True) or without (False) a default target
    key: object = ANY
    value: object = ANY
    tombstones: bool | None = None  # only with (True) or without (False) cancel_on_tombstone

    def applies(self, default: str | None, tombstones: bool) -> bool:
        return self.default in (None, default is not None) and self.tombstones in (None, tombstones)

    def headers(self, context: Context) -> list[Header]:
        headers = self.make(context)
        if self.named and context.default is None and not any(h[0] == "dlb-target" for h in headers):
            headers.append(("dlb-target", context.target.encode()))
        return headers


KINDS: list[Kind] = []


def kind(name: str, code: str, *headers, **more) -> None:
    """Adds a kind whose headers do not depend on the time. Strings are encoded in UTF-8."""
    def make(_: Context) -> list[Header]:
        return [(n, v.encode() if isinstance(v, str) else v) for n, v in headers]
    KINDS.append(Kind(name, code, make, **more))


def timed(name: str, code: str, make: Callable[[Context], list[tuple[str, object]]], **more) -> None:
    def encoded(context: Context) -> list[Header]:
        return [(n, v if v is None or isinstance(v, bytes) else str(v).encode()) for n, v in make(context)]
    KINDS.append(Kind(name, code, encoded, **more))


DELAY = ("dlb-delay", "1s")

kind("a header that does not exist", "unknown_header", DELAY, ("dlb-dealy", "1s"))
kind("the prefix alone", "unknown_header", DELAY, ("dlb-", "x"))
kind("an unknown header in capitals", "unknown_header", DELAY, ("DLB-RETRIES", "3"))
kind("a longer name", "unknown_header", DELAY, ("dlb-delay2", "1s"))
kind("unknown before twice", "unknown_header", DELAY, DELAY, ("dlb-x", None))
kind("unknown before everything", "unknown_header", ("dlb-op", "explode"), ("dlb-?", ""))

kind("the delay twice", "bad_header", DELAY, DELAY)
kind("the target twice", "bad_header", DELAY, ("dlb-target", "a"), ("dlb-target", "a"))
kind("the key twice", "bad_header", DELAY, ("dlb-key", "a"), ("dlb-key", None))
kind("a case variant", "bad_header", ("Dlb-Delay", "1s"))
kind("a case variant of a header of the bridge", "bad_header", DELAY, ("DLB-Source", "a/0/1"))
kind("a dead letter without its value, sent again", "bad_header", DELAY, ("dlb-truncated", "value"))
kind("a bare dead letter, sent again", "bad_header", ("dlb-truncated", "all"))
kind("a case variant of dlb-truncated", "bad_header", DELAY, ("dlb-Truncated", "value"))
kind("a null delay", "bad_header", ("dlb-delay", None))
kind("an empty delay", "bad_header", ("dlb-delay", b""))
kind("a null id", "bad_header", DELAY, ("dlb-id", None))
kind("an empty id", "bad_header", DELAY, ("dlb-id", b""))
kind("an empty target", "bad_header", DELAY, ("dlb-target", b""))
kind("an empty operation", "bad_header", DELAY, ("dlb-op", b""))
kind("a target that is not UTF-8", "bad_header", DELAY, ("dlb-target", b"a\xff\xfe"))
kind("an id that is not UTF-8", "bad_header", DELAY, ("dlb-id", b"\xc3\x28"))
kind("a time that is an overlong UTF-8 form", "bad_header", ("dlb-delay", b"\xc0\xb1s"))
kind("a surrogate in UTF-8", "bad_header", DELAY, ("dlb-id", b"\xed\xa0\x80"))
kind("a bad header before a bad time", "bad_header", ("dlb-delay", "soon"), ("dlb-expires-at", b""))

kind("no such operation", "bad_op", DELAY, ("dlb-op", "explode"))
kind("an operation in capitals", "bad_op", DELAY, ("dlb-op", "Schedule"))
kind("an operation with a space", "bad_op", DELAY, ("dlb-op", "schedule "))
kind("a cancel with a time", "bad_op", DELAY, ("dlb-op", "cancel"), ("dlb-id", "a"))
kind("a cancel with a target", "bad_op", ("dlb-op", "cancel"), ("dlb-id", "a"), ("dlb-target", "t"))
kind("a cancel with an expiry", "bad_op", ("dlb-op", "cancel"), ("dlb-expires-at", "2030-01-01T00:00:00Z"), named=False)
kind("a bad operation before a bad id", "bad_op", DELAY, ("dlb-op", "?"), ("dlb-id", "x" * 200))

kind("an id of 129 bytes", "bad_id", DELAY, ("dlb-id", "x" * 129))
kind("an id of 43 characters and 129 bytes", "bad_id", DELAY, ("dlb-id", "\u952e" * 43))
kind("a bad id before no time", "bad_id", ("dlb-id", "y" * 130))

kind("a cancel without a key", "bad_id", ("dlb-op", "cancel"), ("dlb-id", "a"), key=None, named=False)
kind("a cancel without a name", "bad_id", ("dlb-op", "cancel"), key=b"", named=False)
kind("a cancel by a key that is too long", "bad_id", ("dlb-op", "cancel"), key=b"k" * 129, named=False)
kind("a replace without a key", "bad_id", DELAY, ("dlb-op", "replace"), ("dlb-id", "a"), key=None)

kind("a null value with a target", "bad_op", ("dlb-target", "e2e.a"), value=None, named=False, tombstones=True)
kind("a null value without a key", "bad_id", key=None, value=None, named=False, tombstones=True)
kind("a null value with a key that is too long", "bad_id", key=b"k" * 129, value=None, named=False, tombstones=True)
kind("a null value that is a schedule", "no_time", ("dlb-op", "schedule"), value=None)
kind("a null value without a time", "no_time", value=None, tombstones=False)

kind("a replace without a time", "no_time", ("dlb-op", "replace"), ("dlb-id", "a"), key=b"k")
kind("no time", "no_time")
kind("a target without a time", "no_time", ("dlb-target", "e2e.a"))
kind("no time before a bad expiry", "no_time", ("dlb-expires-at", "never"))

timed("two times", "two_times", lambda c: [("dlb-delay", "1s"), ("dlb-deliver-at", c.now)])
kind("two times, both bad", "two_times", ("dlb-delay", "x"), ("dlb-deliver-at", "y"))

for text in ("15", "-5s", "+5s", " 5s", "5s ", "1h 30m", "5S", "30m1h", "1h1h", "1w", "1.5s", "s", "abc",
             "99999999999999999999ms", "106751991168d", "9223372036854775808ms", "P1Y", "P1M", "P1W", "PT",
             "P", "PT1.5H", "PT1S1M", "pt5s", "PT-5S", "0", "5\u00b5s", "1h30", "0x10s", "1e3ms"):
    kind(f"the delay {text!r}", "bad_time", ("dlb-delay", text))
for text in ("1763712000", "99999999999", "-1763712000000", "+1763712000000", "1763712000000.5", "tomorrow",
             "2026-11-21 08:00:00Z", "2026-11-21T08:00:00", "2026-02-30T00:00:00Z", "2026-11-21T23:59:60Z",
             "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T08:00Z", "2026-11-21T08:00:00+0800",
             "2026-11-21T08:00:00.Z", "2026-11-21T08:00:00+25:00", "20261121T080000Z", "9223372036854775808",
             "2025-02-29T00:00:00Z", " 2026-11-21T08:00:00Z", "1763712000000ms", "2026-11-21T08:00:00,5Z"):
    kind(f"the instant {text!r}", "bad_time", ("dlb-deliver-at", text))
kind("an expiry that is not an instant", "bad_time", DELAY, ("dlb-expires-at", "later"))
kind("an expiry that is a duration", "bad_time", DELAY, ("dlb-expires-at", "1h"))
kind("a bad time before a denied target", "bad_time", ("dlb-delay", "1 s"), ("dlb-target", "secret"))
kind("a NUL in a time", "bad_time", ("dlb-delay", b"1s\x00"))

kind("a retry policy that does not exist", "bad_retry", ("dlb-retry", "nonsense"), ("dlb-target", "e2e.a"))
kind("a bad expiry before a bad policy", "bad_time", ("dlb-retry", "nonsense"), ("dlb-expires-at", "soon"))
kind("a bad policy before a missing target", "bad_retry", ("dlb-retry", "nonsense"), named=False)
kind("a bad policy before exhausted retries", "bad_retry", ("dlb-retry", "nonsense"), ("dlb-attempt", "65535"))
kind("a retry and a delay", "two_times", ("dlb-retry", "nonsense"), DELAY)
kind("an empty policy", "bad_header", ("dlb-retry", ""))
kind("a policy twice", "bad_header", ("dlb-retry", "a"), ("dlb-retry", "a"))
for text in ("-1", "65536", "1.5", "one", " 1", "99999999999999999999"):
    kind(f"the attempt {text!r}", "bad_header", ("dlb-retry", "nonsense"), ("dlb-attempt", text))
kind("a null attempt of a retry", "bad_header", ("dlb-retry", "nonsense"), ("dlb-attempt", None))
kind("two attempts of a retry", "bad_header", ("dlb-retry", "a"), ("dlb-attempt", "1"), ("dlb-attempt", "1"))
kind("a first time in seconds", "bad_header", ("dlb-retry", "nonsense"), ("dlb-first-at", "1763712000"))
kind("an origin without an offset", "bad_header", ("dlb-retry", "nonsense"), ("dlb-origin", "schedule/1"))
kind("a case variant of dlb-attempt", "bad_header", DELAY, ("dlb-Attempt", "1"))
kind("a replace that retries", "bad_op", ("dlb-op", "replace"), ("dlb-id", "a"), ("dlb-retry", "nonsense"), key=b"k")
kind("a cancel that retries", "bad_op", ("dlb-op", "cancel"), ("dlb-id", "a"), ("dlb-retry", "nonsense"), key=b"k",
     named=False)

kind("a spread without a unit", "bad_time", DELAY, ("dlb-spread", "20"))
kind("a spread below zero", "bad_time", DELAY, ("dlb-spread", "-5s"))
kind("a bad spread before a bad policy", "bad_time", ("dlb-retry", "nonsense"), ("dlb-spread", "wide"))
kind("a bad policy before a wide spread", "bad_retry", ("dlb-retry", "nonsense"), ("dlb-spread", "41d"))
kind("a spread of 41 days", "too_far", DELAY, ("dlb-spread", "41d"))
kind("an empty spread", "bad_header", DELAY, ("dlb-spread", ""))
kind("a cancel with a spread", "bad_op", ("dlb-op", "cancel"), ("dlb-id", "a"), ("dlb-spread", "1s"), key=b"k", named=False)

kind("41 days", "too_far", ("dlb-delay", "41d"))
kind("a year, ISO", "too_far", ("dlb-delay", "P366D"))
timed("50 days from now", "too_far", lambda c: [("dlb-deliver-at", c.now + 50 * 86_400_000)])
timed("50 days from now, RFC 3339", "too_far",
      lambda c: [("dlb-deliver-at", rfc3339(c.now + 50 * 86_400_000, 480))])
kind("the year 9999", "too_far", ("dlb-deliver-at", "9999-12-31T23:59:59Z"))
kind("the largest instant of 64 bits", "too_far", ("dlb-deliver-at", "9223372036854775807"))
kind("the largest delay of 64 bits", "too_far", ("dlb-delay", "9223372036854775807ms"))
kind("too far before a denied target", "too_far", ("dlb-delay", "400d"), ("dlb-target", "secret"))

timed("an expiry before the due time", "expired",
      lambda c: [("dlb-delay", "10m"), ("dlb-expires-at", c.now + 60_000)])
timed("an expiry before the instant, RFC 3339", "expired",
      lambda c: [("dlb-deliver-at", c.now + 600_000), ("dlb-expires-at", rfc3339(c.now + 599_999))])
timed("an expiry in the past", "expired", lambda c: [("dlb-delay", "0s"), ("dlb-expires-at", c.now - 60_000)])
timed("due and expired before it was written", "expired",
      lambda c: [("dlb-deliver-at", c.now - 10_000), ("dlb-expires-at", c.now - 5000)])
timed("expired before a denied target", "expired",
      lambda c: [("dlb-delay", "1h"), ("dlb-expires-at", c.now), ("dlb-target", "secret")])

kind("no target, and no default", "no_target", DELAY, named=False, default=False)

for text in ("secret", "__consumer_offsets", "__transaction_state", "e2e/a", "e2e.a b", "e2e.\u952e", "..", ".",
             "e2e." + "x" * 250, "e2e.a\n", "E2E.A", "xe2e.a"):
    kind(f"the target {text[:24]!r}", "target_denied", DELAY, ("dlb-target", text))
kind("a NUL behind a good target", "target_denied", DELAY, ("dlb-target", b"e2e.a\x00x"))
for suffix in ("", ".1s", ".1m", ".2h", ".pulse", ".dead-letter", ".cancelled", ".events", ".control"):
    timed(f"the bridge's own topic S{suffix}", "target_denied",
          lambda c, suffix=suffix: [("dlb-delay", "1s"), ("dlb-target", c.schedule + suffix)])
