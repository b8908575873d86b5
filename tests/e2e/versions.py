# SPDX-License-Identifier: Apache-2.0
"""Programs of two versions in one group: an upgrade, a rollback, and records that only the newer one can read."""
from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

from contract import Request, Seen
from processes import ROOT, Bridge
from stage import Skip, Stage, both_modes, judge, require, until
from verifier import right

# The last commit whose program knows only version 1 of the envelope.
OLDER = "37be92dade61d9f0f1ebe185b128588f86214ec5"
WAITING = 5000
WAIT_MS = 17_000
LEVELS = ["1s", "5s", "10s"]
BLOCKED = "was written by a newer delaybridge: the partition is held"


def older_binary(commit: str = OLDER) -> Path:
    """Returns the program of this commit, built once from this repository's history."""
    folder = Path(os.environ.get("DEV_CACHE", ROOT / ".cache")) / "older" / commit[:12]
    binary = folder / "build" / "delaybridge"
    if binary.exists():
        return binary
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False)
    if archive.returncode != 0:
        require("CI" not in os.environ, f"commit {commit[:12]} is not in this checkout: the workflow must fetch all history")
        raise Skip(f"commit {commit[:12]} is not in this checkout: fetch the whole history")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
        sources.extractall(folder)
    for command in (["cmake", "-S", str(folder), "-B", str(folder / "build"), "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=RelWithDebInfo"],
                    ["cmake", "--build", str(folder / "build"), "--target", "delaybridge"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        require(done.returncode == 0, f"the older program does not build: {(done.stdout + done.stderr)[-800:]}")
    return binary


class Rollout:
    """The processes of the group, which are replaced one after the other."""

    def __init__(self, stage: Stage, config: Path):
        self.stage, self.config, self.running, self.all = stage, config, [], []

    def start(self, binary: Path, name: str) -> Bridge:
        bridge = Bridge(binary, self.config, name).start()
        self.running.append(bridge)
        self.all.append(bridge)
        require(self.stage.admin.wait_members(self.stage.group, len(self.running)),
                f"{name} did not get lanes:\n{bridge.tail()}")
        return bridge

    def stop(self, bridge: Bridge) -> None:
        require(bridge.stop() == 0, f"{bridge.name} did not end cleanly:\n{bridge.tail()}")
        self.running.remove(bridge)

    def replace_all(self, binary: Path, name: str) -> None:
        for n, bridge in enumerate(list(self.running)):
            self.start(binary, f"{name}-{n}")
            self.stop(bridge)

    def says(self, words: str) -> bool:
        return any(words in bridge.log.read_text(errors="replace") for bridge in self.all)


def ask(stage: Stage, count: int, target: str, delay_ms: int, keyless: bool = False) -> list[Request]:
    """Sends requests to all lanes. keyless: the delivery has no key."""
    first = len(stage.sender.journal)
    for n in range(count):
        key = b"k%d" % (n % 100)
        headers = [("dlb-delay", b"%dms" % delay_ms), ("dlb-target", target.encode())]
        if keyless:
            headers.append(("dlb-key", None))
        stage.sender.send(Request(key, b"value %d" % n, headers, f"to {target} in {delay_ms} ms", None, target,
                                  delay_ms=delay_ms, out_key=None if keyless else key))
    stage.sender.flush()
    return stage.sender.journal[first:]


def errors_shown(stage: Stage, config: Path) -> list[dict]:
    """Returns the errors that peek shows for records that wait in 5s because of their target."""
    shown = stage.run("peek", "5s", "--limit", "100", "-o", "json", "-c", str(config)).stdout
    return [record for record in map(json.loads, shown.splitlines()) if record.get("last_error")]


def by_turn(seen: Seen) -> bool:
    """Judges a stamp of the older program, which uses the clock of its turn: the request may be younger."""
    return right(seen)


def records_of_version_1(stage: Stage, group: Rollout, older: Path) -> str:
    """An upgrade and a rollback while 5,000 records wait: no partition is blocked."""
    group.start(older, "older-0")
    group.start(older, "older-1")
    waiting = ask(stage, WAITING, "e2e.a", WAIT_MS)
    group.replace_all(stage.binary, "newer")
    waiting += ask(stage, WAITING // 10, "e2e.b", WAIT_MS)
    group.replace_all(older, "rolled-back")
    line = judge(stage.verify(waiting, timeout=60))
    require(not group.says("newer delaybridge"), "a process is blocked by a record of version 1")
    return line


def records_of_version_2(stage: Stage, group: Rollout, older: Path) -> str:
    """A record that its target refused blocks its partition only for the older program."""
    stage.admin.set("e2e.c", cleanup_policy="compact")  # refuses records without a key
    newer = group.start(stage.binary, "newer-again")
    old, spare = group.running[0], group.running[1]
    group.stop(spare)
    refused = ask(stage, 20, "e2e.c", 0, keyless=True)
    shown = until("peek shows why a record waits", lambda: errors_shown(stage, group.config))[0]
    require(shown["last_error"]["code"] == "unfit" and shown["last_error"]["text"] and shown["attempt"] >= 1
            and shown["next_try"], f"peek shows a different reason: {shown}")
    until("levels shows that they are redelivering", lambda: any(
        level["level"] == "5s" and level["redelivering"] > 0 and level["redelivering_overdue_ms"] > 0
        for level in json.loads(stage.run("levels", "-o", "json", "-c", str(group.config)).stdout)["levels"]))
    group.stop(newer)
    until("the older program says that it is blocked", lambda: group.says(BLOCKED))
    ask(stage, 50, "e2e.a", 0)  # only a partition of a level is blocked
    judge(stage.verify([r for r in stage.sender.journal if r not in refused], timeout=20, showed=by_turn))
    require(not stage.collector.of("schedule.dead-letter"), "the older program dead-lettered a record")
    stage.admin.set("e2e.c", cleanup_policy="delete")
    group.start(stage.binary, "newer-last")
    group.stop(old)
    judge(stage.verify(timeout=60, showed=by_turn))
    require(not stage.collector.of("schedule.dead-letter"), "a record was dead-lettered")
    return f"{len(refused)} refused records blocked the older program and came with the newer one"


def mixed_versions(stage: Stage) -> str:
    """Processes are upgraded one by one and rolled back: no record is lost, and only version 2 blocks."""
    stage.use_levels()  # an older program plans with all of its hold
    older = older_binary()
    config = stage.ready(levels=LEVELS)
    group = Rollout(stage, config)
    told = [records_of_version_1(stage, group, older), records_of_version_2(stage, group, older)]
    for bridge in list(group.running):
        group.stop(bridge)
    return "; ".join(told)


SCENARIOS = both_modes(mixed_versions)
