# SPDX-License-Identifier: Apache-2.0
"""One bad thing among good ones: a steady flow of good requests, a bad thing next to it, and the good ones' lateness
with and without it in one run. A kind of bad thing is one entry of BAD_THINGS: `among` plays those that one cluster can
have together, one after the other; `among_NAME` plays one alone."""
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

Maker = Callable[[int, int], Request]  # its number, the time -> a request that is part of the bad thing

RATE, MAX_WAIT_MS = 100, 1500        # of the good ones
WARM_S, CALM_S, BAD_S = 5, 8, 8
MOST, FLOOR_MS = 2.0, (60, 150)      # of the p99 without the bad thing; what a busy machine adds, at least and exactly once
ATTEMPTS = 3
SECOND = 2                           # the broker that may go away: it is no controller
SMALL_BYTES, LARGE_BYTES = 2000, 4000


@dataclass
class Bad:
    """A kind of bad thing. `prepare` runs before the bridge starts, `begin` when the bad time begins and `heal` when it is
    over; after that every request must come out. `spares` tells which good requests share nothing with the bad thing: the
    others are not measured."""
    make: Callable[[Stage], Maker]
    rate: float = 20
    seconds: float = BAD_S
    topics: list[str] = field(default_factory=list)  # that its requests reach, for the reader
    prepare: Callable[[Stage], None] | None = None
    begin: Callable[[Stage], None] | None = None
    heal: Callable[[Stage], None] | None = None
    spares: Callable[[Request], bool] = lambda request: True
    check: Callable[[Stage, Bridge], None] | None = None  # what else must hold when all has come out
    apart: bool = False                                   # it needs a cluster of its own


def to(target: str, stage: Stage, code: str | None = None, **fixed) -> Maker:
    """Requests for one target. code: what they are dead-lettered with."""
    generator = Generator(stage.seed + 1, [target], None, MAX_WAIT_MS, stage.schedule)

    def make(n: int, now: int) -> Request:
        request = generator.request(now, target=target, wait_ms=n % 5 * 300, headers=[], **fixed)
        request.kind, request.code, request.waited = target, code, code is not None
        return request
    return make


def with_key(make: Maker, key_of: Callable[[int], bytes | None]) -> Maker:
    """The same requests, each delivered with this key."""
    def make_with_key(n: int, now: int) -> Request:
        request = make(n, now)
        request.key = request.out_key = key_of(n)
        request.headers = [h for h in request.headers if h[0] != "dlb-key"]
        return request
    return make_with_key


def to_leaderless(stage: Stage) -> Maker:
    """Whether the leader is back before the last attempt is a matter of time."""
    make = to("e2e.stuck", stage)

    def make_either(n: int, now: int) -> Request:
        request = make(n, now)
        request.extra["either"] = True
        return request
    return make_either


def keyless(stage: Stage) -> Maker:
    """A compacted topic refuses each record without a key."""
    return with_key(to("e2e.compacted", stage, "target_failed"), lambda n: None)


def tombstones(stage: Stage) -> Maker:
    return with_key(to("e2e.compacted", stage, value=None), lambda n: b"key-%d" % n)


def poison(stage: Stage) -> Maker:
    generator = Generator(stage.seed + 1, ["e2e.a"], "e2e.a", MAX_WAIT_MS, stage.schedule)
    return lambda n, now: generator.poison(now, n)


def prepare_leaderless(stage: Stage) -> None:
    """A topic on a broker that goes away then."""
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
    """A run: the good requests flow from before the calm time until the last bad thing is over."""

    def __init__(self, stage: Stage, names: list[str]):
        self.stage, self.things = stage, {name: BAD_THINGS[name] for name in names}
        self.windows: dict[str, tuple[int, int]] = {}

    def each(self, step: str) -> None:
        """Each step once, also if several bad things have it in common."""
        for call in dict.fromkeys(getattr(bad, step) for bad in self.things.values()):
            if call:
                call(self.stage)

    def prepare(self) -> Bridge:
        """A cluster of two brokers, of which one goes away when it has the topics that are to have no leader."""
        stage = self.stage
        stage.broker(brokers=2, controllers=1, props=AUTHORIZER)
        self.each("prepare")
        os.kill(stage.kafka.pid(SECOND), signal.SIGTERM)
        stage.admin.wait("the end of the second broker", lambda: not stage.kafka.running(SECOND))
        stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])  # the old one may wait for the other broker
        return stage.bridge(stage.ready(max_attempts=ATTEMPTS))

    def bad_time(self, name: str, bad: Bad) -> None:
        make, start = bad.make(self.stage), now_ms()
        if bad.begin:
            bad.begin(self.stage)
        sender = Sender(self.stage.kafka.bootstrap, self.stage.schedule)
        sender.send_paced(make, int(bad.rate * bad.seconds), bad.rate)
        self.windows[name] = start, now_ms() + MAX_WAIT_MS
        self.stage.sender.join(sender)

    def settle(self) -> str:
        """A request that may end in two ways is judged by the way it took."""
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
        """Of the good requests that were due in it, by the time at which a reader of what is committed had them."""
        here: dict[tuple[int, int], float] = {}
        for seen in self.stage.collector.seen:
            here.setdefault(source(seen), seen.received_ms)
        late = sorted(int(here[r.partition, r.offset] - r.earliest) for r in self.stage.sender.journal
                      if r.kind == "good" and window[0] <= r.earliest < window[1] and spares(r))
        require(late, "no good request was due in that time")
        return late[int(len(late) * .99)]

    def judge_lateness(self, calm: tuple[int, int]) -> str:
        told, held = [], []
        for name, bad in self.things.items():
            without, beside = self.late_p99(calm, bad.spares), self.late_p99(self.windows[name], bad.spares)
            told.append(f"{name}={beside}/{without}")
            if beside > max(MOST * without, without + FLOOR_MS[self.stage.exactly_once]):
                held.append(name)
        line = "good_p99_ms with/without " + " ".join(told)
        require_prompt(not held, f"good requests were held by {', '.join(held)}: {line}")
        return line


def alone(name: str) -> Callable[[Stage], str]:
    def play(stage: Stage) -> str:
        return Among(stage, [name]).play()
    play.__name__, play.__doc__ = f"among_{name}", f"Good requests next to one bad thing: {name}."
    return play


def among(stage: Stage) -> str:
    """Good requests next to each bad thing in turn: their p99 is held within twice what it is without."""
    return Among(stage, [name for name, bad in BAD_THINGS.items() if not bad.apart]).play()


SCENARIOS = both_modes(among, *(alone(name) for name in BAD_THINGS))
# Played together, they are not played alone but by name or with --full.
ON_DEMAND = {f"among_{name}{mode}" for name, bad in BAD_THINGS.items() if not bad.apart for mode in ("", "_exactly")}
