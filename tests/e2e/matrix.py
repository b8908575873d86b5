#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs crashes in both modes on other versions of Kafka and of librdkafka, with clang, and on arm64. The results are kept in
versions.json. docs/versions.md has them as a table, and README.md the versions that pass.

  matrix.py [--list] [--check] [ROW...]    --check: only compare the pages with the results
"""
from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from emulated import arm64_binary

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("versions.json")
BEGIN, END = "<!-- begin: ./dev matrix -->\n", "<!-- end -->\n"
SCENARIOS = ("kill9", "kill9_exactly")
SECONDS_MAX = 1200  # of a row


@dataclass(frozen=True)
class Row:
    name: str
    kafka: str = "4.1.1"
    librdkafka: str = "2.0.2"  # Debian 12's
    compiler: str = "gcc"
    processor: str = "amd64"
    about: str = ""


ROWS = [
    Row("kafka-2.8.2", kafka="2.8.2", about="with ZooKeeper"), Row("kafka-3.3.2", kafka="3.3.2"),
    Row("kafka-3.6.2", kafka="3.6.2"), Row("kafka-3.9.1", kafka="3.9.1"), Row("kafka-4.0.0", kafka="4.0.0"),
    Row("kafka-4.1.1", about="all tests run with these"), Row("kafka-4.4.0", kafka="4.4.0"),
    Row("librdkafka-2.3.0", librdkafka="2.3.0", about="as in Ubuntu 24.04"),
    Row("librdkafka-2.8.0", librdkafka="2.8.0", about="as in Debian 13"),
    Row("librdkafka-2.12.1", librdkafka="2.12.1", about="as in Alpine 3.23"),
    Row("librdkafka-2.16.1", librdkafka="2.16.1"), Row("clang", compiler="clang"),
    Row("arm64", librdkafka="2.8.0", processor="arm64", about="as in Debian 13, in an emulator"),
]


def binary_of(row: Row) -> Path:
    """Builds the program with the compiler of a row, unless ./dev has done it."""
    if row.processor == "arm64":
        return arm64_binary()
    if row.compiler == "gcc":
        return ROOT / "build" / "release" / "delaybridge"
    folder = ROOT / "build" / row.compiler
    for command in (["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_C_COMPILER={row.compiler}",
                     "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"],
                    ["cmake", "--build", folder, "--target", "delaybridge"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "delaybridge"


def run(row: Row) -> dict:
    """Returns the outcome of each scenario, with the date."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), "--reduced", "--kafka", row.kafka,
               "--binary", str(binary_of(row)), *SCENARIOS]
    if row.librdkafka != "2.0.2" and row.processor == "amd64":
        command += ["--librdkafka", row.librdkafka]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    print(done.stdout + done.stderr, flush=True)
    # A scenario that was unsure, or that the harness has ended, is run once more: the last outcome counts.
    seen = {name: outcome for outcome, name in re.findall(r"^(PASSED|FAILED|LATE|UNSURE|HARNESS|SKIPPED) +(\S+) ", done.stdout, re.M)}
    return {"date": f"{datetime.date.today()}", **{name: seen.get(name, "FAILED").lower() for name in SCENARIOS}}


def table(results: dict) -> str:
    lines = ["| Kafka | librdkafka | compiler | processor | killed, at least once | killed, exactly once | tested | |",
             "|---|---|---|---|---|---|---|---|"]
    for row in ROWS:
        if (seen := results.get(row.name)) is not None:
            outcomes = " | ".join(seen[name] for name in SCENARIOS)
            lines.append(f"| {row.kafka} | {row.librdkafka} | {row.compiler} | {row.processor} | {outcomes} | {seen['date']} | {row.about} |")
    return "\n".join(lines) + "\n"


def passing(results: dict) -> str:
    """Returns a table of the versions that have passed in some row, as short as README.md needs it."""
    passed = [row for row in ROWS if all(results.get(row.name, {}).get(name) == "passed" for name in SCENARIOS)]

    def cell(key: str) -> str:
        seen = dict.fromkeys(getattr(row, key) for row in passed)
        return ", ".join(sorted(seen, key=lambda word: [int(number) for number in re.findall(r"\d+", word)]))

    return ("| Kafka | librdkafka | compiler | processor |\n|---|---|---|---|\n"
            f"| {cell('kafka')} | {cell('librdkafka')} | {cell('compiler')} | {cell('processor')} |\n")


PAGES = {ROOT / "docs" / "versions.md": table, ROOT / "README.md": passing}


def with_results(page: Path, results: dict) -> str:
    """Returns the text of a page with the table of these results."""
    before, rest = page.read_text().split(BEGIN)
    return before + BEGIN + PAGES[page](results) + END + rest.split(END)[1]


def check(results: dict) -> int:
    wrong = [str(page.relative_to(ROOT)) for page in PAGES if page.read_text() != with_results(page, results)]
    print(f"matrix: {', '.join(wrong)} differ from {RESULTS.name}: run ./dev matrix" if wrong else "matrix: the pages have the results")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev matrix", description=__doc__.splitlines()[0])
    parser.add_argument("row", nargs="*", help="rows to run; all by default")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--check", action="store_true", help="compare the pages with the results")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.list:
        print("\n".join(f"{row.name:18} Kafka {row.kafka}, librdkafka {row.librdkafka}, {row.compiler}, {row.processor} {row.about}" for row in ROWS))
        return 0
    if options.check:
        return check(results)
    known = {row.name: row for row in ROWS}
    for name in options.row:
        if name not in known:
            print(f"matrix: no row {name} (--list shows them)", file=sys.stderr)
            return 64
    failed = []
    for row in [known[name] for name in options.row or known]:
        results[row.name] = run(row)
        if any(results[row.name][name] != "passed" for name in SCENARIOS):
            failed.append(row.name)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        for page in PAGES:
            page.write_text(with_results(page, results))
    print(f"matrix: {len(options.row or known)} rows, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
