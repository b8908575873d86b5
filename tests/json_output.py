#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON of commands without a broker, and the errors of all commands, follow docs/schemas/. Commands that meet a
broker are validated in the end-to-end scenario *promises*.

  json_output.py DELAYBRIDGE"""
from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "e2e"))
from schemas import FOLDER, faults, faults_of_lines, load  # noqa: E402  pylint: disable=wrong-import-position

KAFKA = "-Xbootstrap.servers=127.0.0.1:1"
# command line, exit code, schema of stdout (None: empty), lines.
RESULTS = (
    ("version", 0, "version", 1),
    ("help", 0, "help", 1),
    ("help peek", 0, "help", 1),
    ("explain 37m -c /dev/null", 0, "explain", 1),
    ("explain 0s -c /dev/null", 0, "explain", 1),
    ("explain 1m20s -c /dev/null", 0, "explain", 1),
    ("size -c /dev/null --rate 20k --delay 15m", 0, "size", 1),
    ("size -c /dev/null --rate 0.3 --delay 0s", 0, "size", 1),
    ("size -c /dev/null --mix 950@15m,99@14d,10@30d --cancelled 95", 0, "size", 1),
    ("size -c /dev/null --mix 1000000000@9999d,0.1@1s --max-delay 9999d --levels 1s --workers 256 --cancelled 100", 0, "size", 1),
    ("demo --seconds 5", 0, "demo", 1),
)
# command line, exit code, code of the error.
ERRORS = (
    ("", 64, "usage"),
    ("nope", 64, "usage"),
    ("help nope", 64, "usage"),
    ("help --yaml", 64, "usage"),
    ("version more", 64, "usage"),
    ("explain 37m --hodl 1s", 64, "usage"),
    ("explain 41d -c /dev/null", 64, "usage"),
    ("size -c /dev/null --rate many --delay 1s", 64, "usage"),
    ("size -c /dev/null --mix 950@15m,99", 64, "usage"),
    ("demo --seconds 4", 64, "usage"),
    (f"find -c /dev/null {KAFKA}", 64, "usage"),
    (f"events -c /dev/null {KAFKA}", 64, "usage"),
    (f"events -c /dev/null {KAFKA} --source other/0/1", 64, "usage"),
    (f"find -c /dev/null {KAFKA} --id x --due soon", 64, "usage"),
    (f"find -c /dev/null {KAFKA} --source other/0/1", 64, "usage"),
    ("explain 1m -c /nonexistent.yaml", 78, "config"),
    ("explain 1m -c /dev/null --hold 1x", 78, "config"),
    ("run -c /dev/null", 78, "config"),
    (f"dev -c /dev/null {KAFKA}", 78, "config"),
    ("dev -c /dev/null --delivery exactly-once", 78, "config"),
    (f"dead-letters -c /dev/null {KAFKA} --code target_faild", 64, "usage"),
    (f"dead-letters -c /dev/null {KAFKA} --target a/b", 64, "usage"),
    (f"dead-letters -c /dev/null {KAFKA} --since 1795219200", 64, "usage"),
    (f"dead-letters -c /dev/null {KAFKA} --since 1795219200000 --until 1795219200000", 64, "usage"),
    (f"redrive -c /dev/null {KAFKA} --targets a --keep-due --restart-delay", 64, "usage"),
    (f"redrive -c /dev/null {KAFKA} --targets a --limit 0", 64, "usage"),
    (f"send -c /dev/null {KAFKA} --targets a --value @/nonexistent --delay 1s", 65, "data"),
    (f"cancel -c /dev/null {KAFKA} --id x", 65, "data"),
    (f"cancel -c /dev/null {KAFKA} --key x --delay 1s", 64, "usage"),
    (f"cancel -c /dev/null {KAFKA} --key x --wait soon", 64, "usage"),
    (f"replace -c /dev/null {KAFKA} --targets a --key x --value v", 65, "data"),
    (f"replace -c /dev/null {KAFKA} --targets a --key x --all-lanes", 64, "usage"),
    ("top -c /dev/null 127.0.0.1:1 --once", 69, "unreachable"),
) + tuple((f"{command} -c /dev/null {KAFKA} --targets a --timeout 300ms", 69, "unreachable") for command in
          ("check", "topics plan", "topics apply", "levels", "peek 1s", "find --id x", "events --id x", "forecast",
           "dead-letters", "redrive", "skip schedule/0/1-2", "send --delay 1s --value v --target a", "check --sample",
           "cancel --key x", "cancel --key x --id y --all-lanes --wait 1s",
           "replace --key x --delay 1s --value v --target a --wait 1s"))
# The metrics of a running instance. The second reading has one more delivery.
METRICS = """delaybridge_build_info{{version="0"}} 1
delaybridge_ready 1
delaybridge_lanes 4
delaybridge_lanes_configured 8
delaybridge_lanes_restoring 3
delaybridge_cancel_entries 1234567
delaybridge_target_deliveries_total{{target="orders.*"}} {n}
delaybridge_delivery_failures_total{{target="orders.*",error="missing"}} 2
delaybridge_target_limit_per_second{{target="orders.*"}} 1.5
delaybridge_dead_letter_records_total{{code="expired",target="orders.*"}} {n}
delaybridge_buffered_records 7
delaybridge_level_pending_records{{level="schedule"}} 0
delaybridge_level_pending_records{{level="10s"}} 3
delaybridge_level_head_deadline_timestamp_seconds{{level="10s"}} 1893456000.25
delaybridge_redelivering_records{{level="10s"}} 2
delaybridge_redelivering_oldest_due_timestamp_seconds{{level="10s"}} 1893456000.5
delaybridge_lateness_seconds_bucket{{level="10s",le="0.005"}} {n}
delaybridge_lateness_seconds_bucket{{level="10s",le="+Inf"}} {n}
"""


class Instance(http.server.BaseHTTPRequestHandler):
    readings = 0

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        Instance.readings += 1
        body = METRICS.format(n=Instance.readings).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:  # pylint: disable=arguments-differ
        pass


def run(binary: str, line: str) -> subprocess.CompletedProcess:
    return subprocess.run([binary, *line.split(), "-o", "json"], capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, env={})


def faults_of_result(done: subprocess.CompletedProcess, code: int, schema: str, lines: int) -> list[str]:
    found = faults_of_lines(done.stdout, schema) + faults_of_lines(done.stderr, "error")
    if done.returncode != code:
        found.append(f"exit code {done.returncode}: {done.stderr}")
    if len(done.stdout.splitlines()) != lines:
        found.append(f"{len(done.stdout.splitlines())} lines on stdout")
    return found


def faults_of_error(done: subprocess.CompletedProcess, code: int, name: str) -> list[str]:
    found = faults_of_result(done, code, "error", 0)
    last = (done.stderr.splitlines() or ["{}"])[-1]
    if not found and json.loads(last).get("error", {}).get("code") != name:
        found.append(f"the last line is not an error '{name}': {last}")
    return found


def faults_of_top(binary: str) -> list[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Instance) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = f"top -c /dev/null 127.0.0.1:{server.server_address[1]} --once --every 50ms"
        done = run(binary, line)
        text = subprocess.run([binary, *line.split()], capture_output=True, text=True, timeout=120, check=False).stdout
        server.shutdown()
    found = faults_of_result(done, 0, "top", 1)
    head = "lanes 4 of 8 (3 RESTORING)  cancels 1,234,567  buffered 7 "
    if head not in text:
        found.append(f"no line begins with {head!r}: {text}")
    if not found and (view := json.loads(done.stdout))["lanes_restoring"] + view["cancels"] != 1_234_570:
        found.append(f"lanes or cancels are wrong: {done.stdout}")
    if not re.search(r"^orders\.\* +limited .* 1\.5$", text, re.M) or not re.search(r"^expired +\d .* orders\.\*$", text, re.M):
        found.append(f"no target with its limit, or no dead letter: {text}")
    if not found and view["target_limits"] != [{"target": "orders.*", "limit_per_s": 1.5}]:
        found.append(f"limits of targets are wrong: {done.stdout}")
    if not found and [one["section"] for one in view["attention"]] != ["lanes-restore-for-long", "requests-are-dead-lettered"]:
        found.append(f"alerts are wrong: {view['attention']}")
    row = {} if found else json.loads(done.stdout)["levels"][1]
    want = {"level": "10s", "waiting": 3, "deliveries": 1, "late_p99_at_most_ms": 5, "redelivering": 2,
            "head_leaves": "2030-01-01T00:00:00.250Z", "redelivering_oldest_due": "2030-01-01T00:00:00.500Z"}
    return found or [f"{key} is {row[key]!r}" for key, value in want.items() if row[key] != value]


def faults_of_size(binary: str) -> list[str]:
    """The memory of a process has room for the table of cancels, and for the names of cancel_unmatched."""
    size = "size -c /dev/null --rate 20k --delay 15m --cancel-memory="
    small, large, named = (json.loads(run(binary, size + options).stdout)["memory_bytes"] >> 20
                           for options in ("64MiB", "1GiB", "64MiB --events=all"))
    return [] if (large - small, named - small) == (960, 64) else [f"size: {small}, {large} and {named} MiB of memory"]


def faults_of_validator() -> list[str]:
    """Checks that the validator finds each planted fault."""
    right = {"topic": "t", "partition": 0, "offset": 5, "line": None}
    at = {"format": "date-time", "type": "string"}
    planted = (
        (right | {"offset": 5.0}, load("send")), (right | {"offset": "-"}, load("send")), (right | {"offset": -1}, load("send")),
        (right | {"offset": True}, load("send")), (right | {"more": 1}, load("send")), ({"topic": "t"}, load("send")),
        ("2026-11-21T08:00:00Z", at), (1893456000.25, at),
        (right | {"state": "sent", "in_force": None, "code": None, "reason": None}, load("cancel")),
        ({"error": {"code": "other", "message": ""}}, load("error")), ({"base64": 1}, load("peek")["$defs"]["bytes"]))
    found = [f"the validator accepts {value}" for value, schema in planted if not faults(value, schema)]
    return found + faults(right, load("send"))


def main() -> int:
    binary, found = sys.argv[1], faults_of_validator()
    for line, code, schema, lines in RESULTS:
        found += [f"{line}: {fault}" for fault in faults_of_result(run(binary, line), code, schema, lines)]
    found += faults_of_size(binary)
    for line, code, name in ERRORS:
        found += [f"{line}: {fault}" for fault in faults_of_error(run(binary, line), code, name)]
    found += [f"top: {fault}" for fault in faults_of_top(binary)]
    print("\n".join(found) or f"json: {len(RESULTS) + 1} results, {len(ERRORS)} errors, "
                              f"{len(list(FOLDER.glob('*.json')))} schemas")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
