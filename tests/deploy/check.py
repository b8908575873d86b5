#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the files of deploy/, part by part. Each part passes, fails, or is skipped with a reason.

  check.py [--quick] [--binary PATH] [PART...]   (a part, or the first word of several: chart)
"""
from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

import chart  # noqa: F401  pylint: disable=unused-import
import compose  # noqa: F401  pylint: disable=unused-import
import image  # noqa: F401  pylint: disable=unused-import
import membership  # noqa: F401  pylint: disable=unused-import
import monitoring  # noqa: F401  pylint: disable=unused-import
import notes  # noqa: F401  pylint: disable=unused-import
import package  # noqa: F401  pylint: disable=unused-import
import releases  # noqa: F401  pylint: disable=unused-import
import server  # noqa: F401  pylint: disable=unused-import
import units  # noqa: F401  pylint: disable=unused-import
import values  # noqa: F401  pylint: disable=unused-import
import versions  # noqa: F401  pylint: disable=unused-import
from parts import PARTS, ROOT, Failed, Part, Skip, World
from tools import fresh


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="parts to run, by name or by first word; all parts by default")
    parser.add_argument("--list", action="store_true", help="list the parts, each with its rule")
    parser.add_argument("--quick", action="store_true", help="run only parts that take seconds")
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "delaybridge")
    return parser.parse_args()


def play(part: Part, world: World) -> str:
    start = time.monotonic()
    try:
        outcome, text = "passed", part.run(world)
    except Skip as skip:
        outcome, text = "skipped", str(skip)
    except Failed as failed:
        outcome, text = "FAILED", str(failed)
    except Exception:  # pylint: disable=broad-except
        outcome, text = "FAILED", traceback.format_exc()
    print(f"{outcome:7} {part.name} ({time.monotonic() - start:.1f} s): {text}", flush=True)
    return outcome


def main() -> int:
    options = arguments()
    chosen = [p for p in PARTS.values() if p.quick or not options.quick]
    for name in options.part:
        if not any(name in (p.name, p.name.split(".")[0]) for p in chosen):
            print(f"check.py: no part {name} (--list names them)", file=sys.stderr)
            return 64
    if options.part:
        chosen = [p for p in chosen if {p.name, p.name.split(".")[0]} & set(options.part)]
    if options.list:
        for part in chosen:
            print(f"{part.name:22} {'quick ' if part.quick else '      '} {part.rule}")
        return 0
    start = time.monotonic()
    with fresh() as folder:
        world = World(folder, options.binary.resolve())
        outcomes = [play(part, world) for part in chosen]
    print(f"deploy: {len(outcomes)} parts, {outcomes.count('passed')} passed, {outcomes.count('FAILED')} failed, "
          f"{outcomes.count('skipped')} skipped, {time.monotonic() - start:.0f} s")
    return 1 if "FAILED" in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
