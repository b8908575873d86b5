#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages of docs/ come from the tables of the program: commands and their options, keys of the
configuration, metrics. `delaybridge help` and the manual page print the same rows.

  pages.py BINARY            fail if a page differs from the tables
  pages.py BINARY --update   write the pages"""
from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = re.compile(r"(<!-- generated: (\w+)[^>]* -->\n).*?(<!-- /generated -->)", re.S)


def output(binary: str, *options: str) -> str:
    return subprocess.run([binary, *options], capture_output=True, text=True, check=True).stdout


def cell(text: str) -> str:
    """Returns a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def prose(text: str) -> str:
    """Returns a text without characters that Markdown interprets."""
    return text.replace("*", "\\*").replace("_", "\\_")


def option_row(option: dict) -> str:
    value = option["value"]
    term = f"{option['name']} {value}" if value else option["name"]
    notes = [note for note, holds in (("required", option["required"]), ("can be repeated", option["repeatable"]))
             if holds and note not in option["help"]]
    default = f" Default: `{option['initial']}`." if option["initial"] is not None else ""
    help_text = option["help"] + "".join(f", {note}" for note in notes)
    return f"| `{cell(term)}` | {cell(help_text)}.{default} |\n"


def options_table(options: list[dict]) -> str:
    if not options:
        return ""
    return "\n| option | meaning |\n|---|---|\n" + "".join(map(option_row, options))


def help_text(text: str) -> str:
    """Returns the sentences of a command, with its indented lines as a block."""
    parts, block = [], []
    for line in text.splitlines() + [""]:
        if line.startswith("  "):
            block.append(line[2:])
            continue
        if block:
            parts += ["", "```text", *block, "```", ""]
            block = []
        parts.append(prose(line))
    return "\n".join(parts).strip() + "\n"


def commands(tables: dict) -> str:
    text = ""
    for command in tables["commands"]:
        usage = " ".join(filter(None, ("delaybridge", command["name"], command["operands"],
                                       "[OPTIONS]" if command["options"] else "")))
        text += f"\n## {command['name']}\n\n```text\n{usage}\n```\n\n{sentence(command['summary'])}.\n"
        text += f"\n{help_text(command['help'])}" if command["help"] else ""
        text += options_table(command["options"])
    return text + "\n## Options of every command\n" + options_table(tables["options"]) + "\n"


def keys(tables: dict) -> str:
    text = ""
    for key in tables["keys"]:
        facts = []
        if key["initial"]:
            facts.append(f"Default: `{key['initial']}`.")
        elif key["initial"] == "":
            facts.append("Default: empty.")
        if key["example"] is not None and not key["initial"]:
            facts.append(f"Example: `{key['example']}`.")
        if key["flag"]:
            facts.append(f"Flag `{key['flag']}`, variable `{key['variable']}`.")
        facts.append("SIGHUP changes it." if key["live"] else "")
        text += f"\n### {key['name']}\n\n{prose(key['help'])}\n\n{' '.join(filter(None, facts))}\n"
    return text + "\n"


def metrics(table: str) -> str:
    rows = [line.split("\t") for line in table.splitlines()]
    return "| metric | type | labels | meaning |\n|---|---|---|---|\n" + "".join(
        f"| `{name}` | {kind} | {'' if labels == '-' else ', '.join(f'`{label}`' for label in labels.split(','))} | {cell(text)} |\n"
        for name, kind, labels, text in rows)


def bytes_text(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def limits(size: dict, least: dict) -> str:
    """Returns what a load needs more of than the smallest load does."""
    words = {"workers": "CPU of the workers", "lanes": "windows of the lanes", "brokers": "network of the brokers"}
    return ", ".join(word for name, word in words.items() if size[name] > least[name]) or "none: the default suffices"


def sizes(binary: str) -> str:
    """Returns what `size` prints for loads from 100 to a million requests a second."""
    rates = ("100", "1k", "10k", "100k", "1M")
    found = {rate: json.loads(output(binary, "size", "-c", "/dev/null", "--rate", rate, "--delay", "15m", "-o", "json"))
             for rate in rates}
    return ("| requests a second | lanes | replicas of partitions | workers | brokers, at least | written a second | disk | "
            "first limits |\n|---|---|---|---|---|---|---|---|\n") + "".join(
        f"| {rate} | {size['lanes']} | {size['partition_replicas']} | {size['workers']} | {size['brokers']} | "
        f"{bytes_text(size['written_bytes_per_s'])} | {bytes_text(size['disk_bytes'])} | {limits(size, found['100'])} |\n"
        for rate, size in found.items())


def mix(binary: str) -> str:
    """Returns a command with a mix of delays and the figures that it prints."""
    options = "--mix 950@15m,99@14d,10@30d --cancelled 95"
    figures = output(binary, "size", "-c", "/dev/null", *options.split()).partition("\n\nLevel topics keep")[0]
    return f"```sh\ndelaybridge size {options}\n```\n\n```text\n{figures}\n```\n"


def main() -> int:
    binary, update = sys.argv[1], "--update" in sys.argv
    tables = json.loads(output(binary, "help", "-o", "json"))
    parts = {"commands": commands(tables), "keys": keys(tables), "metrics": metrics(output(binary, "help", "--metrics")),
             "sizes": sizes(binary), "mix": mix(binary)}
    stale, found = [], set()
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text()
        found |= {name for _, name, _ in GENERATED.findall(text)}
        wanted = GENERATED.sub(lambda match: match[1] + parts[match[2]] + match[3], text)
        if wanted != text:
            stale.append(page.name)
            if update:
                page.write_text(wanted)
    missing = sorted(set(parts) - found)
    if missing:
        print(f"pages: no page of docs/ has a generated part {', '.join(missing)}")
        return 1
    if stale and not update:
        print(f"pages: {', '.join(stale)}: not as the tables of the program, fixed by: tests/pages.py {binary} --update")
        return 1
    print(f"pages: {', '.join(stale)} written" if stale else "pages: all generated parts are as the program prints them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
