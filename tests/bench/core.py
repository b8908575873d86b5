# SPDX-License-Identifier: Apache-2.0
"""Single pieces of the code."""
from __future__ import annotations

import json
import subprocess

from place import TOOL
from table import Row


# Nanoseconds of an operation, with hashing and prefetch. The restore of five million cancels may take five seconds.
MOST_NS = {"cancels: a lane without entries": 1, "cancels: look-up, none of 50000 names it": 45,
           "cancels: look-up, one of 50000 names it": 45, "cancels: look-up, none of 5000000 names it": 130,
           "cancels: look-up, one of 5000000 names it": 130, "cancels: restore 5000000": 1000}
MAY_ALLOCATE = {"cancels: restore 5000000"}  # the table grows


def row(piece: str, ns: float, allocations: int) -> Row:
    goal = "" if piece in MAY_ALLOCATE else "no allocation"
    limit = MOST_NS.get(piece)
    if limit is not None:
        goal = f"≤ {limit:,} ns" + (f", {goal}" if goal else "")
    right = (allocations == 0 or piece in MAY_ALLOCATE) and (limit is None or ns <= limit)
    return Row(piece, f"{ns:.1f} ns, {allocations} allocations", goal, right)


def pieces() -> list[Row]:
    """Each piece of code on a record's way: nanoseconds an operation, and no allocation."""
    out = subprocess.run([str(TOOL.parent / "bench_core")], capture_output=True, text=True, check=True).stdout
    seen = [json.loads(line) for line in out.splitlines()]
    return [row(**piece) for piece in seen]
