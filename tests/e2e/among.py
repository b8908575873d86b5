# SPDX-License-Identifier: Apache-2.0
"""One bad thing among good requests. A steady flow of good requests runs with and without a bad thing, and their
lateness is compared within one run. Each bad thing is an entry of BAD_THINGS. `among` plays those that one cluster can
have together, in turns. `among_NAME` plays one alone."""
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
from reading import HEADERS, bad_batch, letters
from scenarios import AUTHORIZER, source
from stage import Stage, both_modes, judge, require, require_prompt, until, will_say

Maker = Callable[[int, int], Request]  # (number, time) -> a request that is part of the bad thing

RATE, MAX_WAIT_MS = 100, 1500  # of the good requests
WARM_S, CALM_S = 4, 6
MOST = 2.0                     # the limit, as a multiple of the p99 without the bad thing
# The lowest limit: at-least-once, exactly-once. One pause of 50 ms, such as a garbage collection in a broker, is the p99 of a
# window of 5 s. In exactly-once mode a record also waits for the end of its transaction.
FLOOR_MS = 50, 100
# A window above its limit is played again, up to AGAIN times. Only the last window counts: a pause does not repeat, but a cost
# of the bridge does. Before each repeated window a calm one measures the load of the machine at that time. If its p99 is
# higher than that of the first calm window, it raises the limit, to at most DOUBTFUL times the floor.
# A window above DOUBTFUL times its limit is not repeated. A transaction that could not end has cost 0.9 to 18 s.
DOUBTFUL, AGAIN = 4, 2
ATTEMPTS = 3
SECOND = 2                     # the broker that may stop; it is no controller
SMALL_BYTES, LARGE_BYTES = 2000, 4000
# The client parses 100,000 headers at most.
TOO_MANY = [("h", b"v")] * (HEADERS + 100)
BLOCKED_LANE = 0               # of an unreadable batch.
NAMES, NAME_KIB, HEAP_MIB = 20_000, 1, 8  # names without a topic, memory of each, heap growth
LINES = 200  # In the log, for thousands of equal failures.
IDLE_S, IDLE_SHARE = 4, 0.05              # the share of a core after all work is done


@dataclass
class Bad:
    """A kind of bad thing. `prepare` runs before the bridge starts, `begin` at the start of the bad time and `heal` at its
    end. After that every request must come out. `spares` selects the good requests that share nothing with the bad thing;
    the others are not measured. `more_ms` is a documented cost in each mode, which its limit includes."""
    make: Callable[[Stage], Maker]
    rate: float = 20
    seconds: float | None = None  # None: as all others
    topics: list[str] = field(default_factory=list)  # topics that its requests reach, for the reader
    prepare: Callable[[Stage], None] | None = None
    begin: Callable[[Stage], None] | None = None
    heal: Callable[[Stage], None] | None = None
    spares: Callable[[Request], bool] = lambda request: True
    check: Callable[["Among"], str] | None = None  # another check at the end
    says: str = ""                                 # the log must have it
    after_s: tuple[int, int] = (0, 0)              # by mode: the window begins this long after `begin`
    apart: bool = False                            # it is played only by name
    more_ms: tuple[int, int] = (0, 0)


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


def either(make: Maker) -> Maker:
    """Makes requests that may end in two ways: the broker may return before the last attempt or after it."""
    def make_either(n: int, now: int) -> Request:
        request = make(n, now)
        request.extra["either"] = True
        return request
    return make_either


def without_topic(stage: Stage) -> Maker:
    """Makes requests each for another topic, and no such topic exists."""
    generator = Generator(stage.seed + 1, ["e2e.none"], None, MAX_WAIT_MS, stage.schedule)

    def make(n: int, now: int) -> Request:
        request = generator.request(now, target=f"e2e.none.{n}", wait_ms=n % 5 * 300, headers=[], value=b"v")
        request.kind, request.code, request.waited = "names", "target_failed", True
        return request
    return make


def keyless(stage: Stage) -> Maker:
    """Makes requests without a key, which a compacted topic refuses."""
    return with_key(to("e2e.compacted", stage, "target_failed"), lambda n: None)


def refused(stage: Stage) -> Maker:
    """Makes requests that fail in two ways: without a key for a compacted topic, and for a topic that does not exist."""
    makers = [keyless(stage), to("e2e.missing", stage, "target_failed")]
    return lambda n, now: makers[n % 2](n, now)


def tombstones(stage: Stage) -> Maker:
    return with_key(to("e2e.compacted", stage, value=None), lambda n: b"key-%d" % n)


def poison(stage: Stage) -> Maker:
    generator = Generator(stage.seed + 1, ["e2e.a"], "e2e.a", MAX_WAIT_MS, stage.schedule)
    return lambda n, now: generator.poison(now, n)


def with_too_many_headers(stage: Stage) -> Maker:
    """Makes requests whose headers the client cannot parse. Their dead letters have none of them."""
    make = to("e2e.a", stage, "bad_header", value=b"v")

    def make_with_headers(n: int, now: int) -> Request:
        request = make(n, now)
        request.headers = TOO_MANY + request.headers
        request.kind, request.waited, request.extra["unparsed"] = "headers", False, True
        return request
    return make_with_headers


def begin_unreadable(stage: Stage) -> None:
    """Blocks a lane with a batch that cannot be decompressed."""
    stage.unreadable = bad_batch(stage, BLOCKED_LANE)


def skip_unreadable(stage: Stage) -> None:
    """Skips the batch, and removes its dead letter from the collector: the verifier knows no request for it."""
    done = stage.run("skip", stage.unreadable, "-c", str(stage.folder / "delaybridge.yaml"))
    require(done.returncode == 0, f"skip ended with {done.returncode}: {done.stderr}")
    until("the dead letter of the batch", lambda: letters(stage, stage.unreadable) == 1)
    stage.collector.seen = [s for s in stage.collector.seen if s.header("dlb-error") != b"unreadable"]


def prepare_leaderless(stage: Stage) -> None:
    """Creates a topic on a broker that stops later."""
    stage.admin.create("e2e.stuck", 3, on=[SECOND])


def prepare_short(stage: Stage) -> None:
    """Creates a topic that has too few replicas in sync when a broker stops later."""
    stage.admin.create("e2e.short", 3, on=[1, SECOND], min_insync_replicas="2")


def return_second(stage: Stage) -> None:
    stage.kafka.call("restart", str(SECOND))


def prepare_forbidden(stage: Stage) -> None:
    stage.admin.create("e2e.denied", 3)
    stage.admin.forbid_writing("e2e.denied")


def prepare_small(stage: Stage) -> None:
    stage.admin.create("e2e.small", 2, max_message_bytes=str(SMALL_BYTES))


def prepare_compacted(stage: Stage) -> None:
    stage.admin.create("e2e.compacted", 2, cleanup_policy="compact")


def judge_names(among: "Among") -> str:
    """Requires that the client keeps no names. Each would cost memory, and a metadata request each second."""
    names = len({r.target for r in among.stage.sender.journal if r.kind == "names"})
    start = among.bridge.cpu_seconds()
    time.sleep(IDLE_S)
    share = (among.bridge.cpu_seconds() - start) / IDLE_S
    grown = among.bridge.rss_mib() - among.calm_rss_mib
    line = f"names={names} idle={share:.1%} of a core rss=+{grown:.0f}MiB"
    require(grown < names * NAME_KIB / 1024 + HEAP_MIB, f"names are kept: {line}")
    require(share < IDLE_SHARE, f"the bridge is not idle: {line}")
    return line


def judge_lines(among: "Among") -> str:
    """Requires that many equal failures are counted in few lines of the log."""
    lines = len(among.bridge.log.read_text().splitlines())
    require(lines < LINES, f"the bridge logged {lines} lines")
    return f"log_lines={lines}"


BAD_THINGS: dict[str, Bad] = {
    "leaderless": Bad(lambda stage: either(to("e2e.stuck", stage)), topics=["e2e.stuck"], prepare=prepare_leaderless,
                      heal=return_second, says="e2e.stuck"),
    "forbidden": Bad(lambda stage: to("e2e.denied", stage, "target_failed"), prepare=prepare_forbidden),
    "short": Bad(lambda stage: either(to("e2e.short", stage)), topics=["e2e.short"], prepare=prepare_short,
                 heal=return_second, says="e2e.short"),
    "missing": Bad(lambda stage: to("e2e.missing", stage, "target_failed")),
    "too_large": Bad(lambda stage: to("e2e.small", stage, "too_large", value=b"v" * LARGE_BYTES),
                     prepare=prepare_small),
    "tombstones": Bad(tombstones, topics=["e2e.compacted"], prepare=prepare_compacted),
    "keyless": Bad(keyless, prepare=prepare_compacted),
    "poison": Bad(poison),
    "names": Bad(without_topic, rate=RATE, check=judge_names),
    "headers": Bad(with_too_many_headers, rate=2),
    "unreadable": Bad(poison, rate=0, begin=begin_unreadable, heal=skip_unreadable, says="delaybridge skip schedule/",
                      spares=lambda request: request.partition != BLOCKED_LANE, apart=True),
    "4000_refused": Bad(refused, rate=1000, seconds=4, prepare=prepare_compacted, check=judge_lines, apart=True),
    "20000_names": Bad(without_topic, rate=1000, seconds=NAMES / 1000, check=judge_names, apart=True),
}
# Turns with reduced counts. At most one bad thing of a turn breaks a transaction with good requests in it.
TOGETHER = [["leaderless", "forbidden"], ["short", "missing"], ["too_large", "tombstones", "headers"],
            ["keyless", "poison", "names"]]
# The lines of failing names share the limit of their entry, and must not hide another target.
ENTRIES = ["e2e.*", "e2e.none.*"]


class Among:
    """A run. The good requests flow from before the calm time to the end of the last bad thing. Bad things are played in
    turns. With full counts or exactly once, a turn is one bad thing, otherwise some together."""

    def __init__(self, stage: Stage, things: dict[str, Bad]):
        self.stage, self.things, self.names = stage, things, list(things)
        self.seconds = 8 if stage.full else 5
        self.calm = 0, 0
        self.calm_again: dict[str, tuple[int, int]] = {}  # the calm windows before repeated ones
        self.windows: dict[str, tuple[int, int]] = {}
        self.bridge: Bridge | None = None
        self.calm_rss_mib = 0.0

    def each(self, step: str, names: list[str] | None = None) -> None:
        """Runs each distinct step once, although several bad things may share it."""
        for call in dict.fromkeys(getattr(self.things[name], step) for name in names or self.names):
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
        path = stage.ready(max_attempts=ATTEMPTS, targets=ENTRIES)
        if "leaderless" in self.names:
            said = stage.run("check", "-c", str(path), "--targets", "e2e.*,e2e.stuck").stdout
            require("no leader for 3 partitions, for example e2e.stuck/0" in said, f"check: {said}")
        return stage.bridge(path)

    def turns(self) -> list[list[str]]:
        if self.stage.full or self.stage.exactly_once or len(self.names) == 1:
            return [[name] for name in self.names]
        return TOGETHER

    def bad_time(self, names: list[str]) -> None:
        """Plays one turn, perhaps for a second time. The windows are those of the last time."""
        stage, start, sendings = self.stage, now_ms(), []
        after_s = dict.fromkeys(names, 0)
        if names[0] not in self.windows:
            self.each("begin", names)
            after_s = {name: self.things[name].after_s[stage.exactly_once] for name in names}
        for name, bad in ((name, self.things[name]) for name in names):
            count = int(bad.rate * (after_s[name] + (bad.seconds or self.seconds)))
            sender = Sender(stage.kafka.bootstrap, stage.schedule)
            sendings.append(stage.background(bad.make(stage), count, bad.rate, sender))
        for sending in sendings:
            sending.finish()
            stage.sender.join(sending.sender)
        for name in names:
            self.windows[name] = start + after_s[name] * 1000, now_ms() + MAX_WAIT_MS

    def bad_times(self) -> str:
        """Plays all turns, and those in doubt once more. Returns a text that names them."""
        for names in self.turns():
            self.bad_time(names)
        time.sleep(MAX_WAIT_MS / 1000)
        repeated = {}
        for _ in range(AGAIN):
            doubtful = {name: self.late(name) for name in self.names if self.late(name) > self.limit(name)}
            if any(late > DOUBTFUL * self.limit(name) for name, late in doubtful.items()):
                break
            repeated.update(doubtful)
            for names in (names for names in self.turns() if doubtful.keys() & set(names)):
                self.bad_time_after_calm(names)
        return "" if not repeated else "played again: " + " ".join(f"{name}={late}" for name, late in repeated.items())

    def bad_time_after_calm(self, names: list[str]) -> None:
        start = now_ms()
        time.sleep(self.seconds)
        self.calm_again.update(dict.fromkeys(names, (start, now_ms())))
        self.bad_time(names)
        time.sleep(MAX_WAIT_MS / 1000)

    def settle(self) -> str:
        """Judges a request that may end in two ways by the one that happened."""
        stage, journal = self.stage, self.accounted()
        stage.collector.wait_for(journal, stage.schedule, 90)
        dead = {s.header("dlb-source") for s in stage.collector.of(f"{stage.schedule}.dead-letter")}
        for request in journal:
            name = f"{stage.schedule}/{request.partition}/{request.offset}".encode()
            if request.extra.get("either") and name in dead:
                request.code, request.waited = "target_failed", True
        return judge(stage.verify(journal, timeout=10))

    def accounted(self) -> list[Request]:
        """Returns the requests that must come out."""
        return list(self.stage.sender.journal)

    def good(self) -> Maker:
        generator = self.stage.generator(MAX_WAIT_MS)
        return lambda n, now: generator.request(now)

    def play(self) -> str:
        stage = self.stage
        self.bridge = self.prepare()
        sending = stage.background(self.good(), 10 ** 9, RATE)
        time.sleep(WARM_S + CALM_S)
        self.calm = now_ms() - CALM_S * 1000, now_ms()
        self.calm_rss_mib = self.bridge.rss_mib()
        again = self.bad_times()
        sending.finish(stop=True)
        for bad in self.things.values():
            will_say(self.bridge, bad.says)  # of a target that does not answer, after its timeout
        self.each("heal")
        for topic in dict.fromkeys(topic for bad in self.things.values() for topic in bad.topics):
            stage.collector.add(topic)
        line = self.settle()
        require(self.bridge.running(), "the bridge ended:\n" + self.bridge.tail())
        figures = [bad.check(self) for bad in self.things.values() if bad.check]
        return " ".join([line, *figures, self.judge_lateness(), again]).strip()

    def late_p99(self, window: tuple[int, int], spares: Callable[[Request], bool]) -> int:
        """Returns the p99 lateness of good requests due in the window, when a read_committed consumer received them. A
        request that has not come is late by the time until now."""
        here: dict[tuple[int, int], float] = {}
        for seen in list(self.stage.collector.seen):
            here.setdefault(source(seen), seen.received_ms)
        late = sorted(int(here.get((r.partition, r.offset), now_ms()) - r.earliest)
                      for r in list(self.stage.sender.journal)
                      if r.kind == "good" and window[0] <= r.earliest < window[1] and spares(r))
        require(late, "no good request was due in that time")
        return late[int(len(late) * .99)]

    def late(self, name: str) -> int:
        return self.late_p99(self.windows[name], self.things[name].spares)

    def late_without(self, name: str) -> int:
        return self.late_p99(self.calm_again.get(name, self.calm), self.things[name].spares)

    def limit(self, name: str) -> float:
        floor_ms = FLOOR_MS[self.stage.exactly_once]
        again_ms = min(MOST * self.late_without(name), DOUBTFUL * floor_ms) if name in self.calm_again else 0
        more_ms = self.things[name].more_ms[self.stage.exactly_once]
        return max(MOST * self.late_p99(self.calm, self.things[name].spares), floor_ms, again_ms) + more_ms

    def judge_lateness(self) -> str:
        line = "good_p99_ms with/without " + " ".join(f"{n}={self.late(n)}/{self.late_without(n)}" for n in self.names)
        held = [name for name in self.names if self.late(name) > self.limit(name)]
        require_prompt(not held, f"good requests were late because of {', '.join(held)}: {line}")
        return line


def alone(name: str) -> Callable[[Stage], str]:
    def play(stage: Stage) -> str:
        return Among(stage, {name: BAD_THINGS[name]}).play()
    play.__name__, play.__doc__ = f"among_{name}", f"Good requests next to one bad thing: {name}."
    return play


def among(stage: Stage) -> str:
    """Good requests next to bad things: their p99 stays within twice the p99 without the bad things."""
    return Among(stage, {name: bad for name, bad in BAD_THINGS.items() if not bad.apart}).play()


SCENARIOS = both_modes(among, *(alone(name) for name in BAD_THINGS))
# Played together, they are played alone by name or with --full.
ON_DEMAND = set(SCENARIOS) - {"among"}
