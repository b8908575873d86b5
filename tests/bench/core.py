# SPDX-License-Identifier: Apache-2.0
"""Single pieces of the code."""
from __future__ import annotations

import json
import subprocess

from place import TOOL
from table import Row


def pieces() -> list[Row]:
    """Each piece of code on a record's way: nanoseconds an operation, and no allocation."""
    out = subprocess.run([str(TOOL.parent / "bench_core")], capture_output=True, text=True, check=True).stdout
    seen = [json.loads(line) for line in out.splitlines()]
    return [Row(p["piece"], f"{p['ns']:.1f} ns, {p['allocations']} allocations", "no allocation",
                p["allocations"] == 0) for p in seen]
