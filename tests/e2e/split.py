# SPDX-License-Identifier: Apache-2.0
"""A load that is split over two bridges with the same targets, as docs/scaling.md describes it."""
from __future__ import annotations

import time
import zlib

from client import Collector, Sender
from contract import Request
from processes import Bridge
from stage import TARGETS, Stage, judge, require, require_prompt
from verifier import Report, verify

BRIDGES, RATE, SECONDS, MAX_MS = 2, 200, 15, 6000
CALM_MS = 2000  # a bridge whose neighbor was killed is no later than this
CANCELLED = "e2e.cancelled"  # receives only requests that have a cancel
CANCEL_DELAY = b"4s"


class Part:
    """A bridge with its schedule topic, and its part of the requests."""

    def __init__(self, stage: Stage, n: int):
        self.stage, self.schedule = stage, f"schedule.{n}"
        config = stage.config(f"bridge-{n}.yaml", schedule=self.schedule, group=None)
        stage.apply(config)
        self.sender = Sender(stage.kafka.bootstrap, self.schedule)
        self.generator = stage.generator(MAX_MS)
        self.generator.schedule = self.schedule
        self.bridge = Bridge(stage.binary, config, f"bridge-{n}").start()
        require(stage.admin.wait_members(f"delaybridge.{self.schedule}", 1), f"no lanes:\n{self.bridge.tail()}")

    def send_named(self, name: bytes, **headers: bytes) -> None:
        """Sends a record that the judgment of requests leaves out."""
        self.sender.producer.produce(self.schedule, b"", name, headers=[(f"dlb-{key}", value) for key, value in headers.items()])
        self.sender.flush()

    def report(self) -> Report:
        stage, source = self.stage, f"{self.schedule}/".encode()
        stage.collector.wait_for(self.sender.journal, self.schedule, 60)
        own = [s for s in stage.collector.seen if (s.header("dlb-source") or b"").startswith(source) and s.topic != CANCELLED]
        dead = f"{self.schedule}.dead-letter"
        return verify(self.sender.journal, [s for s in own if s.topic != dead], [s for s in own if s.topic == dead],
                      self.schedule, stage.collector.partitions)


def split(stage: Stage) -> str:
    """Two bridges share a load and its targets: the kill of one makes no request of the other late. A cancel applies only to
    requests in its schedule topic."""
    stage.use_levels(MAX_MS)
    stage.broker()
    for name, partitions in {**TARGETS, CANCELLED: 1}.items():
        stage.admin.create(name, partitions)
    parts = [Part(stage, n) for n in range(BRIDGES)]
    stage.collector = Collector(stage.kafka.bootstrap, [*TARGETS, CANCELLED, *(f"{p.schedule}.dead-letter" for p in parts)])
    stage.collector.start()
    parts[0].send_named(b"voided", delay=CANCEL_DELAY, target=CANCELLED.encode())
    parts[1].send_named(b"delivered", delay=CANCEL_DELAY, target=CANCELLED.encode())
    for name in (b"voided", b"delivered"):
        parts[0].send_named(name, op=b"cancel")
    send_all(parts)
    lines = [judge(part.report(), None if part is parts[0] else 0) for part in parts]
    require(all(part.bridge.running() for part in parts), "a bridge ended")
    for seen in stage.collector.seen:
        require((seen.header("dlb-source") or b"").startswith(b"schedule."), f"a record that no bridge wrote: {seen}")
    require([s.key for s in stage.collector.of(CANCELLED)] == [b"delivered"], f"wrong: {stage.collector.of(CANCELLED)}")
    calm = parts[1].report().late(1)
    require_prompt(calm <= CALM_MS, f"the neighbor of a killed bridge was {calm} ms late: {lines[1]}")
    return " | ".join(lines)


def send_all(parts: list[Part]) -> None:
    """Sends the load. The hash of a key chooses the bridge, and the first bridge is killed for a while."""
    start = time.monotonic()
    for n in range(RATE * SECONDS):
        time.sleep(max(0.0, start + n / RATE - time.monotonic()))
        if n == RATE * SECONDS // 3:
            parts[0].bridge.kill()
        if n == RATE * SECONDS // 2:
            parts[0].bridge.start()
        key = b"order-%d" % n
        part = parts[zlib.crc32(key) % len(parts)]
        request: Request = part.generator.request(int(time.time() * 1000), key=key)
        part.sender.send(request)
    for part in parts:
        part.sender.flush()


SCENARIOS = {"split": split}
ON_DEMAND = set(SCENARIOS)
