# SPDX-License-Identifier: Apache-2.0
"""Everything goes wrong in turn, on three brokers with three copies of each record."""
from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

from processes import Bridge
from stage import Stage, judge, require

BROKERS, RATE, SESSION_S = 3, 150, 6


class Chaos:
    """One fault at a time, so that a majority of brokers is always there; each has ended when its call returns."""

    def __init__(self, stage: Stage, bridges: list[Bridge]):
        self.stage, self.bridges = stage, bridges
        self.dice = random.Random(stage.seed)
        self.count: Counter[str] = Counter()

    def bridge(self) -> Bridge:
        return self.dice.choice(self.bridges)

    def broker(self) -> str:
        return str(self.dice.randint(1, BROKERS))

    def kill_bridge(self) -> None:
        bridge = self.bridge()
        bridge.kill()
        time.sleep(self.dice.choice((0, 0, 3)))
        bridge.start()

    def restart_bridge(self) -> None:
        bridge = self.bridge()
        code = bridge.stop()
        require(code == 0, f"SIGTERM ended it with {code}:\n{bridge.tail()}")
        bridge.start()

    def stop_bridge(self) -> None:
        """SIGSTOP, for shorter or for longer than its session."""
        bridge = self.bridge()
        os.kill(bridge.pid, signal.SIGSTOP)
        time.sleep(self.dice.choice((1, 3, SESSION_S + 2)))
        os.kill(bridge.pid, signal.SIGCONT)

    def kill_broker(self) -> None:
        number = self.broker()
        self.stage.kafka.call("kill", number)
        time.sleep(self.dice.uniform(0, 4))
        self.stage.kafka.call("restart", number)

    def stop_broker(self) -> None:
        number = self.broker()
        self.stage.kafka.call("pause", number)
        time.sleep(self.dice.choice((1, 4, 12)))
        self.stage.kafka.call("resume", number)

    def third_bridge(self) -> None:
        """It joins, and leaves or dies."""
        third = Bridge(self.stage.binary, self.bridges[0].config, "bridge-3").start()
        time.sleep(self.dice.uniform(2, 6))
        if self.dice.random() < 0.5:
            third.kill()
        else:
            third.stop()

    def play(self, plan: dict[str, int]) -> None:
        faults = [name for name, count in plan.items() for _ in range(count)]
        self.dice.shuffle(faults)
        for name in faults:
            time.sleep(self.dice.uniform(1, 4))
            getattr(self, name)()
            self.count[name] += 1


PLAN = {"kill_bridge": 3, "restart_bridge": 1, "stop_bridge": 2,
        "kill_broker": 2, "stop_broker": 1, "third_bridge": 1}
FULL = {"kill_bridge": 40, "restart_bridge": 10, "stop_bridge": 10,
        "kill_broker": 8, "stop_broker": 6, "third_bridge": 10}


def chaos(stage: Stage) -> str:
    """Kills and stops of bridges and of three brokers, joins and leaves, in the middle of load: nothing is lost."""
    stage.broker(brokers=BROKERS)
    config = stage.ready(replication=3)
    bridges = [stage.bridge(config, f"bridge-{n}", members=n) for n in (1, 2)]
    generator = stage.generator(20_000)
    sending = stage.background(lambda n, now: generator.request(now), 10_000_000, RATE)
    time.sleep(5)
    run = Chaos(stage, bridges)
    run.play(FULL if stage.full else PLAN)
    time.sleep(3)
    sending.finish(stop=True)
    report = stage.verify(timeout=150)
    line = judge(report, None)
    for bridge in bridges:
        require(bridge.running(), "it ended by itself:\n" + bridge.tail())
    return line + " | " + " ".join(f"{name}={count}" for name, count in sorted(run.count.items()))
