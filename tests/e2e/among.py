# SPDX-License-Identifier: Apache-2.0
"""One bad thing among good requests. A steady flow of good requests runs with and without a bad thing, and their
lateness is compared within one run. A bad thing with late good requests is played a second time, and the better p99
counts. Each bad thing is an entry of BAD_THINGS. `among` plays those that one cluster can have together, one after the
other. `among_NAME` plays one alone."""
from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from client import Admin, Sender, now_ms
from contract import Request
from generator import Generator
from processes import Bridge
from scenarios import AUTHORIZER, source
from stage import Stage, both_modes, judge, require, require_prompt

Maker = Callable[[int, int], Request]  # (number, time) -> a request that is part of the bad thing

RATE, MAX_WAIT_MS = 100, 1500        # of the good requests
WARM_S, CALM_S, BAD_S = 5, 8, 8
MOST, FLOOR_MS = 2.0, (60, 150)      # bounds of the p99: a multiple of the calm one, and a floor for each delivery mode
ATTEMPTS = 3
SECOND = 2                           # the broker that may stop; it is no controller
SMALL_BYTES, LARGE_BYTES = 2000, 4000


@dataclass
class Bad:
    """A kind of bad thing. `prepare` runs before the bridge starts, `begin` at the start of the bad time and `heal` at its
    end. After that every request must come out. `spares` selects the good requests that share nothing with the bad thing;
    others are not measured."""
    make: Callable[[Stage], Maker]
    rate: float = 20
    seconds: float = BAD_S
    topics: list[str] = field(default_factory=list)  # topics that its requests reach, for the reader
    prepare: Callable[[Stage], None] | None = None
    begin: Callable[[Stage], None] | None = None
    heal: Callable[[Stage], None] | None = None
    spares: Callable[[Request], bool] = lambda request: True
    check: Callable[[Stage, Bridge], None] | None = None  # another check after all records have come out
    apart: bool = False                                   # it needs a separate cluster


def to(target: str, stage: Stage, code: str | None = None, **fixed) -> Maker:
    """Makes requests for one target. code: of their dead letters; None: they are delivered."""
    generator = Generator(stage.seed + 1, [target], None, MAX_WAIT_MS, stage.schedule)

    def make(n: int, now: int) -> Request:
        request = generator.request(now, target=target, wait_ms=n % 5 * 300, headers=[], **fixed)
        request.kind, request.code, request.waited = target, code, code is not None
        return request
    return make


def with_key(make: Maker, key_of: Callable[[int], bytes | None]) -> Maker:
    """Makes the same requests, each delivered with this key."""
    def make_with_key(n: int, now: int) -> Request:
        request = make(n, now)
        request.key = request.out_key = key_of(n)
        request.headers = [h for h in request.headers if h[0] != "dlb-key"]
        return request
    return make_with_key


def to_leaderless(stage: Stage) -> Maker:
    """Makes requests that may end in two ways: the leader may return before the last attempt or after it."""
    make = to("e2e.stuck", stage)

    def make_either(n: int, now: int) -> Request:
        request = make(n, now)
        request.extra["either"] = True
        return request
    return make_either


def keyless(stage: Stage) -> Maker:
    """Makes requests without a key, which a compacted topic refuses."""
    return with_key(to("e2e.compacted", stage, "target_failed"), lambda n: None)


def tombstones(stage: Stage) -> Maker:
    return with_key(to("e2e.compacted", stage, value=None), lambda n: b"key-%d" % n)


def poison(stage: Stage) -> Maker:
    generator = Generator(stage.seed + 1, ["e2e.a"], "e2e.a", MAX_WAIT_MS, stage.schedule)
    return lambda n, now: generator.poison(now, n)


def prepare_leaderless(stage: Stage) -> None:
    """Creates a topic on a broker that stops later."""
    stage.admin.create("e2e.stuck", 3, on=[SECOND])


def return_second(stage: Stage) -> None:
    stage.kafka.call("restart", str(SECOND))


def prepare_forbidden(stage: Stage) -> None:
    stage.admin.create("e2e.denied", 3)
    stage.admin.forbid_writing("e2e.denied")


def prepare_small(stage: Stage) -> None:
    stage.admin.create("e2e.small", 2, max_message_bytes=str(SMALL_BYTES))


def prepare_compacted(stage: Stage) -> None:
    stage.admin.create("e2e.compacted", 2, cleanup_policy="compact")


BAD_THINGS: dict[str, Bad] = {
    "leaderless": Bad(to_leaderless, topics=["e2e.stuck"], prepare=prepare_leaderless, heal=return_second),
    "missing": Bad(lambda stage: to("e2e.missing", stage, "target_failed")),
    "forbidden": Bad(lambda stage: to("e2e.denied", stage, "target_failed"), prepare=prepare_forbidden),
    "too_large": Bad(lambda stage: to("e2e.small", stage, "too_large", value=b"v" * LARGE_BYTES), prepare=prepare_small),
    "keyless": Bad(keyless, prepare=prepare_compacted),
    "tombstones": Bad(tombstones, topics=["e2e.compacted"], prepare=prepare_compacted),
    "poison": Bad(poison),
}


class Among:
    """A run. The good requests flow from before the calm time to the end of the last bad thing."""

    def __init__(self, stage: Stage, names: list[str]):
        self.stage, self.things = stage, {name: BAD_THINGS[name] for name in names}
        self.windows: dict[str, list[tuple[int, int]]] = {name: [] for name in names}

    def each(self, step: str) -> None:
        """Runs each distinct step once, although several bad things may share it."""
        for call in dict.fromkeys(getattr(bad, step) for bad in self.things.values()):
            if call:
                call(self.stage)

    def prepare(self) -> Bridge:
        """Starts two brokers, and stops the one that has the topics that must lose their leader."""
        stage = self.stage
        stage.broker(brokers=2, controllers=1, props=AUTHORIZER)
        self.each("prepare")
        os.kill(stage.kafka.pid(SECOND), signal.SIGTERM)
        stage.admin.wait("the end of the second broker", lambda: not stage.kafka.running(SECOND))
        stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])  # the old client may wait for the other broker
        return stage.bridge(stage.ready(max_attempts=ATTEMPTS))

    def bad_time(self, name: str, bad: Bad) -> None:
        make, start = bad.make(self.stage), now_ms()
        if bad.begin:
            bad.begin(self.stage)
        sender = Sender(self.stage.kafka.bootstrap, self.stage.schedule)
        sender.send_paced(make, int(bad.rate * bad.seconds), bad.rate)
        self.windows[name].append((start, now_ms() + MAX_WAIT_MS))
        self.stage.sender.join(sender)

    def settle(self) -> str:
        """Judges a request that may end in two ways by the one that happened."""
        stage = self.stage
        stage.collector.wait_for(list(stage.sender.journal), stage.schedule, 90)
        dead = {s.header("dlb-source") for s in stage.collector.of(f"{stage.schedule}.dead-letter")}
        for request in stage.sender.journal:
            name = f"{stage.schedule}/{request.partition}/{request.offset}".encode()
            if request.extra.get("either") and name in dead:
                request.code, request.waited = "target_failed", True
        return judge(stage.verify(timeout=10))

    def play(self) -> str:
        stage, bridge = self.stage, self.prepare()
        generator = stage.generator(MAX_WAIT_MS)
        sending = stage.background(lambda n, now: generator.request(now), 10 ** 9, RATE)
        time.sleep(WARM_S + CALM_S)
        calm = now_ms() - CALM_S * 1000, now_ms()
        for name, bad in self.things.items():
            self.bad_time(name, bad)
        time.sleep(MAX_WAIT_MS / 1000)
        for name in self.held(calm):  # a pause of the machine does not come at the same bad thing again
            self.bad_time(name, self.things[name])
        time.sleep(MAX_WAIT_MS / 1000)
        sending.finish(stop=True)
        self.each("heal")
        for topic in dict.fromkeys(topic for bad in self.things.values() for topic in bad.topics):
            stage.collector.add(topic)
        line = self.settle()
        require(bridge.running(), "the bridge ended:\n" + bridge.tail())
        for bad in self.things.values():
            if bad.check:
                bad.check(stage, bridge)
        return f"{line} {self.judge_lateness(calm)}"

    def late_p99(self, window: tuple[int, int], spares: Callable[[Request], bool]) -> int:
        """Returns the p99 lateness of good requests due in the window, when a read_committed consumer received them. A
        request that has not arrived counts as late until now."""
        here: dict[tuple[int, int], float] = {}
        for seen in list(self.stage.collector.seen):
            here.setdefault(source(seen), seen.received_ms)
        late = sorted(int(here.get((r.partition, r.offset), now_ms()) - r.earliest) for r in list(self.stage.sender.journal)
                      if r.kind == "good" and window[0] <= r.earliest < window[1] and spares(r))
        require(late, "no good request was due in that time")
        return late[int(len(late) * .99)]

    def figures(self, name: str, calm: tuple[int, int]) -> tuple[int, int]:
        """Returns the p99 with the bad thing, the better one if it was played twice, and the p99 without it."""
        spares = self.things[name].spares
        return min(self.late_p99(window, spares) for window in self.windows[name]), self.late_p99(calm, spares)

    def held(self, calm: tuple[int, int]) -> list[str]:
        """Returns the bad things that held good requests."""
        floor, found = FLOOR_MS[self.stage.exactly_once], []
        for name in self.things:
            beside, without = self.figures(name, calm)
            if beside > max(MOST * without, without + floor):
                found.append(name)
        return found

    def judge_lateness(self, calm: tuple[int, int]) -> str:
        held, figures = self.held(calm), {name: self.figures(name, calm) for name in self.things}
        line = "good_p99_ms with/without " + " ".join(
            f"{name}{len(self.windows[name]) // 2 * '_again'}={beside}/{without}" for name, (beside, without) in figures.items())
        require_prompt(not held, f"good requests were held by {', '.join(held)}: {line}")
        return line


def alone(name: str) -> Callable[[Stage], str]:
    def play(stage: Stage) -> str:
        return Among(stage, [name]).play()
    play.__name__, play.__doc__ = f"among_{name}", f"Good requests next to one bad thing: {name}."
    return play


def among(stage: Stage) -> str:
    """Good requests next to each bad thing in turn: their p99 at most doubles."""
    return Among(stage, [name for name, bad in BAD_THINGS.items() if not bad.apart]).play()


SCENARIOS = both_modes(among, *(alone(name) for name in BAD_THINGS))
# Those that are played together are played alone only by name or with --full.
ON_DEMAND = {f"among_{name}{mode}" for name, bad in BAD_THINGS.items() if not bad.apart for mode in ("", "_exactly")}
