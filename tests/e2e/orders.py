# SPDX-License-Identifier: Apache-2.0
"""Requests of which some are cancelled or replaced."""
from __future__ import annotations

import heapq
import random

from contract import Request
from generator import Generator
from voids import name_of

SHARES = (0.05, 0.5, 0.95)  # of the requests that are cancelled or replaced
REPLACED = 0.2              # of those
SOON_MS, LATER_MS = 4000, 30_000  # a cancel follows its request so soon; one in ten so late


class Orders:
    """Makes requests, and cancels or replaces some of them later. share: the share of these. None: the seed chooses."""

    def __init__(self, generator: Generator, seed: int, share: float | None = None, keys: int | None = None):
        """keys: the number of keys of orders. None: each request has any key."""
        self.generator, self.keys = generator, keys
        self.dice = random.Random(f"orders {seed}")
        self.share = self.dice.choice(SHARES) if share is None else share
        self.due: list[tuple[int, int, Request]] = []  # when a request is voided
        self.made = 0

    def make(self, n: int, now: int) -> Request:
        """Returns the cancel or the replace that is due, or else a new request."""
        if self.due and self.due[0][0] <= now:
            return self.void(heapq.heappop(self.due)[2], now)
        more = {"key": b"order-%d" % self.dice.randrange(self.keys)} if self.keys else {}
        return self.remember(self.generator.request(now, **more), now)

    def remember(self, request: Request, now: int) -> Request:
        self.made += 1
        if self.dice.random() < self.share and name_of(request):
            at = now + self.dice.randint(1, LATER_MS if self.dice.random() < 0.1 else SOON_MS)
            heapq.heappush(self.due, (at, self.made, request))
        return request

    def void(self, other: Request, now: int) -> Request:
        """Returns a cancel, a replace, or a replace that is refused: for its form, which voids nothing, or for its target."""
        given = [h for h in other.headers if h[0] == "dlb-id"]
        if self.dice.random() >= REPLACED:
            return cancel_of(other)
        request = self.generator.request(now, key=other.key)
        kept = [h for h in request.headers if h[0] not in ("dlb-id", "dlb-op")]
        request.kind, request.id = "replace", given[0][1] if given else None
        roll = self.dice.random()
        if roll < 0.1:
            request.kind, request.code = "replace without a time", "no_time"
            kept = [h for h in kept if h[0] not in ("dlb-delay", "dlb-deliver-at")]
        elif roll < 0.2:
            request.kind, request.code = "replace to a denied target", "target_denied"
            kept = [h for h in kept if h[0] != "dlb-target"] + [("dlb-target", b"secret")]
        request.headers = [("dlb-op", b"replace"), *given, *kept]
        return request if request.code else self.remember(request, now)


def cancel_of(request: Request) -> Request:
    """Returns a cancel with the name of this request."""
    given = [h for h in request.headers if h[0] == "dlb-id"]
    return Request(request.key, b"", [("dlb-op", b"cancel"), *given], "cancel")
