#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The messages, metrics and alerts of the documents exist and have tests, and documents repeat no measured number. Each message that the operating
pages quote is a constant in the source and has a test that makes it happen (tests/e2e/messages.py). The unit tests of the
metrics page show each metric with a value that is not zero. Each alert has a moment in which it fires, and one in which
it does not."""
from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from messages import SAID, parts  # noqa: E402  pylint: disable=wrong-import-position

DOCUMENTS = ("README.md", "deploy/prometheus/RUNBOOK.md", "docs/troubleshooting.md", "docs/operating.md", "docs/monitoring.md",
             "docs/guarantees.md")
# Phrases in backticks that are not messages: commands, options, "key: value", JSON.
OTHERS = re.compile(r"(delaybridge|\./dev|kafka-[a-z-]+\.sh|kcat|kubectl|systemctl|python3|topics|top|kill) |-|[\w.-]+: |{")
# Figures that only measurements have. They live in tests/bench/RESULTS.md alone.
MEASURED = re.compile(r"\d ?(?:µs|us)\b|\d ?% of (?:the CPU|the time|a core)|\d,\d{3}/s\b")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def joined(path: Path) -> str:
    """Returns a source in which adjacent string literals are joined."""
    return re.sub(r'"\s*\n\s*"', "", path.read_text())


def constants() -> list[str]:
    """Returns all string literals of the program."""
    files = [p for d in ("bridge", "consumer", "levels") for p in sorted((ROOT / d).rglob("*.c"))]
    return [literal for file in files for literal in LITERAL.findall(joined(file))]


def quoted(document: str) -> list[str]:
    """Returns the messages among the phrases in backticks."""
    text = re.sub(r"^```.*?^```", "", (ROOT / document).read_text(), flags=re.M | re.S)
    phrases = [" ".join(phrase.split()) for phrase in re.findall(r"`([^`]+)`", text)]
    return [phrase for phrase in phrases if " " in phrase and not OTHERS.match(phrase)]


def has_test(phrase: str) -> bool:
    """Returns whether the test exists. Logs of scenarios are searched by run.py; another test must contain the words."""
    test = SAID[phrase]
    if "/" in test:
        file = ROOT / test
        return file.exists() and all(part in joined(file) for part in parts(phrase))
    scenarios = "".join(p.read_text() for p in (ROOT / "tests" / "e2e").glob("*.py"))
    return any(f"def {name}(" in scenarios for name in (test, test.removesuffix("_exactly")))


def faults_of_messages() -> list[str]:
    source, wanted = constants(), {phrase: document for document in DOCUMENTS for phrase in quoted(document)}
    faults = []
    for phrase, document in wanted.items():
        if not any(all(part in literal for part in parts(phrase)) for literal in source):
            faults.append(f"{document} quotes a message that no source file has: {phrase}")
        if phrase not in SAID:
            faults.append(f"{document} quotes a message that tests/e2e/messages.py does not name: {phrase}")
        elif not has_test(phrase):
            faults.append(f"tests/e2e/messages.py: {SAID[phrase]} does not test {phrase}")
    return faults + [f"tests/e2e/messages.py: no document quotes {phrase}" for phrase in SAID if phrase not in wanted]


def moved(tests: str, name: str) -> bool:
    """Returns whether a test expects another value than zero on the metrics page, or reads the value."""
    shown = re.findall(rf'\bcr_expect\(\s*says\("{name}(?:_bucket|_sum|_count)?(?:{{[^}}]*}})? ([0-9.]+)"', tests)
    shown += re.findall(rf'"{name}(?:{{[^}}]*}})? ([0-9.]+)"', tests) if "_info" in name else []
    return any(float(value) != 0 for value in shown) or f'value_of("{name}")' in tests


def faults_of_metrics() -> list[str]:
    table, tests = (ROOT / "bridge/service/metrics.c").read_text(), joined(ROOT / "tests/unit/service/test_metrics.c")
    names = re.findall(r'^    {"((?:delaybridge|process)_[a-z_]+)"', table, re.M)
    tests = tests.replace('\\"', "'")
    return [f"no test moves the metric {name}" for name in names if not moved(tests, name)]


def faults_of_alerts() -> list[str]:
    alerts = (ROOT / "deploy/prometheus/alerts.yaml").read_text()
    tests = (ROOT / "deploy/prometheus/alerts_test.yaml").read_text()
    moments = re.findall(r"alertname: (\w+),?\s+exp_alerts: *(\[\])?", tests)
    faults = []
    for name in re.findall(r"- alert: (\w+)", alerts):
        if (name, "") not in moments:
            faults.append(f"no test fires the alert {name}")
        if (name, "[]") not in moments:
            faults.append(f"no test keeps the alert {name} from firing")
    return faults


def faults_of_figures() -> list[str]:
    """Finds measured numbers in the documents. A number there becomes wrong when the program changes."""
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    lines = [(page.relative_to(ROOT), n, line) for page in pages for n, line in enumerate(page.read_text().splitlines(), 1)]
    return [f"{page}:{n} repeats a measured number, link to tests/bench/RESULTS.md instead: {found[0]}"
            for page, n, line in lines if (found := MEASURED.search(line))]


def main() -> int:
    faults = faults_of_messages() + faults_of_metrics() + faults_of_alerts() + faults_of_figures()
    print("\n".join(faults) or "documented: messages, metrics and alerts exist and have tests, no figure is repeated")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
