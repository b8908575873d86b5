# SPDX-License-Identifier: Apache-2.0
"""When a wall clock was stepped, and by how much: what its stamps may mean by ours."""
from __future__ import annotations


class Steps:
    def __init__(self) -> None:
        self.history: list[tuple[float, int]] = []  # since when, and how far ahead of ours

    def add(self, at: float, ahead_ms: int) -> None:
        self.history.append((at, ahead_ms))

    @property
    def current(self) -> int:
        return self.history[-1][1] if self.history else 0

    def between(self, start: float, end: float) -> list[int]:
        """How far ahead it was at start, and what was added until end."""
        before = [ms for since, ms in self.history if since <= start]
        return before[-1:] + [ms for since, ms in self.history if start < since <= end]

    def ahead(self, at: float) -> int:
        """The furthest ahead that it was within the last two seconds; less than 0: behind."""
        return max(self.between(at - 2000, at), default=0)
