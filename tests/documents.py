#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents are consistent with themselves and with the program: links lead to files and headings, and
each block has a language. Each command is run or marked, and its options exist. Each configuration is accepted. No page
or cell is too long.

  documents.py DELAYBRIDGE"""
from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from blocks import ROOT, RUN, Block, blocks

# Pages for users and contributors. Links are checked in all others, too.
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/prometheus/RUNBOOK.md",
         *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"sh", "yaml", "text", "json", "python", "java", "go", "javascript", "c", "sql", "promql"}
LINES_MAX = {"README.md": 180, "ARCHITECTURE.md": 220}
LINES_OF_A_DECISION = 40
WORDS_OF_A_CELL = 55
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
SCRIPTS = {"kafka-topics.sh", "kafka-console-consumer.sh", "kafka-consumer-groups.sh", "kafka-acls.sh", "kafka-configs.sh",
           "kafka-transactions.sh", "kafka-leader-election.sh", "kafka-reassign-partitions.sh"}


def listed() -> list[str]:
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return sorted(name for name in done.stdout.split() if (ROOT / name).is_file()) or PAGES


def without_blocks(page: str) -> str:
    return re.sub(r"^\s*```.*?^\s*```", "", (ROOT / page).read_text(), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """Returns the anchors of headings, as forges make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", without_blocks(str(page.relative_to(ROOT))), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        n = 0
        while (name := f"{anchor}-{n}" if n else anchor) in found:
            n += 1
        found.add(name)
    return found


def faults_of_links(page: str) -> list[str]:
    faults = []
    for match in LINK.findall(re.sub(r"`[^`\n]*`", "", without_blocks(page))):
        link = match[0] or match[1]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        to = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        if not to.exists():
            faults.append(f"{page}: no such file: {link}")
        elif anchor and to.suffix == ".md" and anchor not in anchors(to):
            faults.append(f"{page}: no such heading: {link}")
    return faults


def faults_of_reach() -> list[str]:
    """Each page of docs/ is linked from the index of its folder."""
    faults = []
    for page in PAGES:
        folder = Path(page).parent
        if not page.startswith("docs/") or Path(page).name == "README.md":
            continue
        index = folder if (ROOT / folder / "README.md").exists() else folder.parent
        if f"({Path(page).relative_to(index)})" not in (ROOT / index / "README.md").read_text():
            faults.append(f"{index}/README.md: no link to {page}")
    return faults


def faults_of_symptoms() -> list[str]:
    """The index of troubleshooting.md has each of its sections, and a section names each alert."""
    page = "docs/troubleshooting.md"
    text = (ROOT / page).read_text()
    index = "".join(line for line in text.splitlines() if line.startswith("|"))
    faults = [f"{page}: its index lacks the section {heading}" for heading in re.findall(r"^### (.+)$", text, re.M)
              if f"[{heading}](#" not in index]
    alerts = re.findall(r"- alert: (\w+)", (ROOT / "deploy/prometheus/alerts.yaml").read_text())
    return faults + [f"{page}: no section names the alert {alert}" for alert in alerts if alert not in text]


def faults_of_live_keys(program: Program) -> list[str]:
    """operating.md names each key that SIGHUP changes."""
    section = re.search(r"## Change the configuration\n(.*?)\n## ", (ROOT / "docs/operating.md").read_text(), re.S)
    return [f"docs/operating.md: SIGHUP also changes {key}" for key in sorted(program.live)
            if section is None or f"`{key}`" not in section[1]]


def faults_of_size(page: str) -> list[str]:
    lines = (ROOT / page).read_text().splitlines()
    most = LINES_OF_A_DECISION if page.startswith("docs/adr/0") else LINES_MAX.get(page, 10000)
    faults = [f"{page}: {len(lines)} lines, {most} at most"] if len(lines) > most else []
    for number, line in enumerate(lines, 1):
        for cell in line.split("|") if line.startswith("|") else ():
            plain = re.sub(r"\]\([^)]*\)", "]", cell)
            if len(plain.split()) > WORDS_OF_A_CELL:
                faults.append(f"{page}:{number}: {len(plain.split())} words in a cell, {WORDS_OF_A_CELL} at most")
    return faults


class Program:
    """The commands and options that the program has."""

    def __init__(self, binary: str):
        self.binary = binary
        tables = json.loads(subprocess.run([binary, "help", "-o", "json"], capture_output=True, text=True, check=True).stdout)
        common = {option["name"]: option for option in tables["options"]}
        for key in tables["keys"]:
            if key["flag"]:
                common[key["flag"]] = {"kind": "text"}
        self.keys = {key["name"] for key in tables["keys"]}
        self.live = {key["name"] for key in tables["keys"] if key["live"]}
        self.commands = {command["name"]: {**common, **{o["name"]: o for o in command["options"]}}
                         for command in tables["commands"]}

    def fault_of(self, line: str) -> str | None:
        """Returns the fault of a command line of delaybridge, or None."""
        line = re.split(r" (?:\||>|&&|;|2>) ?", line)[0]
        words = shlex.split(line, comments=True)[1:]
        if not words or words[0] in ("COMMAND", "-c"):
            return None
        name, options = words[0], self.commands.get(words[0])
        if options is None:
            return f"no command {name}"
        for word in words[1:]:
            if not word.startswith("-") or word == "--" or re.match(r"-[Xcoh]", word) or word == "--help":
                continue
            if word.split("=")[0] not in options:
                return f"{name} has no option {word}"
        return None


def faults_of_commands(page: str, program: Program) -> list[str]:
    faults = []
    inline = re.findall(r"`(delaybridge [^`]+)`", without_blocks(page))
    lines = [(0, " ".join(line.split())) for line in inline]
    lines += [(block.line, line) for block in blocks(page) if block.language == "sh" for line in block.lines]
    for number, line in lines:
        for part in re.split(r" (?:\||&&) ", line):
            word = part.split()[0]
            fault = program.fault_of(part) if word == "delaybridge" and "…" not in part else \
                f"no such script of Kafka: {word}" if word.startswith("kafka-") and word not in SCRIPTS else None
            if fault:
                faults.append(f"{page}:{number}: {fault}: {line}")
    return faults


def faults_of_block(block: Block, program: Program) -> list[str]:
    where = f"{block.page}:{block.line}"
    if block.language not in LANGUAGES:
        return [f"{where}: a block without a known language: {block.language!r}"]
    if block.language == "sh" and not block.mark and block.page not in RUN:
        return [f"{where}: no test runs these commands: add the page to RUN in tests/blocks.py, or mark them"]
    if block.language == "yaml" and block.text.split(":")[0] in {key.split(".")[0] for key in program.keys}:
        return faults_of_configuration(block, program, where)
    return []


def faults_of_configuration(block: Block, program: Program, where: str) -> list[str]:
    """The program reads the block as its configuration. Secrets are files that do not exist here."""
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        secret.write_text("secret")
        path = Path(folder) / "block.yaml"
        path.write_text(re.sub(r"{file: [^}]*}", f"{{file: {secret}}}", block.text))
        done = subprocess.run([program.binary, "explain", "1s", "-c", str(path)], capture_output=True, text=True, check=False)
    if done.returncode == 0 or "not supported in this build" in done.stderr:  # a property that this client lacks
        return []
    return [f"{where}: the program refuses this configuration: {done.stderr.strip()}"]


def main() -> int:
    program = Program(sys.argv[1])
    faults = [fault for page in listed() for fault in faults_of_links(page)]
    faults += faults_of_reach() + faults_of_symptoms() + faults_of_live_keys(program)
    for page in PAGES:
        faults += faults_of_size(page) + faults_of_commands(page, program)
        faults += [fault for block in blocks(page) for fault in faults_of_block(block, program)]
    print("\n".join(faults) or f"documents: links, blocks and commands of {len(PAGES)} pages are right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
