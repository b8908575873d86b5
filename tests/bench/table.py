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

from peers import compared

ROOT = Path(__file__).resolve().parents[2]
STATED = "stated"  # the goal of a figure without a goal
BROKEN = "failed: see above"  # the value of a part that ended with an exception
COMPARISON = "Compared with other programs"


@dataclass(frozen=True)
class Row:
    what: str
    value: str
    goal: str
    reached: bool
    measure: float = 0.0  # The value that orders rounds.
    sound: bool = True    # False: an error that no other round can outweigh.
    data: object = None   # Input of a drawing or of the comparison.

    def line(self) -> str:
        verdict = "**no**" if not self.reached else "–" if self.goal == STATED else "yes"
        return f"| {self.what} | {self.value} | {self.goal} | {verdict} |"


def middle(rounds: list[list[Row]]) -> list[Row]:
    """Returns for each figure the median round with the values of all rounds, or a failed round if there is one."""
    rows = []
    for same in zip(*rounds):
        row = next((row for row in same if not row.sound), sorted(same, key=lambda row: row.measure)[len(same) // 2])
        if len(same) > 1 and any(one.measure for one in same):
            row = replace(row, value=f"{row.value} [{', '.join(f'{one.measure:.3g}' for one in same)}]")
        rows.append(replace(row, reached=row.reached and row.sound))
    return rows


def output(*args: str) -> str:
    done = subprocess.run(args, capture_output=True, text=True, check=True)
    return (done.stdout or done.stderr).strip()


def machine() -> str:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Linux {platform.release()}"


def kafka_version() -> str:
    return re.search(r"<artifactId>kafka_2[^<]*</artifactId>\s*<version>(.*?)<",
                     (ROOT / "tests" / "kafka" / "pom.xml").read_text()).group(1)


def java(options: str) -> str:
    version = re.search(r'"(.*?)"', output("java", "-version")).group(1)
    return f"Java {version}, heap {re.search('-Xmx([^ ]+)', options).group(1)} each"


def allocator(binary: Path) -> str:
    return "jemalloc" if "libjemalloc" in output("ldd", str(binary)) else "the C library's"


def changed() -> str:
    """Returns a mark if the tree differs from the commit of the build."""
    what = output("git", "-C", str(ROOT), "status", "--porcelain", "--", "bridge", "levels", "consumer", "tests/bench",
                  "CMakeLists.txt", ":!tests/bench/RESULTS.md", ":!tests/bench/*.svg")
    return " and changes that are in no commit" if what else ""


def version_of(binary: Path) -> str:
    return output(str(binary), "version").splitlines()[0] + changed()


def header(version: str, binary: Path, tool: Path, jvm: str, seconds: float) -> str:
    return (f"`./dev bench`, {time.strftime('%Y-%m-%d')}, {seconds / 60:.0f} minutes. {machine()}. {version}. "
            f"Apache Kafka {kafka_version()} ({java(jvm)}; acks=all) runs on the same cores as generator, reader and meter. Each "
            f"part names its number of brokers. The bridge uses {allocator(binary)}, and the bare loop and the tool "
            f"{allocator(tool)}. Records have 100 bytes, and there are 8 lanes, unless a part says otherwise. A figure is "
            "the median of its part's rounds, each figure by itself. Brackets contain the values of all rounds: the ratio of "
            "rates, the CPU, or for lateness the p99 or its ratio. Up to four cold rounds come first and do not count. A round "
            "is cold while the brokers' compilers use more than a twentieth of a core, and a part names cold rounds that count. "
            "The goal `stated` means that the figure has no goal.")


def measured(parts: dict[str, tuple[str, list[Row]]]) -> list[compared.Measured]:
    """Returns the figures of the compared programs."""
    return [row.data for _, rows in parts.values() for row in rows if isinstance(row.data, compared.Measured)]


def comparison(parts: dict[str, tuple[str, list[Row]]]) -> str:
    """Returns the comparison, or nothing if none of its figures was measured."""
    programs = measured(parts)
    return "\n".join([f"## {COMPARISON}", "", *compared.section(programs)]) + "\n" if programs else ""


def section(name: str, about: str, rows: list[Row]) -> str:
    lines = [f"## {name}", "", about, "", "| figure | value | goal | reached |", "|---|---|---|---|"]
    return "\n".join([*lines, *(row.line() for row in rows)]) + "\n"


def write(path: Path, head: str, parts: dict[str, tuple[str, list[Row]]]) -> None:
    sections = ["\n".join(["# Results", "", head, ""]), *filter(None, [comparison(parts)])]
    sections += [section(name, about, rows) for name, (about, rows) in parts.items()]
    if any(name.startswith("growth_") for name in parts):
        sections.append("## growth\n\n![growth of cost and lateness](growth.svg)\n")
    path.write_text("\n".join(sections))


def update(path: Path, version: str, order: list[str], parts: dict[str, tuple[str, list[Row]]]) -> None:
    """Replaces these parts of the table. Each one names its day and build."""
    kept = {text.split("\n", 1)[0]: text.rstrip("\n") + "\n" for text in re.split(r"(?m)^(?=## )", path.read_text())}
    today = time.strftime("%Y-%m-%d")
    kept |= {f"## {name}": section(name, f"{about} Of {today}, {version}.", rows) for name, (about, rows) in parts.items()}
    if programs := comparison(parts):
        kept[f"## {COMPARISON}"] = programs
    ranks = {f"## {name}": rank for rank, name in enumerate([*order, "growth"])}
    path.write_text("\n".join(text for _, text in sorted(kept.items(), key=lambda one: ranks.get(one[0], -1))))
