#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bench: ./dev bench [PART...]. Without a part it runs all and writes RESULTS.md.

  run.py [--list] [--out FILE] [PART...]"""
from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import allocator
import cluster
import core
import exactly
import forwarding
import growth
import hold
import lateness
import newer
import observed
import overload
import standing
from place import BINARY, ROOT, Place
from table import Row, write

PARTS = {"core": core.pieces, "hop": forwarding.hop, "intake": forwarding.intake, "delivery": forwarding.delivery,
         "instant": forwarding.instant, "late": lateness.late, "late_chain": lateness.late_chain,
         "exactly": exactly.exactly, "idle": standing.idle, "start": standing.start, "overload": overload.overload,
         "slow": cluster.slow, "three": cluster.three, "hold": hold.hold, "observed": observed.observed,
         "growth": growth.growth, "allocator": allocator.allocator, "newer": newer.newer}
ELSEWHERE = {"core", "slow", "three"}  # need no broker, or bring their own


def ticks() -> tuple[int, int]:
    """Of all cores since the start: those that the host gave to others, and all."""
    numbers = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return numbers[7], sum(numbers)


def play(name: str, place: Place) -> list[Row]:
    try:
        return PARTS[name](place)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        return [Row(name, "failed: see above", "", False)]
    finally:
        place.clear()


def play_all(names: list[str]) -> dict[str, tuple[str, list[Row]]]:
    folder, results = Path(tempfile.mkdtemp(prefix="delaybridge-bench.")), {}
    place = Place(folder)
    try:
        if set(names) - ELSEWHERE:
            place.warm()
        for name in names:
            began, (stolen, every) = time.monotonic(), ticks()
            rows = play(name, place)
            stolen, every = (now - then for now, then in zip(ticks(), (stolen, every)))
            took = time.monotonic() - began
            about = (f"{PARTS[name].__doc__.splitlines()[0]} ({took:.0f} s; {stolen / every:.0%} of the cores' time went "
                     "to other machines.)")
            results[name] = (about, rows)
            print(f"{name} ({took:.0f} s, {stolen / every:.0%} stolen)")
            for row in results[name][1]:
                print("  " + row.line(), flush=True)
    finally:
        place.close()
        shutil.rmtree(folder, ignore_errors=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="those named; all, if none is")
    parser.add_argument("--list", action="store_true", help="name the parts")
    parser.add_argument("--out", type=Path, default=None, help="write the table here")
    options = parser.parse_args()
    unknown = [name for name in options.part if name not in PARTS]
    if options.list or unknown:
        print("\n".join(f"{name:11} {part.__doc__.splitlines()[0]}" for name, part in PARTS.items()))
        return 64 if unknown else 0
    start = time.monotonic()
    results = play_all(options.part or list(PARTS))
    out = options.out or (None if options.part else ROOT / "tests" / "bench" / "RESULTS.md")
    if out is not None:
        write(out, BINARY, results, time.monotonic() - start)
    missed = sum(not row.reached for _, rows in results.values() for row in rows)
    print(f"bench: {len(results)} parts, {missed} goals not reached, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
