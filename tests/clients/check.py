#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the table of cases (cases.tsv) with the helpers of deploy/clients, in each language that is installed. The suite
unit.client_cases judges the same table by the parser of the bridge.

  check.py [LANGUAGE...]"""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parent.parent / "deploy" / "clients"
CASES = str(HERE / "cases.tsv")


def python(_: Path) -> list[list[str]]:
    return [[sys.executable, str(HERE / "cases.py"), str(CLIENTS), CASES]]


def node(_: Path) -> list[list[str]]:
    return [["node", str(HERE / "cases.js"), str(CLIENTS), CASES]]


def go(work: Path) -> list[list[str]]:
    (work / "delaybridge").mkdir()
    shutil.copy(CLIENTS / "delaybridge.go", work / "delaybridge")
    shutil.copy(HERE / "cases.go", work)
    (work / "go.mod").write_text("module clients\n\ngo 1.18\n")
    return [["go", "vet", "./..."], ["go", "run", ".", CASES]]


def java(work: Path) -> list[list[str]]:
    return [["javac", "-Xlint:all", "-Werror", "--release", "11", "-d", str(work), str(CLIENTS / "Delaybridge.java"),
             str(HERE / "Cases.java")], ["java", "-XX:TieredStopAtLevel=1", "-cp", str(work), "Cases", CASES]]


LANGUAGES: dict[str, tuple[str, Callable[[Path], list[list[str]]]]] = {
    "python": (sys.executable, python), "node": ("node", node), "go": ("go", go), "java": ("javac", java)}


def fault_of(commands: list[list[str]], work: Path) -> str:
    for command in commands:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"{done.stdout}{done.stderr}".strip()
    return ""


def main() -> int:
    failed = False
    for name in sys.argv[1:] or LANGUAGES:
        tool, commands = LANGUAGES[name]
        if shutil.which(tool) is None:
            print(f"clients: {name}: SKIPPED: {tool} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            fault = fault_of(commands(Path(folder)), Path(folder))
        print(f"clients: {name}: {f'FAILED: {fault}' if fault else 'PASSED'}")
        failed |= bool(fault)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
