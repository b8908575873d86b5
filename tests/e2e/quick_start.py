# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of README's quick start literally, except for the broker's address."""
from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from processes import ROOT, Bridge
from stage import Stage, require

SECTION = re.compile(r"## Quick start on your own Kafka\n(.*?)\n## ", re.S)
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.S)


def blocks() -> list[tuple[str, list[str]]]:
    """Returns the language and the lines of each block of the section."""
    text = SECTION.search((ROOT / "README.md").read_text())
    require(text, "README.md has no quick start")
    return [(language, lines.splitlines()) for language, lines in BLOCK.findall(text[1])]


def edited(printed: str, keys: list[str]) -> str:
    """Returns the printed configuration with the keys of the page."""
    names = {line.split(":")[0] for line in keys if not line.startswith(" ")}
    kept, skipping = [], False
    for line in printed.splitlines():
        if line and not line.startswith((" ", "#")):
            skipping = line.split(":")[0] in names
        if not skipping or line.startswith("#"):
            kept.append(line)
    return "\n".join(kept + keys) + "\n"


def quick_start(stage: Stage) -> str:
    """README's quick start, line by line, on a separate broker."""
    stage.broker()
    tools = subprocess.run([ROOT / "tests" / "kafka" / "kafka", "tools"], capture_output=True, text=True, check=False)
    require(tools.returncode == 0, tools.stderr)
    folder = stage.folder / "quick"
    folder.mkdir()
    (folder / "delaybridge").symlink_to(stage.binary)
    env = {**os.environ, "PATH": f"{folder}:{tools.stdout.strip()}:{os.environ['PATH']}", "DELAYBRIDGE_LISTEN": ""}

    def shell(line: str) -> str:
        line = line.split("  #")[0].strip().replace("localhost:9092", stage.kafka.bootstrap)
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, check=False)
        wanted = 78 if line == "delaybridge topics plan" else 0
        require(done.returncode == wanted, f"{line}: the command ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    n, last = 0, ""
    for language, lines in blocks():
        if language == "yaml":
            path = folder / "delaybridge.yaml"
            text = edited(path.read_text(), lines)
            path.write_text(text.replace("localhost:9092", stage.kafka.bootstrap))
            continue
        for line in lines:
            n += 1
            if line.startswith("delaybridge run"):
                start(stage, folder / "delaybridge.yaml")
            else:
                last = shell(line)
    require("order-17" in last and '{"order": 17}' in last and "dlb-source" in last, f"no delivery came:\n{last}")
    return f"{n} lines run, and the delivery came"


def start(stage: Stage, path: Path) -> None:
    """Runs the bridge in a first terminal and waits until it has its lanes."""
    text = path.read_text().replace("listen: 127.0.0.1:9404", 'listen: ""')
    path.write_text(text)
    Bridge(stage.binary, path, "quick").start()
    require(stage.admin.wait_members(stage.group, 1), "run does not join its group")
    time.sleep(1)


SCENARIOS = {"quick_start": quick_start}
