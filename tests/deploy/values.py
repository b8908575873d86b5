#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of the chart's values, in its README.md, made from the comments of values.yaml.

  values.py --update     write the table"""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from parts import CHART, World, part, require

PAGE = CHART / "README.md"
PROBES = {"livenessProbe", "readinessProbe"}  # explained with startupProbe
MARKS = re.compile(r"(<!-- generated: values -->\n).*?(<!-- /generated -->)", re.S)
LINE = re.compile(r"^( *)([A-Za-z0-9_.]+):(.*)$")
COMMENT = re.compile(r"(?:^|\s+)# ?(.*)$")


@dataclass
class Value:
    path: str
    default: str  # empty: a group of values
    text: str


def uncommented(text: str) -> tuple[str, str]:
    """Splits the rest of a line into value and comment. A # inside quotes is no comment."""
    found = re.match(r"""^((?:"[^"]*"|'[^']*'|[^"'#]|(?<! )#)*?)(?:\s+# ?(.*))?$""", text)
    return (found[1].strip(), found[2] or "") if found else (text.strip(), "")


def values(text: str) -> list[Value]:
    """Returns the values of a YAML text with their comments: those at the end of the line, and those right above it."""
    found: list[Value] = []
    path: list[tuple[int, str]] = []  # the keys above, with their indentation
    above: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.lstrip()[1:].strip())
            continue
        key = LINE.match(line)
        if key is None:
            above = []
            continue
        indent, name = len(key[1]), key[2]
        path = [(n, k) for n, k in path if n < indent] + [(indent, f'"{name}"' if "." in name else name)]
        default, comment = uncommented(key[3])
        found.append(Value(".".join(k for _, k in path), default, " ".join([*above, comment]).strip()))
        above = []
    return found


def table() -> str:
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for value in values((CHART / "values.yaml").read_text()):
        default = f"`{value.default}`" if value.default else ""
        if not default and not value.text:
            continue  # a group whose values say enough
        rows.append(f"| `{value.path}` | {default} | {value.text} |".replace("  ", " "))
    return "\n".join(rows) + "\n"


def written(page: str) -> str:
    return MARKS.sub(lambda match: match[1] + table() + match[2], page)


@part("chart.values", quick=True)
def documented(world: World) -> str:
    """The chart's README has a table of all values, each with its default and its meaning, as values.yaml has them."""
    del world
    all_values = values((CHART / "values.yaml").read_text())
    explained = {value.path for value in all_values if value.text}
    bare = [v.path for v in all_values if not v.text and v.default and v.path.rpartition(".")[0] not in explained and
            v.path not in PROBES]
    require(not bare, f"values without a comment: {', '.join(bare)}")
    page = PAGE.read_text()
    require(MARKS.search(page), f"{PAGE} has no place for the table")
    require(written(page) == page, f"{PAGE} is not as values.yaml, fixed by: python3 tests/deploy/values.py --update")
    return f"{len(all_values)} values"


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    PAGE.write_text(written(PAGE.read_text()))
