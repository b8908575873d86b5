#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the decisions about cancels, each planted in a copy of one source file. The stories or seeds of the
simulator must find each of them, or a suite of units. A mistake that lies between the bridge and its port is in bugs.h.

  mutants.py BUILD [NAME...]    BUILD: the folder of a debug build. Without a NAME: all of them"""
from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = 500


class Mutant(NamedTuple):
    name: str
    file: str
    old: str  # in the file once
    new: str
    suite: str = ""  # the unit suite that finds it, if the floor of five seals hides it from the simulator


MUTANTS = (
    Mutant("entry_of_replace_is_done", "bridge/core/cancel.c",
           "if (p->entry_kind == ENTRY_CANCEL) {", "if (p->entry_kind == ENTRY_CANCEL || p->entry_kind == ENTRY_REPLACE) {"),
    Mutant("entry_of_replace_is_foreseen", "bridge/core/cancel.c",
           "return p->entry_kind == ENTRY_NONE || p->entry_kind == ENTRY_CANCEL;", "return p != NULL;"),
    Mutant("orphan_entry_counts", "bridge/core/outcome.c",
           "(p->ownership != OWNED && (b->config.exactly_once || p->kind == FORWARD_CANCEL)) ||",
           "(p->ownership != OWNED && b->config.exactly_once) ||"),
    Mutant("replace_is_sent_before_its_entry", "bridge/core/forward.c",
           "if (p->entry_kind != ENTRY_NONE)\n        return send_entry(b, p);",
           "if (p->entry_kind == ENTRY_REPLACE)\n        parcel_drop_entry(b, p);\n"
           "    if (p->entry_kind != ENTRY_NONE)\n        return send_entry(b, p);"),
    Mutant("schedule_end_of_seal_ignored", "levels/seals.c",
           "*dead_below = covered < passed[0] ? covered : passed[0];", "*dead_below = passed[0] + 0 * covered;"),
    Mutant("no_floor_of_five_seals", "levels/seals.h", "SEALS_FLOOR = 5", "SEALS_FLOOR = 0"),
    Mutant("late_seal_counts", "levels/seals.c", "if (seal->number <= seals->last)\n        return;", "", "seals"),
    Mutant("late_barrier_counts", "bridge/core/restore.c", "if (number <= l->seals.last)\n        return;", ""),
    Mutant("death_by_read_position", "bridge/core/seal.c", ".cancels.passed[slot] = q->base_kept;",
           ".cancels.passed[slot] = q->window.next;"),
    Mutant("death_by_one_level_only", "levels/seals.c", "for (size_t i = 0; i < seals->parts_n; i++) {\n        if (passed[i] < ends_of",
           "for (size_t i = 0; i < 2; i++) {\n        if (passed[i] < ends_of"),
    Mutant("seal_covers_the_position_only", "bridge/core/seal.c",
           "l->covered_offset = l->requests_next > w->next ? l->requests_next : w->next;", "l->covered_offset = w->next;"),
    Mutant("drained_without_committed_base", "bridge/core/seal.c",
           "q->window.base == q->window.next &&\n           q->window.base == committed;", "committed < INT64_MAX;"),
    Mutant("drained_with_a_head", "bridge/core/seal.c", "q->state == QUEUE_OPEN && q->head == NULL &&", ""),
    Mutant("idle_level_never_passes", "bridge/core/seal.c", "return end > passed ? end : passed;",
           "return end > 0 ? passed : passed;"),
    Mutant("entry_forgotten_at_first_match", "levels/cancels.c", "slot->rest |= MATCHED;\n    return true;",
           "leave(table, slot);\n    return true;"),
    Mutant("no_pass_over_requests", "bridge/core/restore.c", "if (requests.from >= stable_end) {",
           "if (requests.from >= 0) {"),
    Mutant("seek_without_doubt", "bridge/core/restore.c", "queue_read_on(b, q);\n    }",
           "queue_read_on(b, q);\n        q->seek_pending = false;\n    }"),
    Mutant("no_seek_after_the_pass", "bridge/core/restore.c", "queue_read_on(b, q);\n    }", "}"),
    Mutant("slot_of_another_lane_used_again", "levels/cancels.c", "is_dead(table, slot))\n            first_dead = slot;",
           "offset_of(table, slot) < table->lanes[id].first + 1000)\n            first_dead = slot;"),
    Mutant("ready_record_without_fingerprint", "bridge/core/cancel_table.c",
           "if (!p->hashed)\n        cancel_table_hash(b, p);", "if (!p->hashed)\n        return false;"),
    Mutant("log_trimmed_to_the_passed_seal", "levels/seals.c", "*trim_below = seals->cancels_ends[at];",
           "*trim_below = seals->cancels_ends[at + SEALS_FLOOR];", "seals"),
    Mutant("replace_voids_itself", "levels/cancels.c", "offset_of(table, slot) <= origin", "offset_of(table, slot) < origin"),
    Mutant("refused_replace_voids", "levels/request.c", "return code == CODE_OK || code == CODE_TARGET_DENIED;",
           "return code != CODE_BAD_ID && code != CODE_BAD_OP;"),
    Mutant("denied_replace_voids_nothing", "levels/request.c", "return code == CODE_OK || code == CODE_TARGET_DENIED;",
           "return code == CODE_OK;"),
    Mutant("base_and_window_recognize_the_schedule_topic", "bridge/core/restore.c", "if (offset >= schedule->end) {",
           "if (offset >= l->start_offset + 100) {"),
    Mutant("recreated_schedule_topic_goes_unnoticed", "bridge/core/restore.c", "if (offset >= schedule->end) {",
           "if (offset < -1) {"),
    Mutant("recreated_schedule_topic_is_not_recognized_by_its_record", "bridge/core/restore.c",
           "l->loading == LOADING_WITNESS && !l->witness.seen", "l->loading == LOADING_WITNESS && next < 0"),
    Mutant("ends_before_the_log_was_read", "bridge/core/restore.c", "l->log_next = next;\n        query(b, lane, LOADING_ENDS);",
           "l->log_next = next;\n        read_requests(b, lane, l->requests_end);"),
    Mutant("restore_left_off_counts_as_complete", "bridge/core/restore.c", "l->requests_loaded = l->complete = false;",
           "l->requests_loaded = false;", "restore"),
    Mutant("void_record_is_forwarded_as_a_hop", "bridge/core/forward.c",
           "if (cancel_table_is_used(b, p) && cancel_table_voids(b, p)) {",
           "if (kind == READY_DELIVERIES && cancel_table_is_used(b, p) && cancel_table_voids(b, p)) {"),
    Mutant("names_of_ids_and_keys_are_one_space", "levels/cancels.h", "*kind = bytes_is_null(id) ? CANCEL_BY_KEY : CANCEL_BY_ID;",
           "*kind = CANCEL_BY_ID;"),
    Mutant("table_closed_at_an_abort", "bridge/core/restore.c", "if (l->loading == LOADING_LOG)\n        l->log_next = l->load_next;",
           "cancel_table_close(b, lane);\n    cancel_table_open(b, lane, 0);\n    l->complete = true;"),
)


def compile_command(build: Path, source: str) -> list[str]:
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]) == ROOT / source:
            return shlex.split(entry["command"])
    raise SystemExit(f"mutants: {build} does not compile {source}")


def sources_of(file: str) -> list[str]:
    """A header is compiled with each file that reads it."""
    if file.endswith(".c"):
        return [file]
    wanted = {file}
    files = [p for folder in ("levels", "bridge/core") for p in (ROOT / folder).glob("*.[ch]")]
    while True:
        more = {str(p.relative_to(ROOT)) for p in files
                if any(f'"{header}"' in p.read_text() for header in wanted)} | wanted
        if more == wanted:
            return sorted(f for f in wanted if f.endswith(".c"))
        wanted = more


def link(build: Path, program: Path, objects: list[str], tests: str, *libraries: str) -> Path:
    tests_objects = [str(p) for p in sorted((build / "tests/CMakeFiles").glob(tests))]
    subprocess.run(["gcc", "-o", str(program), *tests_objects, *objects, str(build / "libcore.a"),
                    str(build / "liblevels.a"), "-lxxhash", *libraries], check=True)
    return program


def plant(build: Path, mutant: Mutant, work: Path) -> Path:
    text = (ROOT / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"mutants: {mutant.name}: its text is {text.count(mutant.old)} times in {mutant.file}")
    copy = work / mutant.file
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text.replace(mutant.old, mutant.new))
    objects = []
    for source in sources_of(mutant.file):
        out = work / (re.sub(r"\W", "_", source) + ".o")
        command = compile_command(build, source)
        command[command.index("-o") + 1] = str(out)
        command[command.index("-c") + 1] = str(copy if source == mutant.file else ROOT / source)
        at = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command = [word for word in command if word not in ("-Werror", "-MD", "-MT", "-MF")]
        command = [word for i, word in enumerate(command) if not word.endswith((".o.d",)) and
                   not (word.endswith(".o") and command[i - 1] != "-o")]
        command.insert(at, f"-I{work}")
        subprocess.run(command + ["-w"], check=True, cwd=build)
        objects.append(str(out))
    if mutant.suite:
        return link(build, work / "unit_tests", objects, "unit_tests.dir/**/*.o", "-lcriterion")
    return link(build, work / "sim", objects, "sim.dir/sim/*.o")


def run(program: Path, *args: str) -> str:
    try:
        return subprocess.run([str(program), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300).stdout
    except subprocess.TimeoutExpired:
        return ""


def find(build: Path, mutant: Mutant) -> str:
    """How the simulator finds it; empty if it does not."""
    with tempfile.TemporaryDirectory() as work:
        program = plant(build, mutant, Path(work))
        if mutant.suite:
            failed = re.search(r"\[FAIL\] (\S+):", run(program, f"--filter={mutant.suite}/*"))
            return f"unit {failed[1]}" if failed else ""
        found = re.search(r"^(\S+)\s+FAILED: ", run(program, "--scenarios"), re.M)
        if found:
            return f"story {found[1]}"
        found = re.search(r"^seed (\d+) FAILED: (.*)", run(program, "--seeds", str(SEEDS), "--stop"), re.M)
        return f"seed {found[1]}: {found[2]}" if found else ""


def main() -> int:
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    chosen = [m for m in MUTANTS if not names or m.name in names]
    with ThreadPoolExecutor(2) as pool:
        results = list(zip(chosen, pool.map(lambda m: find(build, m), chosen)))
    for mutant, how in results:
        print(f"{mutant.name:52} {how[:90] or 'NOT FOUND'}")
    missed = sum(not how for _, how in results)
    print(f"mutants: {len(results) - missed} found, {missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
