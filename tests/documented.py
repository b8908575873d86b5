#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents say of the log, the metrics and the alerts exists: each message that README's table of symptoms or
the runbook quotes is in the source, each metric has a unit test that moves it, and each alert has a test."""
from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Gauges of the process, of its build and of what a running service alone can tell: tests/e2e asserts these.
END_TO_END = re.compile(r"process_|delaybridge_(build_info|ready|canary_|lanes$|topic_findings|level_|partitions|held_|commit)")


def source_text() -> str:
    """All string literals of the program, with those that follow one another joined."""
    text = "\n".join(p.read_text() for d in ("bridge", "bridge/commands", "consumer", "levels")
                     for p in sorted((ROOT / d).glob("*.c")))
    return re.sub(r'"\s*\n\s*"', "", text)


def quoted_messages(text: str) -> list[str]:
    """Phrases in backticks in the first column of the table of symptoms."""
    rows = text.split("### Symptom, command, cure")[1].split("\n### ")[0].splitlines()
    first = [row.split(" | ")[0] for row in rows if row.startswith("| ")]
    return [m for cell in first for m in re.findall(r"`([^`]+)`", cell) if " " in m]


def lacks(source: str, message: str) -> bool:
    """The parts of a message around an ellipsis or a value are all in the source."""
    return any(part.strip() not in source for part in re.split(r"…|, exit \d+", message))


def main() -> int:
    source, faults = source_text(), []
    for message in quoted_messages((ROOT / "README.md").read_text()):
        if lacks(source, message):
            faults.append(f"README.md quotes a message that no source file has: {message}")
    table = (ROOT / "bridge/metrics.c").read_text()
    tests = "\n".join(p.read_text() for d in ("unit", "e2e") for p in sorted((ROOT / "tests" / d).glob("*.*"))
                      if p.suffix in (".c", ".py"))
    for name in re.findall(r'^    {"((?:delaybridge|process)_[a-z_]+)"', table, re.M):
        if name not in tests and name.removeprefix("delaybridge_") not in tests and not END_TO_END.match(name):
            faults.append(f"no test moves the metric {name}")
    alerts = (ROOT / "deploy/prometheus/alerts.yaml").read_text()
    alert_tests = (ROOT / "deploy/prometheus/alerts_test.yaml").read_text()
    for name in re.findall(r"- alert: (\w+)", alerts):
        if len(re.findall(rf"alertname: {name}\b", alert_tests)) < 2:
            faults.append(f"no test fires the alert {name}")
    print("\n".join(faults) or "documented: all messages, metrics and alerts exist and have tests")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
