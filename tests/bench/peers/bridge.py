# SPDX-License-Identifier: Apache-2.0
"""The bridge with its broker. Its clients are the tool of the bench."""
from __future__ import annotations

import time
from pathlib import Path

from place import LANES, Place, now_ms
from processes import Bridge as Process
from peers.peer import AWAY_S, DELAY_MS, FLOW_RATE, FLOW_S, KILL_S, PATIENCE_S, SETTLE_S, Flow, Instant, Killed, Peer, Window

NAMED = {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": "bench-1"}


class Bridge(Peer):
    name, strong, warm_s, lead_ms = "**the bridge** with its broker", True, 15, 6000

    def __init__(self, place: Place):
        self.place = place
        self.process: Process | None = None
        self.topic, self.target, self.config = "", "", Path()

    def start(self) -> None:
        """Starts a bridge on new topics, next to the broker that runs."""
        self.topic, self.config = self.place.schedule()
        self.target = self.place.topic("bench.target", LANES)
        self.process = self.place.bridge(self.config, wait=True, env=NAMED)

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()

    def load(self, rate: int, count: int, **when):
        batch = {"linger": 50, "batch": 262_144} if rate > 10_000 else {}
        return self.place.tool("load", topic=self.topic, kind="request", target=self.target, rate=rate, count=count, **when,
                               **batch)

    def stream(self, rate: int, seconds: float) -> Flow:
        window = Window(rate, seconds)
        read = self.place.tool("read", topic=self.target, count=window.count, idle=10, settle=1000 * SETTLE_S).await_ready()
        load = self.load(rate, window.count, delay=DELAY_MS)
        servers_us, clients_us = window.watch([self.process.pid, *self.place.pids()], [read.pid, load.pid])
        sent, seen = load.result(), read.result()
        if seen["seen"] < window.count:
            self.stop()
            self.start()  # on new topics, since the rest would be read in the next stream
        return Flow(rate, seen["p50"], seen["p99"], seen["max"], servers_us, clients_us, window.count / sent["seconds"],
                    window.count - seen["seen"], 0, seen["early"])

    def instant(self, count: int) -> Instant:
        read = self.place.tool("read", topic=self.target, count=count, idle=60).await_ready()
        self.load(0, count, due=now_ms() + self.lead_ms).result()
        seen = read.result()
        return Instant(count, seen["last"], seen["complete"] and seen["early"] == 0)

    def kill_in_flow(self) -> Killed:
        return self.killed(True)

    def kill_part(self) -> Killed | None:
        return self.killed(False)

    def killed(self, with_broker: bool) -> Killed:
        self.stop()
        self.start()
        count = FLOW_RATE * FLOW_S
        read = self.place.tool("read", topic=self.target, count=count, idle=PATIENCE_S, order=1).await_ready()
        load = self.load(FLOW_RATE, count, delay=DELAY_MS)
        time.sleep(KILL_S)
        self.process.kill()
        if with_broker:
            self.place.kafka.call("kill", "1")
        time.sleep(AWAY_S)
        if with_broker:
            self.place.kafka.call("restart", "1")
        self.process = self.place.bridge(self.config, env=NAMED)
        load.result()
        seen = read.result()
        return Killed(count - seen["distinct"], seen["seen"] - seen["distinct"], seen["early"], seen["p99"], seen["max"])
