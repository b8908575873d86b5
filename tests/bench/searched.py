# SPDX-License-Identifier: Apache-2.0
"""The times that the commands find and forecast take among many waiting records."""
from __future__ import annotations

import json
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from contract import rfc3339
from place import BINARY, LANES, Place, now_ms
from table import STATED, Row

MINUTE = 60_000
MANY, PARTS, TRIES = 5_000_000, 20, 5
LEVELS_MIN = {"1h": 60, "2h": 120}  # length of a level
DUE_MS, ID_MS, FORECAST_MS = 300, 3000, 1000


@dataclass
class Wanted:
    """A record that entered level 1h together with the others of its part, to be due in the following level 1m."""
    word: str
    part: int
    due: int = 0


def fill(place: Place, name: str, count: int, wanted: list[Wanted]) -> None:
    """Fills two levels as a steady stream of requests does: the records of each part entered at the same time."""
    each, now = count // len(LEVELS_MIN) // PARTS, now_ms()
    for level, minutes in LEVELS_MIN.items():
        for part in range(PARTS):  # the oldest first
            stamp = now - minutes * MINUTE * (PARTS - part) // PARTS + MINUTE
            place.load(topic=f"{name}.{level}", kind="envelope", count=each, stamp=stamp,
                       due=stamp + minutes * MINUTE * 5 // 4, target="bench.target")
            for one in wanted:
                if level == "1h" and one.part == part:
                    one.due = stamp + 61 * MINUTE
                    place.load(topic=f"{name}.{level}", kind="envelope", count=1, stamp=stamp, due=one.due,
                               target="bench.target", id=one.word, key=one.word)


def run(config: Path, *args: str) -> tuple[float, dict]:
    """Returns the milliseconds that the command takes, and its first answer."""
    took = []
    for _ in range(TRIES):
        began = time.monotonic()
        done = subprocess.run([str(BINARY), *args, "-c", str(config), "-o", "json"], capture_output=True, text=True,
                              check=False)
        took.append(1000 * (time.monotonic() - began))
        if done.returncode:
            raise RuntimeError(f"{args} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return statistics.median(took), json.loads(done.stdout.splitlines()[0])


def ask(config: Path, *args: str) -> tuple[float, int]:
    """Returns the milliseconds that find takes, and the offsets that it has searched."""
    took, answer = run(config, "find", *args)
    if answer["state"] != "waiting":
        raise RuntimeError(f"find {args} has the answer {answer}")
    return took, sum(one["offsets"] for one in answer["searched"])


def forecast(config: Path, count: int) -> Row:
    took, answer = run(config, "forecast")
    waiting = sum(level["waiting"] for level in answer["levels"])
    return Row(f"forecast among {count // 1000:,}k records in {LANES} lanes", f"{took:.0f} ms ({waiting // 1000:,}k waiting)",
               f"≤ {FORECAST_MS:,} ms", took <= FORECAST_MS, took, waiting >= count)


def find(place: Place, count: int = MANY) -> list[Row]:
    """The commands find and forecast among records that wait in levels 1h and 2h, as a steady stream has filled them."""
    name, config = place.schedule()
    soon, later = Wanted("soon", 0), Wanted("later", PARTS // 2)
    fill(place, name, count, [soon, later])
    place.rest(2)
    rows = []
    for what, goal, args in (
            ("due in two minutes", DUE_MS, ("--id", soon.word, "--due", f"{rfc3339(soon.due)}+-1s")),
            ("due in half an hour", 0, ("--id", later.word, "--due", f"{rfc3339(later.due)}+-1s")),
            ("due in half an hour, and key", DUE_MS, ("--key", later.word, "--due", f"{rfc3339(later.due)}+-1s")),
            ("due in an hour at most", 0, ("--id", later.word, "--due", f"{rfc3339(later.due)}+-30m")),
            ("id alone", ID_MS, ("--id", later.word))):
        took, offsets = ask(config, *args)
        rows.append(Row(f"find among {count // 1000:,}k records in {LANES} lanes: {what}",
                        f"{took:.0f} ms ({offsets // 1000:,}k offsets)", f"≤ {goal:,} ms" if goal else STATED,
                        not goal or took <= goal, took))
    return [*rows, forecast(config, count)]
