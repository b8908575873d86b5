# SPDX-License-Identifier: Apache-2.0
"""The steps of a wall clock, and the times that it can have shown."""
from __future__ import annotations

from contract import Seen

SLACK_MS = 100  # the reader of the clock may be delayed before it adds the offset


class Steps:
    def __init__(self) -> None:
        self.history: list[tuple[float, int]] = []  # when, and how far ahead of our clock; below 0: behind

    def add(self, at: float, ahead_ms: int) -> None:
        self.history.append((at, ahead_ms))

    @property
    def current(self) -> int:
        return self.history[-1][1] if self.history else 0

    def showed(self, seen: Seen) -> bool:
        """Returns whether this clock can have shown the stamp of the record before the record was received."""
        until = seen.received_ms
        ends = [since for since, _ in self.history[1:]] + [until]
        return any(since - SLACK_MS <= seen.timestamp_ms - ms <= min(end + SLACK_MS, until)
                   for (since, ms), end in zip(self.history, ends))
