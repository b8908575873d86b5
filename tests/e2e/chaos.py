# SPDX-License-Identifier: Apache-2.0
"""All kinds of faults at once, on three brokers with three replicas of each record. One thread injects faults into the
bridges, another into the brokers. Faults are counted for the table of run.py."""
from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter

from client import Sender
from clock import Clock
from contract import Request
from doubles import COMMITTED_MS
from operators import Operators
from orders import Orders
from processes import Bridge
from settled import Settled, settle
from stage import Stage, judge, require
from verifier import of_writer
from withheld import Margins, judge_acts

BROKERS, RATE, SESSION_S, MAX_MS = 3, 150, 6, 20_000
INSTANCE = {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": "chaos-1"}
CLOCKS_MS = (-4000, -1000, 0, 1000, 5000)
# The effect of a pause may wait for a new leader of the topic of control.
MARGINS = Margins(effect_ms=8000, behind_ms=-min(CLOCKS_MS), ahead_ms=max(CLOCKS_MS), late_ms=60_000)
PAUSED, LIMITED = "e2e.c", ("e2e.b", 20)


class Hand(threading.Thread):
    """Injects the faults of its plan one after the other, in an order from the seed. Each call returns when its fault has
    ended."""

    def __init__(self, stage: Stage, seed: int, plan: dict[str, int], pause: tuple[float, float]):
        super().__init__(daemon=True)
        self.stage, self.pause = stage, pause
        self.dice = random.Random(seed)
        self.faults = [name for name, count in plan.items() for _ in range(count)]
        self.dice.shuffle(self.faults)
        self.count: Counter[str] = Counter()
        self.calm = threading.Lock()  # a fault is injected and ends with it
        self.problem: Exception | None = None

    def run(self) -> None:
        try:
            for name in self.faults:
                time.sleep(self.dice.uniform(*self.pause))
                with self.calm:
                    getattr(self, name)()
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def finish(self) -> None:
        self.join()
        if self.problem:
            raise self.problem


class OnBrokers(Hand):
    """Faults of one broker at a time, so that a majority is always alive."""

    def broker(self) -> int:
        return self.dice.randint(1, BROKERS)

    def kill_broker(self) -> None:
        self.kill(self.broker(), lambda: time.sleep(self.dice.uniform(0, 4)))

    def kill_controller(self) -> None:
        """Kills the leader of the quorum, and starts it again when another broker leads."""
        number = self.controller(range(1, BROKERS + 1))
        self.kill(number, lambda: self.await_other(number))

    def kill(self, number: int, away) -> None:
        self.stage.kafka.call("kill", str(number))
        away()
        self.stage.kafka.call("restart", str(number))
        self.count["broker kills"] += 1

    def await_other(self, number: int) -> None:
        deadline = time.monotonic() + 30
        while self.controller(n for n in range(1, BROKERS + 1) if n != number) in (number, -1):
            require(time.monotonic() < deadline, f"no broker leads the quorum in place of {number}")
            time.sleep(0.1)
        self.count["controller failovers"] += 1

    def controller(self, brokers) -> int:
        """Returns the leader of the quorum that the most recent of these brokers' notes names, or -1."""
        data = self.stage.kafka.folder / "data"
        states = [json.loads((data / f"broker-{n}" / "__cluster_metadata-0" / "quorum-state").read_text()) for n in brokers]
        return max(states, key=lambda state: state["leaderEpoch"])["leaderId"]

    def stop_broker(self) -> None:
        number = str(self.broker())
        self.stage.kafka.call("pause", number)
        time.sleep(self.dice.choice((1, 4, 12)))
        self.stage.kafka.call("resume", number)
        self.count["SIGSTOP of a broker"] += 1

    def cut_broker(self) -> None:
        """Cuts a broker off from the bridges only. Afterwards sent bytes arrive, or connections are closed."""
        number = self.broker()
        self.stage.proxy.cut(number)
        time.sleep(self.dice.choice((1, 4, SESSION_S + 4)))
        self.stage.proxy.heal(number, reset=self.dice.random() < 0.5)
        self.count["partitions"] += 1


class OnBridges(Hand):
    def __init__(self, stage: Stage, seed: int, plan: dict[str, int], pause: tuple[float, float],
                 bridges: list[Bridge], clock: Clock):
        super().__init__(stage, seed, plan, pause)
        self.bridges, self.clock, self.thirds = bridges, clock, 0

    def bridge(self) -> Bridge:
        """Returns one of the running bridges. The bridge with an operator's id ends when the group fences it twice within
        a minute, as two outages may cause. It is then started again, as by a supervisor."""
        for bridge in self.bridges:
            if not bridge.running():
                require(self.is_fenced(bridge), "the bridge ended by itself:\n" + bridge.tail())
                self.count["fenced and started again"] += 1
                bridge.start()
        return self.dice.choice(self.bridges)

    @staticmethod
    def is_fenced(bridge: Bridge) -> bool:
        return bridge.name == "bridge-1" and bridge.wait(0) == 70

    def kill_bridge(self) -> None:
        bridge = self.bridge()
        bridge.kill()
        self.count["kill -9 of a bridge"] += 1
        time.sleep(self.dice.choice((0, 0, 2)))
        bridge.start()

    def restart_bridge(self) -> None:
        bridge = self.bridge()
        young = bridge.age() < 10  # it may not handle signals yet
        code = bridge.stop()
        require(code == 0 or (young and code == -signal.SIGTERM) or self.is_fenced(bridge),
                f"SIGTERM ended the bridge with {code}:\n{bridge.tail()}")
        bridge.start()
        self.count["restarts by SIGTERM"] += 1

    def stop_bridge(self) -> None:
        """Stops a bridge for shorter than its session, or for longer, so that others get its lanes."""
        bridge, seconds = self.bridge(), self.dice.choice((1, 3, SESSION_S + 2))
        os.kill(bridge.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(bridge.pid, signal.SIGCONT)
        self.count["SIGSTOP of a bridge"] += 1

    def third_bridge(self) -> None:
        """Adds a third bridge, which later leaves or dies."""
        self.thirds += 1
        third = Bridge(self.stage.binary, self.bridges[0].config, f"bridge-3.{self.thirds}", named=True).start()
        time.sleep(self.dice.uniform(2, 5))
        if self.dice.random() < 0.5:
            third.kill()
            self.count["kill -9 of a bridge"] += 1
        else:
            third.stop()
        self.count["third members"] += 1

    def step_clock(self) -> None:
        self.clock.step(self.dice.choice([ms for ms in CLOCKS_MS if ms != self.clock.current]))
        self.count["clock steps"] += 1


REDUCED = ({"kill_bridge": 4, "restart_bridge": 1, "stop_bridge": 2, "third_bridge": 1, "step_clock": 2},
           {"kill_controller": 1, "stop_broker": 1, "cut_broker": 1})
FULL = ({"kill_bridge": 100, "restart_bridge": 10, "stop_bridge": 26, "third_bridge": 16, "step_clock": 11},
        {"kill_broker": 11, "kill_controller": 5, "stop_broker": 5, "cut_broker": 11})


def pauses(stage: Stage) -> tuple[tuple[float, float], tuple[float, float]]:
    """Returns the pauses between two faults of each thread. With at-least-once there must be times without a broker
    fault: otherwise every duplicate would have an excuse."""
    if stage.full:
        return ((.5, 2.5), (2, 5)) if stage.exactly_once else ((2, 5), (18, 28))
    return (1, 4), (2, 5) if stage.exactly_once else (7, 11)


def totals(settled: Settled, faults: Counter, rebalances: int) -> dict[str, int]:
    report, verdict = settled.report, settled.verdict
    return {**faults, "cancels": verdict.cancels, "replaces": verdict.replaces, "cancelled requests": len(verdict.dropped),
            "requests that came before their cancel": verdict.came_first, "rebalances": rebalances,
            "poison records": report.dead, "kinds of poison": len(report.kinds),
            "requests": report.requests, "lost": report.faults["lost"], "early": report.faults["early"],
            "delivered twice": report.duplicates, "unacknowledged, yet written": report.written_unsure,
            "written twice by the producer": report.written_twice}


def chaos(stage: Stage) -> str:
    """Load with kills and stops of bridges and brokers, cuts, clock steps, joins, leaves, poison, cancels, pauses and
    limits."""
    stage.use_levels(MAX_MS)
    stage.broker(brokers=BROKERS, proxied=True)
    config = stage.ready(replication=3)
    hasty = Sender(stage.kafka.bootstrap, stage.schedule, patience_ms=1500)  # it gives up while a broker is away
    trace = stage.trace()
    clock = Clock(stage.folder)
    bridges = [stage.bridge(config, "bridge-1", members=1, env={**clock.env, **INSTANCE}, named=True),
               stage.bridge(config, "bridge-2", members=2, named=True)]
    plans, pause = FULL if stage.full else REDUCED, pauses(stage)
    on_bridges = OnBridges(stage, stage.seed, plans[0], pause[0], bridges, clock)
    hands = [on_bridges, OnBrokers(stage, stage.seed + 1, plans[1], pause[1])]
    orders = Orders(stage.generator(MAX_MS), stage.seed)
    calm = Orders(stage.generator(MAX_MS), stage.seed + 1, orders.share)

    def make(n: int, now: int) -> Request:
        return orders.make(n, now) if n % 6 else orders.generator.poison(now, n // 6)

    sendings = [stage.background(make, 10_000_000, RATE),
                stage.background(calm.make, 10_000_000, 10, sender=hasty)]
    time.sleep(10)  # a broker compiles its code in its first seconds
    direct = stage.config("operator.yaml", kafka={"bootstrap.servers": stage.kafka.bootstrap})
    operators = Operators(stage, direct, [hand.calm for hand in hands], PAUSED, LIMITED)
    for thread in (*hands, operators):
        thread.start()
    for hand in hands:
        hand.finish()
    acts = operators.finish()
    on_bridges.bridge()  # starts it again if it was fenced
    time.sleep(3)
    for sending in sendings:
        sending.finish(stop=True)
    stage.sender.join(hasty)
    settled = settle(stage, trace, 180, of_writer(stage.proxy.evidence.writer, {"bridge-1": clock.showed}), ("bridge-1",),
                     withheld=(PAUSED, LIMITED[0]))
    report = settled.report
    held = judge_acts(acts, list(stage.collector.seen), stage.acked_ms(), MARGINS)
    require(not held.faults, f"{len(held.faults)} deliveries in spite of a pause or a limit: {held.faults[:3]}")
    require(held.held, f"no delivery waited for the end of a pause: {held.line()}")
    stage.totals = totals(settled, hands[0].count + hands[1].count, len(stage.proxy.generations) - 1)
    stage.totals |= {"pauses and limits": len(acts), "deliveries after a pause": held.held,
                     "deliveries within a limit": held.limited}
    line = judge(report, None)
    on_bridges.bridge()
    doubles = None if stage.exactly_once else stage.doubles(trace)
    trace.end()
    if doubles:
        line += " | " + doubles.line()
        stage.totals |= {"forwarded": doubles.forwards, "forwarded records that an excuse would cover": doubles.about,
                         "delivered twice, known to the bridge for over 100 ms": doubles.known_beyond(COMMITTED_MS),
                         **{f"delivered twice, by {kind}": n for kind, n in doubles.excused.items()}}
    return line + " | " + " ".join(f"{name.replace(' ', '_')}={n}" for name, n in sorted(stage.totals.items()))
