#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the part of the lines and branches of levels/ and bridge/core/ that ran in a build of the preset coverage.
./dev coverage builds it, runs the unit tests and the simulator, and calls this.

  coverage.py BUILD [--missing]    --missing lists the lines that did not run, and those with a branch not taken

The branch on which an assert fails is not counted."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("levels/", "bridge/core/")


class Covered(NamedTuple):
    lines: int
    lines_run: int
    branches: int
    branches_taken: int
    missing: tuple[str, ...]

    def row(self, name: str) -> str:
        return (f"{name:32}{self.lines:7}{percent(self.lines_run, self.lines):>9}"
                f"{self.branches:10}{percent(self.branches_taken, self.branches):>9}")


def percent(part: int, whole: int) -> str:
    """Formats a percentage, rounded down, so that 100 % means all."""
    return f"{1000 * part // whole / 10:.1f} %" if whole else "-"


def measured(build: str) -> list[dict]:
    command = ["gcovr", "--root", str(ROOT), "--json", "--exclude-branches-by-pattern", r".*\bassert\("]
    for room in ROOMS:
        command += ["--filter", str(ROOT / room)]
    return json.loads(subprocess.run(command + [build], check=True, stdout=subprocess.PIPE).stdout)["files"]


def covered(lines: list[dict]) -> Covered:
    code = [line for line in lines if not line.get("gcovr/noncode")]
    branches = [branch for line in code for branch in line["branches"]]
    missing = []
    for line in code:
        not_taken = sum(branch["count"] == 0 for branch in line["branches"])
        if line["count"] == 0:
            missing.append(f"{line['line_number']}")
        elif not_taken:
            missing.append(f"{line['line_number']} ({not_taken} of {len(line['branches'])} branches)")
    return Covered(len(code), sum(line["count"] > 0 for line in code), len(branches),
                   sum(branch["count"] > 0 for branch in branches), tuple(missing))


def main(build: str, show_missing: bool) -> int:
    rows = {file["file"]: covered(file["lines"]) for file in measured(build)}
    print(f"{'':32}{'lines':>7}{'run':>9}{'branches':>10}{'taken':>9}")
    for name, row in sorted(rows.items()):
        print(row.row(name))
        if show_missing:
            print("".join(f"    {name}:{place}\n" for place in row.missing), end="")
    lines, run, branches, taken = (sum(row[i] for row in rows.values()) for i in range(4))
    print(Covered(lines, run, branches, taken, ()).row("total"))
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--missing"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], len(sys.argv) == 3))
