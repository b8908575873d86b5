# SPDX-License-Identifier: Apache-2.0
"""The code blocks of the documents. Blocks of the pages in RUN are run by `./dev e2e quick_start`. A block of commands
that is not run has a comment before it that says so: <!-- not run here: REASON -->"""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# In this order, on one broker with one bridge. The first one starts them.
RUN = ("README.md", "docs/producing.md", "docs/cancelling.md", "docs/consuming.md", "docs/operating.md", "docs/monitoring.md",
       "docs/dead-letters.md", "docs/troubleshooting.md", "docs/scaling.md", "deploy/prometheus/RUNBOOK.md")
FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
MARK = re.compile(r"^<!-- not run here: (.+?) -->$")


@dataclass(frozen=True)
class Block:
    page: str
    line: int      # of its fence
    section: str   # the last heading before it
    language: str  # "": none
    text: str
    mark: str      # why it is not run; "": it is run

    @property
    def lines(self) -> list[str]:
        """Returns the commands: a backslash continues a line, and a comment after two spaces is left out."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        stripped = (re.sub(r"(^|\s\s+)# .*", "", line).strip() for line in joined.splitlines())
        return [line for line in stripped if line]


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    opened, section, mark = None, "", ""
    body: list[str] = []
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is not None and fence and not fence[2]:
            found.append(Block(page, opened[0], section, opened[1], "".join(f"{text}\n" for text in body), mark))
            opened, mark = None, ""
        elif opened is not None:
            body.append(line)
        elif fence:
            opened, body = (number, fence[2]), []
        elif line.startswith("#"):
            section, mark = line.lstrip("# "), ""
        elif found_mark := MARK.match(line):
            mark = found_mark[1]
        elif line.strip():
            mark = ""
    return found
