# SPDX-License-Identifier: Apache-2.0
"""Requests of every kind, from a seed."""
from __future__ import annotations

import random

import contract
import poison
from contract import Header, Request

NAMES = ("trace-id", "content-type", "x", "k\u00e9y", "\u952e", "dlb", "dlb_delay", "xdlb-delay", "a b",
         "dlb", "Content-Type", "_")


class Generator:
    """Makes requests. targets: topics to name. default: the target of a request that names none, or None.
    tombstones: with cancel_on_tombstone. spreads: a tenth of the requests has dlb-spread."""

    def __init__(self, seed: int, targets: list[str], default: str | None, max_ms: int,
                 schedule: str = "schedule", big: int = 40_000, tombstones: bool = False, spreads: bool = False):
        self.random = random.Random(seed)
        self.targets, self.default, self.schedule = targets, default, schedule
        self.max_ms, self.big, self.tombstones, self.spreads = max_ms, big, tombstones, spreads
        self.count = 0

    # User headers.

    def bytes(self, least: int, most: int) -> bytes:
        return self.random.randbytes(self.random.randint(least, most))

    def key(self) -> bytes | None:
        roll = self.random.random()
        if roll < 0.15:
            return None
        if roll < 0.20:
            return b""
        return self.bytes(1, 40)

    def value(self) -> bytes | None:
        roll = self.random.random()
        if roll < 0.08:
            return None
        if roll < 0.12:
            return b""
        if roll < 0.125:
            return self.bytes(self.big // 2, self.big)
        return self.bytes(1, 400)

    def business_headers(self) -> list[Header]:
        headers: list[Header] = []
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3, 6))):
            roll = self.random.random()
            value = None if roll < 0.12 else b"" if roll < 0.2 else self.bytes(1, 60)
            headers.append((self.random.choice(NAMES), value))
        if headers and self.random.random() < 0.2:
            headers.append(self.random.choice(headers))  # a duplicate
        return headers

    # Headers of the contract.

    def wait_ms(self) -> int:
        """Returns a delay: past, zero, below a second, between levels, at the edges of levels, or any."""
        roll, most = self.random.random(), self.max_ms
        if roll < 0.05:
            return -self.random.randint(1, 3_600_000)
        if roll < 0.09:
            return 0
        if roll < 0.29:
            return self.random.randint(1, 999)
        if roll < 0.34:
            return min(37_250, most)
        if roll < 0.44:
            level = self.random.choice((1000, 5000, 10_000, 30_000, 60_000, 120_000, 180_000))
            return min(most, max(0, level + self.random.choice((-501, -500, -499, -1, 0, 1, 499, 500))))
        return self.random.randint(0, most)

    def set_delay(self, request: Request, wait: int) -> Header:
        request.delay_ms = wait
        form = self.random.randrange(5)
        if form == 0:
            text = f"{wait}ms"
        elif form == 1:
            text = contract.iso_duration(wait)
        elif form == 2 and wait > 0:
            text = contract.iso_duration(wait, micros=self.random.randint(1, 999))
        elif form == 3 and wait >= 60_000:
            text = f"{wait // 60_000}m{wait % 60_000}ms"
        else:
            text = contract.duration(wait)
        return ("dlb-delay", text.encode())

    def set_instant(self, request: Request, due: int) -> Header:
        request.due_ms = due
        form = self.random.randrange(4)
        if form == 0:
            text = str(due)
        elif form == 1:
            text = contract.rfc3339(due, lower=self.random.random() < 0.2)
        elif form == 2:
            text = contract.rfc3339(due, self.random.choice((480, -330, 345, 0, -720, 840)))
        else:
            text = contract.rfc3339(due, 60, micros=self.random.randint(1, 999))
        return ("dlb-deliver-at", text.encode())

    def request(self, now_ms: int, **fixed) -> Request:
        """Makes a good request. fixed: key, target, wait_ms, value or headers that are not random."""
        roll = self.random.random
        self.count += 1
        request = Request(key=fixed["key"] if "key" in fixed else self.key(),
                          value=fixed["value"] if "value" in fixed else self.value(),
                          headers=[], kind="good")
        ours: list[Header] = []
        if roll() < 0.05:
            request.timestamp_ms = now_ms - self.random.randint(1, 5000)
        wait = fixed["wait_ms"] if "wait_ms" in fixed else self.wait_ms()
        if wait < 0 or roll() < 0.5:
            ours.append(self.set_instant(request, now_ms + wait))
        else:
            ours.append(self.set_delay(request, wait))
        request.target = fixed.get("target") or self.random.choice(self.targets)
        if request.target != self.default or roll() < 0.3:
            ours.append(("dlb-target", request.target.encode()))
        request.out_key = request.key
        if roll() < 0.1:
            request.out_key = None if roll() < 0.3 else b"" if roll() < 0.2 else self.bytes(1, 20)
            ours.append(("dlb-key", request.out_key))
        if roll() < 0.2:
            request.id = self.random.choice((b"order-%d" % self.count, b"x", "\u8ba2\u5355".encode(), b"i" * 128))
            ours.append(("dlb-id", request.id))
        if roll() < 0.05:
            ours.append(("dlb-op", b"schedule"))
        if roll() < 0.05:
            request.expires_ms = now_ms + self.max_ms + 86_400_000 + self.random.randint(0, 999)
            ours.append(("dlb-expires-at", str(request.expires_ms).encode()))
        if self.spreads and roll() < 0.1:
            request.spread_ms = self.random.choice((0, 1, 500, 3000))
            ours.append(("dlb-spread", contract.duration(request.spread_ms).encode()))
        if roll() < 0.06:  # a delivered record or a dead letter, sent again unchanged
            again = [("dlb-due", b"1"), ("dlb-source", b"x/1/2"), ("dlb-error", b"no_time"),
                     ("dlb-reason", None), ("dlb-sent-at", b"3"), ("dlb-failed-at", b""), ("dlb-due", b"2"),
                     ("dlb-attempt", b"-1"), ("dlb-first-at", None), ("dlb-origin", b""), ("dlb-attempt", b"2")]
            ours.extend(again[:self.random.randint(1, len(again))])
        own = fixed["headers"] if "headers" in fixed else self.business_headers()
        request.headers = self.interleave(own, ours)
        return request

    def poison(self, now_ms: int, number: int) -> Request:
        """Makes a request that must be refused. Its kind is number modulo the number of kinds."""
        kinds = [kind for kind in poison.KINDS if kind.applies(self.default, self.tombstones)]
        kind = kinds[number % len(kinds)]
        ours = kind.headers(poison.Context(now_ms, self.targets[0], self.default, self.schedule))
        request = Request(key=self.key(), value=self.value(), headers=[], kind=kind.name, code=kind.code,
                          target=self.targets[0])
        if kind.key is not poison.ANY:
            request.key = kind.key
        if kind.value is not poison.ANY:
            request.value = kind.value
        elif self.tombstones and request.value is None:
            request.value = b""  # null could cancel
        request.due_ms = now_ms
        # The headers of the contract keep their order, with user headers between them.
        request.headers = self.interleave(self.business_headers(), ours)
        return request

    def interleave(self, one: list[Header], other: list[Header]) -> list[Header]:
        """Mixes two lists of headers at random. Each keeps its order."""
        one, other, mixed = list(one), list(other), []
        while one or other:
            mixed.append((one if self.random.random() * (len(one) + len(other)) < len(one) else other).pop(0))
        return mixed
