#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios against a real Kafka and says a line of figures for each.

  run.py [--full] [--seed N] [--jobs N] [--binary PATH] [--sanitized PATH] [--keep] [SCENARIO...]
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import admin
import admin_live
import admin_properties
import administered
import among
import bad_input
import cancel_commands
import cancels
import compat
import cut
import dev_differs
import dev_examples
import dev_mode
import events
import everyday
import found
import histories
import hostile
import instance_ids
import instant
import known
import limited
import managed
import memory
import mirrored
import messages
import network
import oidc
import order_timeout
import own_topics
import page
import paused
import promises
import quick_start
import reading
import redriven
import replaced
import restored
import retries
import scenarios
import secured
import share_groups
import slow
import split
import spring_topics
import stalled
import static
import targets
import throttled
import transacted
import unpacked
import versions
import waiting
from archive import SHORT_LIVED, make_archive
from confluent_kafka import KafkaException
from harness import HarnessError
from processes import NEWER, ROOT, Bridge, end_leftovers, files_of_bridges, newer_client
from stage import Fault, Skip, Stage, Unsure, late
from turns import play_in_turns, stopped

PARTS = (scenarios, static, instance_ids, stalled, targets, transacted, network, secured, histories, replaced, limited, administered,
         waiting, bad_input, promises, reading, memory, unpacked, versions, quick_start, among, own_topics, slow,
         everyday, throttled, found, hostile, instant, compat, redriven, cancels, cancel_commands, events, order_timeout, restored, retries, cut,
         mirrored, share_groups, split, spring_topics, paused, known, managed, dev_mode, dev_differs, dev_examples, admin, admin_live,
         admin_properties, page, oidc)
ALL = {name: play for part in PARTS for name, play in part.SCENARIOS.items()}
# They judge time or the processor alone, which means little while other scenarios share the machine: on demand.
TIMED = {"among", "drain", "idle", "static_exactly"}
# Not in the reduced set, where time counts: with --full, or by name. Of a pair whose modes share the mechanism, one half.
ON_DEMAND = {"aborted_requests", "apply_three", "bad_targets", "broker_blink", "broker_hangs", "broker_hangs_exactly",
             "broker_restart", "cancel_commands_exactly", "cancels", "cancels_upgraded",
             "cancels_upgraded_exactly", "chaos", "clock_step", "cut", "damaged_exactly", "fenced", "fenced_exactly",
             "full_disk_exactly", "group_refused", "group_refused_exactly", "guides", "held_requests",
             "histories_exactly", "hostile", "huge_unpacked_exactly", "letters_in_order", "level_deleted",
             "level_replaced", "many_targets", "many_targets_exactly", "may_not_alter",
             "mixed_versions_exactly", "offsets_expire", "offsets_expire_exactly", "packed_many_exactly",
             "packed_one", "packed_refused", "packed_refused_exactly", "partitioned", "policy",
             "redriven_exactly", "retries_exactly", "secured_exactly", "short_commits",
             "short_commits_exactly", "small_request_limit", "smallest_request_limit",
             "smallest_request_limit_exactly", "target_deleted_exactly", "three_brokers_exactly", "throttled",
             "topics_awaited", "trim_forbidden", "unreadable_exactly", "waiting_millions"} | TIMED | among.ON_DEMAND | own_topics.ON_DEMAND | \
             slow.ON_DEMAND | \
             order_timeout.ON_DEMAND | restored.ON_DEMAND | events.ON_DEMAND | share_groups.ON_DEMAND | \
             split.ON_DEMAND | spring_topics.ON_DEMAND | paused.ON_DEMAND | dev_examples.ON_DEMAND | \
             set(instance_ids.SCENARIOS) | known.ON_DEMAND | managed.ON_DEMAND | cut.ON_DEMAND | mirrored.ON_DEMAND | \
             admin.ON_DEMAND | admin_live.ON_DEMAND | admin_properties.ON_DEMAND | oidc.ON_DEMAND | \
             set(page.SCENARIOS)
# Three brokers each, and faults in a clock's time: first, and each in three places.
HEAVY = {"smallest_request_limit", "smallest_request_limit_exactly", "three_brokers", "three_brokers_exactly", "chaos",
         "chaos_exactly", "broker_hangs", "broker_hangs_exactly", *cut.ON_DEMAND}
# They compare lateness with and without a fault, or load the machine, so fewer others run next to them: two places each.
COMPARING = {"among", "own_cancelled", "bad_targets", "bad_targets_exactly", "huge_unpacked", "burst_with_events_exactly",
             *hostile.SCENARIOS}
# They compare the tail of lateness with exactly-once, which others next to them make late: alone, when all others ended.
ALONE = {"among_exactly", "own_topics_exactly"}
# About a minute and more each: before the others, so that none of them is the last to run.
LONG = ("histories", "among", "held_requests_exactly", "kill9", "kill9_exactly", "bad_topics", "rebalance",
        "operated", "broker_blink", "broker_blink_exactly", "broker_restart", "broker_restart_exactly", "full_disk",
        "clock_step", "clock_step_exactly", "bad_targets", "bad_targets_exactly", "level_deleted_exactly")
ALL_PLACES = 1000
SANITIZED = ("mixed", "operated")
ONLY_SANITIZED = tuple(hostile.SCENARIOS)  # without a sanitizer they show little
ENDS = {"PASSED": 0, "FAILED": 1, "LATE": 2, "UNSURE": 3, "HARNESS": 4, "SKIPPED": 77}
# The product throws no exception here: these come from the clients of the tests and from the tools that the tests run.
HARNESS = (HarnessError, KafkaException, subprocess.CalledProcessError)
SANITIZER = re.compile(r"(Address|Leak|Thread)Sanitizer|runtime error:|Assertion .* failed")
GROUPS = {"bad_input": list(bad_input.SCENARIOS)}
LIMIT = -1000  # in place of the exit code of a scenario that does not end
CAUSE = "cause.txt"
CAUSE_MAX = 300  # characters of a failure, in the last lines


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="*", help="those named; all, if none is")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--full", action="store_true", help="full counts (the default is reduced ones)")
    parser.add_argument("--reduced", action="store_false", dest="full")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time (figures suffer)")
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "delaybridge")
    parser.add_argument("--sanitized", type=Path, help=f"a second binary, on which {', '.join(SANITIZED + ONLY_SANITIZED)} run")
    parser.add_argument("--in", type=Path, dest="folder", help=argparse.SUPPRESS)
    parser.add_argument("--beside", type=int, metavar="GROUP",
                        help="other work: a process group, which is stopped while a scenario runs once more, alone")
    parser.add_argument("--kafka", metavar="VERSION", help="the version of the brokers; before 3.3 with ZooKeeper")
    parser.add_argument("--librdkafka", metavar="VERSION", help="the version of the bridge's library")
    parser.add_argument("--newer", action="store_const", const=NEWER, dest="librdkafka", help=f"--librdkafka {NEWER}")
    parser.add_argument("--keep", action="store_true", help="keep the folders (they are kept on a failure)")
    return parser.parse_args()


def cause(text: str) -> str:
    """Returns the line of a failure that says most: the first one of a sentence, the last one of a traceback."""
    lines = text.strip().splitlines() or [""]
    return lines[-1 if lines[0].startswith("Traceback") else 0][:CAUSE_MAX]


def sanitized(logs: list[Path]) -> Path | None:
    """Returns a log with a report of a sanitizer."""
    return next((log for log in logs if SANITIZER.search(log.read_text(errors="replace"))), None)


def play(name: str, options: argparse.Namespace, folder: Path) -> int:
    """Runs one here and says its line; returns one of ENDS."""
    stage = Stage(folder, options.binary.resolve(), options.full, options.seed)
    label, start = Turn(name, options.binary).label(), time.monotonic()
    try:
        outcome, text = "PASSED", f"{ALL[name](stage)}{stage.judge_levels()}"
    except Skip as skip:
        outcome, text = "SKIPPED", str(skip)
    except Unsure as unsure:
        outcome, text = "UNSURE", str(unsure)
    except Fault as fault:
        outcome, text = "FAILED", str(fault)
    except HARNESS:
        outcome, text = "HARNESS", traceback.format_exc()
    except Exception:  # pylint: disable=broad-except
        outcome, text = "FAILED", traceback.format_exc()
    if outcome == "PASSED" and late:
        outcome, text = "LATE", "; ".join(late)
    if outcome == "HARNESS" and (crashed := [bridge for bridge in Bridge.all if bridge.crashed()]):
        outcome, text = "FAILED", f"{text}\nthe bridge has crashed: {crashed[0].tail()}"
    try:
        stage.close()
    except Exception:  # pylint: disable=broad-except
        print(f"{name}: cleaning up: {traceback.format_exc()}")
    logs = files_of_bridges(folder, "*.log")
    if outcome == "PASSED" and (unsaid := messages.unsaid(name, logs)):
        outcome, text = "FAILED", f"no log has the messages {unsaid}"
    if outcome in ("PASSED", "LATE", "HARNESS") and (log := sanitized(logs)):
        outcome, text = "FAILED", f"a sanitizer's report is in {log}"
    print(f"{outcome:7} {label} ({time.monotonic() - start:.0f} s, seed {options.seed}, hold {stage.hold}): {text}", flush=True)
    (folder / CAUSE).write_text(cause(text))
    return ENDS[outcome]


@dataclass(frozen=True)
class Turn:
    """A scenario on a binary."""
    name: str
    binary: Path

    def label(self) -> str:
        build = self.binary.resolve().parent.name
        return self.name if build == "release" else f"{self.name} on {build}"

    def places(self) -> int:
        if self.name in ALONE:
            return ALL_PLACES
        return 3 if self.name in HEAVY else 2 if self.name in COMPARING else 1

    def order(self) -> int:
        """Heavy ones are first, long ones next, and those that run alone are last."""
        if self.name in ALONE:
            return len(LONG) + 1
        if self.name in HEAVY:
            return -1
        return LONG.index(self.name) if self.name in LONG else len(LONG)


@dataclass
class Tally:
    """The results of all scenarios so far."""
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)  # by label, of the last failure


def play_apart(turn: Turn, options: argparse.Namespace, tally: Tally) -> str:
    """Runs one scenario in a separate process, so that its clients end with it. Returns an outcome of ENDS in lower case. A
    signal that ends this process, which only has clients of the tests, is a failure of the harness."""
    name = turn.name
    folder = Path(tempfile.mkdtemp(prefix=f"delaybridge-{name}."))
    again = apart_from_mounts(name) + [sys.executable, __file__, name, "--in", str(folder), "--binary", str(turn.binary),
             "--seed", str(options.seed), "--full" if options.full else "--reduced"]
    try:
        code = subprocess.run(again, check=False, timeout=3600 if options.full else 600).returncode
    except subprocess.TimeoutExpired:
        code = LIMIT
    finally:
        end_leftovers(folder)
    outcome = next((end.lower() for end, number in ENDS.items() if number == code), "harness" if LIMIT < code < 0 else "failed")
    if outcome == "harness" and sanitized(files_of_bridges(folder, "*.log")):
        outcome = "failed"
    crash = f"the scenario itself ended with {code}" if code != LIMIT else "the scenario itself did not end in time"
    if code not in ENDS.values():
        print(f"{outcome.upper():7} {name}: {crash}", flush=True)
    if (file := folder / "totals.json").exists() and (counted := json.loads(file.read_text())):
        tally.totals[name] = counted
    if outcome in ("failed", "late", "unsure", "harness"):
        said = folder / CAUSE
        tally.causes[turn.label()] = "the harness failed: " * (outcome == "harness") + (said.read_text() if said.exists() else crash)
        print(f"        seed {options.seed}, logs in {folder}", flush=True)
    elif not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def apart_from_mounts(name: str) -> list[str]:
    """Returns the command that gives a scenario separate mounts, which end with its last process. Without the right to
    separate mounts the scenario mounts its disk here, and is skipped if it cannot."""
    apart = ["unshare", "-m"]
    if not name.startswith("full_disk") or shutil.which(apart[0]) is None:
        return []
    return apart if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0 else []


def table(totals: dict[str, dict[str, int]]) -> str:
    """What the scenarios counted, and the sum; of kinds there are no more than the most that one has met."""
    rows = sorted({row for counted in totals.values() for row in counted})
    lines = ["| | " + " | ".join(totals) + " | all |", "|---|" + "---|" * (len(totals) + 1)]
    for row in rows:
        each = [counted.get(row, 0) for counted in totals.values()]
        whole = max(each) if row.startswith("kinds") else sum(each)
        lines.append(f"| {row} | " + " | ".join(f"{n:,}" for n in [*each, whole]) + " |")
    return "\n".join(lines)


def main() -> int:
    options = arguments()
    if options.list:
        for name, function in ALL.items():
            print(f"{name:22} {'(--full) ' * (name in ON_DEMAND)}{function.__doc__.splitlines()[0]}")
        return 0
    reduced = [name for name in ALL if (options.full or name not in ON_DEMAND) and name not in ONLY_SANITIZED]
    names = [n for name in options.scenario or reduced for n in GROUPS.get(name, [name])]
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"run.py: no scenario {', '.join(unknown)} (--list names them)", file=sys.stderr)
        return 64
    turns = [Turn(name, options.binary) for name in names]
    if options.sanitized:
        turns += [Turn(name, options.sanitized) for name in SANITIZED + ONLY_SANITIZED
                  if options.full or name not in ON_DEMAND]
    for binary in {turn.binary for turn in turns}:
        if not binary.exists():
            print(f"run.py: {binary} is not there: ./dev build", file=sys.stderr)
            return 70
    if options.kafka:
        os.environ["KAFKA_VERSION"] = options.kafka
    if options.librdkafka:
        os.environ["LD_LIBRARY_PATH"] = newer_client(options.librdkafka)
    if options.folder:
        result = play(names[0], options, options.folder)
        sys.stdout.flush()
        os._exit(result)  # without freeing the clients: see client.Admin
    start = time.monotonic()
    if not options.full:
        os.environ.setdefault("KAFKA_JVM", SHORT_LIVED)
    make_archive()
    tally = Tally()
    turns.sort(key=Turn.order)
    outcomes = play_in_turns(turns, options.jobs, Turn.places, lambda turn: play_apart(turn, options, tally))
    doubtful = ["harness"] + (["unsure"] if not options.full else [])
    twice, harness = sum(outcome in doubtful for outcome in outcomes), outcomes.count("harness")
    if twice:
        print(f"{twice} unsure, or ended by a failure of the harness: once more, alone", flush=True)
        with stopped(options.beside):
            outcomes = [play_apart(turn, options, tally) if outcome in doubtful else outcome
                        for turn, outcome in zip(turns, outcomes)]
    # A time means little while others share the machine.
    failed = ("unsure", "harness") if options.jobs > 1 else ("unsure", "harness", "late")
    outcomes = ["failed" if outcome in failed else outcome for outcome in outcomes]
    slow = outcomes.count("late")
    if tally.totals:
        print(table(tally.totals))
    for turn, outcome in zip(turns, outcomes):
        if outcome in ("failed", "late"):
            print(f"e2e: {outcome}: {turn.label()}: {tally.causes[turn.label()]}")
    print(f"e2e: {len(turns)} run, {outcomes.count('passed')} passed, {outcomes.count('failed')} failed, "
          f"{f'{slow} late next to others, ' if slow else ''}"
          f"{outcomes.count('skipped')} skipped, {'full' if options.full else 'reduced'} counts, "
          f"{f'{twice} of them twice, ' if twice else ''}{f'{harness} failed by the harness, ' if harness else ''}"
          f"{'' if options.scenario or options.full else f'{len(ON_DEMAND)} left to --full, '}"
          f"seed {options.seed}, {time.monotonic() - start:.0f} s")
    return 1 if "failed" in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
