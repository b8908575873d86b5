# SPDX-License-Identifier: Apache-2.0
"""Runs the table of cases with deploy/clients/delaybridge.py: cases.py FOLDER_OF_THE_CLIENT CASES"""
from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

sys.path.insert(0, sys.argv[1])
import delaybridge as d  # noqa: E402  pylint: disable=wrong-import-position,import-error


def line(headers: d.Headers) -> str:
    return " ".join(f"{name}={'null' if value is None else value.decode()}" for name, value in headers)


def fields(text: str) -> dict:
    given = dict(part.split("=", 1) for part in text.split(" ") if part)
    found: dict = {}
    if "delay" in given:
        found["delay"] = int(given["delay"])
    if "at" in given:
        found["at"] = int(given["at"])
    if "expires" in given:
        found["expires_at"] = int(given["expires"])
    if "key" in given:
        found["key"] = None if given["key"] == "null" else given["key"]
    return {**found, **{name: given[name] for name in ("target", "id") if name in given}}


def result(kind: str, text: str) -> str:
    if kind == "format":
        return d.format_delay(int(text))
    if kind == "parse":
        return str(d.parse_delay(text))
    if kind == "instant":
        return d.format_instant(int(text))
    if kind in ("id", "target"):
        (d.check_id if kind == "id" else d.check_target)(text)
        return "ok"
    if kind == "cancel":
        return line(d.cancel(**fields(text)))
    return line((d.schedule if kind == "schedule" else d.replace)(**fields(text)))


def main() -> int:
    faults = 0
    for row in open(sys.argv[2], encoding="utf-8").read().splitlines():
        kind, text, want = row.split("\t")
        try:
            got = result(kind, text)
        except ValueError:
            got = "error"
        if got != want:
            faults += 1
            print(f"{kind} {text!r}: {got}, not {want}")
    # What the table cannot write.
    zone = timezone(timedelta(hours=8))
    assert d.format_delay(timedelta(microseconds=1500)) == "2ms" and d.schedule("90s") == [("dlb-delay", b"1m30s")]
    assert d.format_instant(datetime(2026, 11, 21, 8, 0, 0, 250_001, zone)) == "1795219200251"
    for bad in (lambda: d.format_instant(datetime(2026, 11, 21)), lambda: d.schedule(), lambda: d.schedule(5, at=5),
                lambda: d.format_delay(1.5), lambda: d.format_delay(True)):
        try:
            bad()
            faults += 1
            print("a bad call is accepted")
        except ValueError:
            pass
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
