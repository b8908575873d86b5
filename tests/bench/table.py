# SPDX-License-Identifier: Apache-2.0
"""The table of results."""
from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Row:
    what: str
    value: str
    goal: str
    reached: bool
    measure: float = 0.0  # by which rounds are ordered
    sound: bool = True    # no: something went wrong that no other round makes good
    data: object = None   # for who draws it

    def line(self) -> str:
        return f"| {self.what} | {self.value} | {self.goal} | {'yes' if self.reached else '**no**'} |"


def middle(rounds: list[list[Row]]) -> list[Row]:
    """Of each figure the round in the middle, and what all of them measured; or one that went wrong, if any did."""
    rows = []
    for same in zip(*rounds):
        row = next((row for row in same if not row.sound), sorted(same, key=lambda row: row.measure)[len(same) // 2])
        if len(same) > 1 and any(one.measure for one in same):
            row = replace(row, value=f"{row.value} [{', '.join(f'{one.measure:.3g}' for one in same)}]")
        rows.append(replace(row, reached=row.reached and row.sound))
    return rows


def output(*args: str) -> str:
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout.strip()


def machine() -> str:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Linux {platform.release()}"


def kafka_version() -> str:
    return re.search(r"<artifactId>kafka_2[^<]*</artifactId>\s*<version>(.*?)<", (ROOT / "tests" / "kafka" / "pom.xml").read_text()).group(1)


def write(path: Path, binary: Path, parts: dict[str, tuple[str, list[Row]]], seconds: float) -> None:
    version = output(str(binary), "version").splitlines()[0]
    lines = ["# Results", "",
             f"`./dev bench`, {time.strftime('%Y-%m-%d')}, {seconds / 60:.0f} minutes. {machine()}. {version}; "
             f"Apache Kafka {kafka_version()} (one node, acks=all) on the same cores, and so are generator, reader and meter. "
             "Records of 100 bytes, 8 lanes, unless said. Where a part has rounds, each figure is that of the round "
             "in the middle, and all of them are in brackets: the rate's ratio, the CPU, of lateness the p99 or its ratio. "
             "Before them come up to four that do not count, while the broker's compiler takes more than a twentieth of a "
             "core."]
    for name, (about, rows) in parts.items():
        lines += ["", f"## {name}", "", about, "", "| figure | value | goal | reached |", "|---|---|---|---|"]
        lines += [row.line() for row in rows]
    if any(name.startswith("growth_") for name in parts):
        lines += ["", "## growth", "", "![what grows with what](growth.svg)"]
    path.write_text("\n".join(lines) + "\n")
