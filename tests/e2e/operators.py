# SPDX-License-Identifier: Apache-2.0
"""An operator who pauses and limits targets while faults are injected, with the commands of the bridge."""
from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from client import now_ms
from stage import Stage, require
from withheld import Act

TRY_S = 60   # for which a command is repeated in an outage
CALM_S = 2   # without a fault after a command. All processes read the entry then.
PAUSE_S, LIMIT_S, REST_S = 25, 25, 5


class Operators(threading.Thread):
    """Pauses one target and limits another, in turns, until it is finished. Each injector of faults takes one of the locks
    of calm for its fault, so no fault begins while all are taken."""

    def __init__(self, stage: Stage, config: Path, calm: list[threading.Lock], paused: str, limited: tuple[str, int]):
        super().__init__(daemon=True)
        self.stage, self.config, self.calm, self.paused, self.limited = stage, str(config), calm, paused, limited
        self.acts: list[Act] = []
        self.stopping = threading.Event()
        self.problem: Exception | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.hold(self.paused, None, PAUSE_S)
                self.hold(self.limited[0], self.limited[1], LIMIT_S)
                self.stopping.wait(REST_S)
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def finish(self) -> list[Act]:
        """Ends after the pause and the limit of this turn."""
        self.stopping.set()
        self.join()
        if self.problem:
            raise self.problem
        return self.acts

    def hold(self, target: str, rate: int | None, seconds: float) -> None:
        with ExitStack() as stack:
            for lock in self.calm:
                stack.enter_context(lock)
            self.command(*(("pause", target) if rate is None else ("limit", target, f"{rate}/s")))
            set_ms = now_ms()
            time.sleep(CALM_S)
        time.sleep(seconds)
        lift_ms = now_ms()
        lifted = self.command("resume", target)
        require(lifted["removed"], f"resume {target} removed nothing")
        self.acts.append(Act(target, set_ms, lift_ms, now_ms(), lifted["longest_wait_ms"], rate))

    def command(self, *words: str) -> dict:
        """Repeats a command until brokers answer it. An earlier try may have been written, which changes nothing."""
        deadline = time.monotonic() + TRY_S
        while True:
            done = self.stage.run(*words, "-c", self.config, "-o", "json")
            if done.returncode == 0:
                return json.loads(done.stdout.splitlines()[-1])
            require(done.returncode in (69, 75) and time.monotonic() < deadline,
                    f"{words} ended with {done.returncode}: {done.stdout} {done.stderr}")
            time.sleep(0.5)
