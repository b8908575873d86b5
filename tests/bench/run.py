#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bench: ./dev bench [PART...]. Without a part it runs all parts, most of them three or five times, and writes
RESULTS.md. With a part it runs the part once in its brief form, within a minute. With --update it runs the part in full
and replaces its section of RESULTS.md.

  run.py [--list] [--update] [--rounds N] [--out FILE] [PART...]"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import allocator
import at_rest
import called
import cluster
import compressed
import core
import doubled
import exactly
import forwarding
import growth
import held_back
import hold
import in_force
import lateness
import newer
import observed
import others
import overload
import reported
import searched
import sized
import standing
import three_brokers
import three_exactly
from peers import compared
from peers.part import peers
from place import BINARY, KAFKA_JVM, ROOT, TOOL, WARM, WARM_ROUNDS, Place
from processes import TICKS
from table import BROKEN, Row, header, measured, middle, update, version_of, write

ROUNDS, MORE, COLD_MOST = 3, 5, 4


@dataclass(frozen=True)
class Part:
    play: Callable[..., list[Row]]
    rounds: int = ROUNDS                      # For the table.
    brief: dict = field(default_factory=dict)  # Settings that make it fit a minute.
    brief_warm: int = 1                       # Rounds of other load before the brief form.
    brokers: int = 1                          # 1: shared by all parts. 3: separate. 0: none.
    props: tuple[str, ...] = ()               # With properties the brokers are separate.
    warms: bool = False                       # The part warms the brokers itself.
    separate: bool = False                    # The part kills its brokers.
    short_lived: bool = False                 # Brokers behind a proxy, which compile little.

    @property
    def about(self) -> str:
        return self.play.__doc__.splitlines()[0]

    @property
    def where(self) -> str:
        return {0: "no broker", 1: "one broker"}.get(self.brokers, f"{self.brokers} brokers")


CALM, FEW = {"seconds": 4}, {"rates": (80_000, 110_000, 140_000), "seconds": 4}
RESULTS = ROOT / "tests" / "bench" / "RESULTS.md"
PARTS = {
    "core": Part(core.pieces, 1, brokers=0),
    # idle and lateness come first: after full speed a broker still writes and deletes for a while
    "idle": Part(standing.idle, 1, {"watch_s": 8}), "idle_each": Part(at_rest.idle_each, 3, {"watch_s": 4}),
    "late": Part(lateness.late, MORE), "late_10k": Part(lateness.late_10k), "late_30k": Part(lateness.late_30k),
    "late_32": Part(lateness.late_32), "late_10kb": Part(lateness.late_10kb),
    "late_chain": Part(lateness.late_chain, brief={"seconds": 6}),
    "exactly_late": Part(exactly.late), "exactly_late_10k": Part(exactly.late_10k),
    "hop": Part(forwarding.hop, MORE), "intake": Part(forwarding.intake, MORE),
    "delivery": Part(forwarding.delivery, MORE), "exactly": Part(exactly.exactly),
    "instant": Part(forwarding.instant), "instant_100k": Part(others.instant_100k),
    "most": Part(others.most, 1, FEW), "most_32": Part(others.most_32, 1, FEW), "kill": Part(others.kill, 5),
    "doubles": Part(doubled.doubles, 1, {"events": 1}, brokers=3, warms=True, separate=True, short_lived=True),
    "peers": Part(peers, 1, {"rates": (1000,), "seconds": 3, "brief": True}, separate=True),
    "start": Part(standing.start, 1),
    "cancels_restore": Part(in_force.cancels_restore, 1, {"count": 1_000_000, "lane": 200_000}),
    "cancels_cost": Part(in_force.cancels_cost, 1, {"count": 100_000, "many": 500_000}),
    "cancels_orders": Part(in_force.cancels_orders, 1, {"count": 50_000}),
    "cancels_in_force": Part(in_force.cancels_in_force, 3, {"seconds": 4}),
    "cancels_backlog": Part(in_force.cancels_backlog, 1, {"count": 500_000}),
    "paused": Part(held_back.paused, 1, {"count": 50_000, "rate": 5000, "pause_s": 10}),
    "overload": Part(overload.overload, 1, {"seconds": 6, "idle_s": 6, "rates": (110_000, 150_000, 230_000), "flow_s": 3}, 0),
    "slow": Part(cluster.slow, brief={"settle_s": 1, "calm_s": 2, "stopped_s": 4, "warm_rounds": 0}, brokers=3,
                 props=("offsets.topic.replication.factor=2",), warms=True),
    "missing": Part(cluster.missing, brief=CALM), "missing_exactly": Part(cluster.missing_exactly, brief=CALM),
    "forbidden": Part(cluster.forbidden, brief=CALM, props=cluster.AUTHORIZER),
    "forbidden_exactly": Part(cluster.forbidden_exactly, brief=CALM, props=cluster.AUTHORIZER),
    "too_large": Part(cluster.too_large, brief=CALM), "too_large_exactly": Part(cluster.too_large_exactly, brief=CALM),
    "three": Part(cluster.three, ROUNDS, {"count": 50_000}, 0, 3),
    "three_late": Part(cluster.three_late, ROUNDS, {"seconds": 6}, 0, 3),
    "everyday": Part(three_brokers.everyday, ROUNDS, {"rates": (1000,), "seconds": 4, "warm_rounds": 2}, warms=True),
    "three_everyday": Part(three_brokers.three_everyday, ROUNDS, {"rates": (1000,), "seconds": 4, "warm_rounds": 2}, 0, 3,
                           warms=True),
    "three_exactly": Part(three_exactly.three_exactly, 1, {"rates": (1000,), "seconds": 4, "turns": 1, "warm_rounds": 1}, 0, 3,
                          warms=True),
    "three_most": Part(others.three_most, ROUNDS, {"rates": (15_000, 30_000), "seconds": 4}, 0, 3),
    "hold": Part(hold.hold, 1, {"counts": False, "rates": (100,)}),
    "observed": Part(observed.observed), "events": Part(reported.events, brief={"seconds": 3}),
    "called": Part(called.called, 9, {"seconds": 4, "waiting": 200_000}),
    "find": Part(searched.find, 1, {"count": 1_000_000}),
    "sized": Part(sized.sized, 1, {"rates": (10_000,), "watch_s": 6}),
    "allocator": Part(allocator.allocator),
    "compressed": Part(compressed.compressed, brief={"count": 100_000}),
    **{f"growth_{what}": Part(growth.growth(what), brief={"ends": True, "watch_s": 3}) for what in growth.GROWTHS},
    "newer": Part(newer.newer, brief={"count": 100_000}), "newer_late": Part(newer.newer_late),
}


def ticks() -> tuple[int, int, int]:
    """Returns the ticks of all cores since the start: stolen by the host, all, and used by processes."""
    numbers = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return numbers[7], sum(numbers), sum(numbers[:3])


class Places:
    """The broker that most parts share, and the separate brokers of other parts."""

    def __init__(self, brief: bool):
        self.folder = Path(tempfile.mkdtemp(prefix="delaybridge-bench."))
        self.brief, self.shared, self.own = brief, None, None

    def take(self, name: str, part: Part) -> Place | None:
        if part.brokers == 0:
            return None
        if part.brokers > 1 or part.props or part.separate:
            place = self.own = Place(self.folder / name, part.brokers, part.props, part.short_lived)
        else:
            place = self.shared = self.shared or Place(self.folder / "shared")
        if not place.warmed and not part.warms:
            place.warm(part.brief_warm if self.brief else WARM_ROUNDS)
        return place

    def give_back(self) -> None:
        if self.own is not None:
            self.own.close()
            self.own = None

    def close(self) -> None:
        self.give_back()
        if self.shared is not None:
            self.shared.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Watch:
    """Watches other load on the machine."""

    def __init__(self, place: Place):
        self.place, self.began, self.compiled = place, time.monotonic(), place.compiled()
        self.others = self.others_s()

    def others_s(self) -> float:
        return ticks()[2] / TICKS - self.place.ours_s()

    def is_warm(self) -> bool:
        """Returns whether the brokers' compilers were idle."""
        return self.place.compiled() - self.compiled <= WARM * (time.monotonic() - self.began)

    def taken(self) -> float:
        """Returns the share of the machine that other processes used."""
        return max(0.0, (self.others_s() - self.others) / (time.monotonic() - self.began) / os.cpu_count())


def round_of(part: Part, place: Place | None, settings: dict) -> tuple[list[Row], bool, float]:
    """Runs a part once. Returns its rows, whether brokers were warm, and the share of other processes."""
    if place is None:
        return part.play(), True, 0.0
    place.round += 1
    watch = Watch(place)
    rows = part.play(place, **settings)
    warm, taken = watch.is_warm(), watch.taken()
    if not part.separate:
        place.clear()
    return rows, warm, taken


@dataclass
class Rounds:
    """The rounds of a part: the valid ones, the number of cold ones, and the largest share of other processes."""
    counted: list[list[Row]] = field(default_factory=list)
    left_out: int = 0
    cold: int = 0
    taken: float = 0.0

    def __str__(self) -> str:
        among = f", and {self.cold} of the {len(self.counted)} counted" if self.cold else ""
        return f"{self.left_out} cold rounds{among}, {self.taken:.0%} taken by other processes"


def play(name: str, places: Places, rounds: int, settings: dict) -> tuple[list[Row], Rounds]:
    """Runs the rounds of a part. Ignores cold rounds if there is more than one round."""
    played = Rounds()
    try:
        place = places.take(name, PARTS[name])
        while len(played.counted) < rounds:
            rows, warm, taken = round_of(PARTS[name], place, settings)
            if warm or rounds == 1 or played.left_out == COLD_MOST or not all(row.sound for row in rows):
                played.counted.append(rows)
                played.cold += not warm
                played.taken = max(played.taken, taken)
            else:
                played.left_out += 1
        return middle(played.counted), played
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        return [Row(name, BROKEN, "", False)], played
    finally:
        places.give_back()


def play_all(names: list[str], places: Places, rounds: int | None, brief: bool, out: Path | None,
             version: str) -> dict[str, tuple[str, list[Row]]]:
    """Runs parts and writes the table to out after each one."""
    results, start = {}, time.monotonic()
    for name in names:
        part = PARTS[name]
        began, (stolen, every, _) = time.monotonic(), ticks()
        rows, played = play(name, places, rounds or (1 if brief else part.rounds), part.brief if brief else {})
        stolen, every = (now - then for now, then in zip(ticks(), (stolen, every)))
        took = f"{time.monotonic() - began:.0f} s, {part.where}, {played}, {stolen / max(every, 1):.0%} stolen"
        results[name] = (f"{part.about} ({took}.)", rows)
        print(f"{name} ({took})")
        for row in rows:
            print("  " + row.line(), flush=True)
        if out is not None:
            head = header(version, BINARY, TOOL, os.environ.get("KAFKA_JVM", KAFKA_JVM), time.monotonic() - start)
            write(out, head, results)
    return results


def not_to_update(names: list[str]) -> str:
    """Returns the parts that --update accepts instead of these, or an empty string if it accepts these."""
    grown = {name for name in PARTS if name.startswith("growth_")}
    if not names:
        return "the names of parts"
    if set(names) & grown not in (set(), grown):
        return "all growth_ parts together, since they share a plot"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help="the parts to run; all parts by default")
    parser.add_argument("--list", action="store_true", help="name the parts")
    parser.add_argument("--rounds", type=int, help="number of rounds that count, in the full form of each part")
    parser.add_argument("--update", action="store_true", help="replace the sections of these parts in RESULTS.md")
    parser.add_argument("--out", type=Path, default=None, help="the file for the table")
    options = parser.parse_args()
    unknown = [name for name in options.part if name not in PARTS]
    if options.list:
        print("\n".join(f"{name:17} {part.about}" for name, part in PARTS.items()))
        return 0
    if unknown:
        print(f"run.py: no part \"{unknown[0]}\"; --list names all", file=sys.stderr)
        return 64
    if options.update and (refusal := not_to_update(options.part)):
        print(f"run.py: --update takes {refusal}", file=sys.stderr)
        return 64
    brief = bool(options.part) and options.rounds is None and not options.update
    start, places = time.monotonic(), Places(brief)
    version = version_of(BINARY)  # of the measured build, since the tree may change meanwhile
    out = options.out or (None if options.part else RESULTS)
    try:
        results = play_all(options.part or list(PARTS), places, options.rounds, brief, out, version)
    finally:
        places.close()
    grown = {what: results[f"growth_{what}"][1][0].data for what in growth.GROWTHS if f"growth_{what}" in results}
    if len(grown) == len(growth.GROWTHS) and all(grown.values()) and (options.update or not options.part):
        growth.draw(grown)
    if options.update or not options.part:
        compared.draw(measured(results))
    if options.update:
        update(RESULTS, version, list(PARTS), results)
    missed = sum(not row.reached for _, rows in results.values() for row in rows)
    broken = [name for name, (_, rows) in results.items() if any(row.value == BROKEN for row in rows)]
    print(f"bench: {len(results)} parts, {missed} goals not reached, {time.monotonic() - start:.0f} s"
          + (f"; broken: {', '.join(broken)}" if broken else ""))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
