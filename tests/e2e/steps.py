# SPDX-License-Identifier: Apache-2.0
"""When a wall clock was stepped, and by how much: what it can have shown."""
from __future__ import annotations

from contract import Seen

SLACK_MS = 100  # its reader may be put off between the time and what is added to it


class Steps:
    def __init__(self) -> None:
        self.history: list[tuple[float, int]] = []  # since when, and how far ahead of ours; less than 0: behind

    def add(self, at: float, ahead_ms: int) -> None:
        self.history.append((at, ahead_ms))

    @property
    def current(self) -> int:
        return self.history[-1][1] if self.history else 0

    def showed(self, seen: Seen) -> bool:
        """Whether it was as late as its stamp by this clock, at a time of ours that is not after it was here."""
        until = seen.received_ms
        ends = [since for since, _ in self.history[1:]] + [until]
        return any(since - SLACK_MS <= seen.timestamp_ms - ms <= min(end + SLACK_MS, until)
                   for (since, ms), end in zip(self.history, ends))
