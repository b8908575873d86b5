# SPDX-License-Identifier: Apache-2.0
"""Records that no honest producer writes, as fast as one client can. Meanwhile members join, the configuration is reloaded
each second, and the admin API runs jobs. Made for a bridge with sanitizers."""
from __future__ import annotations

import random
import re
import signal
import threading
import time
from typing import Callable

from admin import TOKEN, Api
from client import now_ms
from confluent_kafka import Producer
from contract import CODES, LEVELS, OF_RETRIES, TRUNCATED, WRITTEN_BY_BRIDGE
from operating import Watch
from processes import Bridge
from stage import LANES, Stage, both_modes, require

NAMES = (*WRITTEN_BY_BRIDGE, *OF_RETRIES, TRUNCATED, "dlb-delay", "dlb-deliver-at", "dlb-retry", "dlb-target", "dlb-key",
         "dlb-id", "dlb-op", "dlb-expires-at", "dlb-spread", "dlb-cause", "DLB-Delay", "dlb-", "dlb-no", "business", "")
TARGETS = ("e2e.a", "e2e.b", "e2e.missing", "other", "schedule", "schedule.dead-letter", "e2e." + "t" * 249, "..", "")
OPS = ("schedule", "cancel", "replace", "CANCEL", "")
KEEP_MS = 2000  # the longest honest delay
BEHIND_S = 2


class Hostile:
    """Makes records from a seed: mostly well-formed requests with one or more headers turned bad."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.noise = self.dice.randbytes(1 << 16)

    def bytes(self, most: int) -> bytes:
        length = self.dice.choice((0, 1, 3, 8, 127, 128, 129, most))
        start = self.dice.randrange(len(self.noise) - length)
        return self.noise[start:start + length]

    def key(self) -> bytes | None:
        key = b"k%d" % self.dice.randrange(50)
        return self.dice.choice((None, None, key, key, key, self.bytes(1000)))  # an empty one is rare: they share a lane

    def text(self) -> bytes | None:
        roll, now = self.dice.random(), now_ms()
        if roll < 0.2:
            return self.dice.choice((None, self.bytes(2000)))
        words = (f"{self.dice.randrange(-5, 2000)}ms", f"{self.dice.randrange(10 ** 20)}d", "PT1S", "P9999999999D", "15",
                 str(now + self.dice.randrange(-5000, KEEP_MS)), str(2 ** 63), "2026-01-01T00:00:00Z", "2026-02-30T00:00:00+99:00",
                 "default", "x" * 300, *TARGETS, *OPS, *CODES, *LEVELS)
        return self.dice.choice(words).encode()

    def headers(self) -> list[tuple[str, bytes | None]]:
        headers: list[tuple[str, bytes | None]] = []
        if self.dice.random() < 0.8:
            headers += [("dlb-delay", b"%dms" % self.dice.randrange(KEEP_MS)),
                        ("dlb-target", self.dice.choice(TARGETS[:3]).encode()),
                        ("dlb-op", self.dice.choice((b"schedule", b"schedule", b"cancel", b"replace")))]
        for _ in range(self.dice.choice((0, 0, 0, 1, 1, 2, 5, 40))):
            at = self.dice.randrange(len(headers) + 1)
            headers.insert(at, (self.dice.choice(NAMES), self.text()))
        if headers and self.dice.random() < 0.1:
            headers.pop(self.dice.randrange(len(headers)))
        return headers

    def value(self) -> bytes | None:
        return self.dice.choice((None, b"", b"v", self.bytes(5000)))


def send_hostile(stage: Stage, ending: threading.Event, behind: threading.Event, sent: list[int]) -> None:
    """Sends at full speed, and rests while the bridge is behind."""
    hostile = Hostile(stage.seed)
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "linger.ms": 5, "compression.type": stage.codec,
                         "partitioner": "murmur2_random", "log_level": 0})
    while not ending.is_set():
        if behind.is_set():
            producer.poll(0.1)
            continue
        try:
            producer.produce(stage.schedule, hostile.value(), hostile.key(), headers=hostile.headers())
            sent[0] += 1
        except BufferError:
            producer.poll(0.1)
        producer.poll(0)
    producer.flush(30)


def jobs(api: Api) -> None:
    """One round of the routes that read and write topics. Each answer is compared with the OpenAPI file."""
    for route, body in (("find", {"id": "k1"}), ("events", {"key": "k1"}), ("dead-letters", {"show": "20"}),
                        ("redrive", {"drop-expiry": True, "limit": "50", "keep-due": True}),
                        ("pause", {"targets": "e2e.b", "for": "1s"}), ("limit", {"targets": "e2e.c", "rate": "1000/s"}),
                        ("cancel", {"requests": [{"key": "k1"}], "wait": "1s"}), ("resume", {"targets": "e2e.c"})):
        answer = api.raw("POST", f"/api/v1/{route}?wait_ms=2000", body)
        require(answer.status < 500, f"{route} answered {answer.status}: {answer.body}")
        api.check("POST", route, answer)
    for route in ("status", "levels", "lanes", "targets", "jobs"):
        api.call("GET", route)


def each(seconds: float, ending: threading.Event, act: Callable[[], None], faults: list[Exception]) -> threading.Thread:
    """Repeats an act in a thread, with a pause in between."""
    def run() -> None:
        try:
            while not ending.wait(seconds):
                act()
        except Exception as fault:  # pylint: disable=broad-except
            faults.append(fault)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def hostile(stage: Stage) -> str:
    """Hostile records at full speed, with events of all types: no bridge ends, and no lane stops."""
    stage.broker()
    port, token = stage.spare_port, stage.folder / "token"
    token.write_text(TOKEN)
    settings = {"events": ["all"], "retry": {"default": {"delays": ["100ms", "1s"]}}, "memory": "64MiB"}
    config = stage.ready(admin=f"127.0.0.1:{port}", admin_token={"file": str(token)}, listen=f"127.0.0.1:{port + 1}", **settings)
    bridge = stage.bridge(config)
    second = Bridge(stage.binary, stage.config("second.yaml", listen=f"127.0.0.1:{port + 2}", **settings), "second")
    ending, behind, sent, faults = threading.Event(), threading.Event(), [0], []
    api, watches = Api(port, TOKEN), (Watch(port + 1), Watch(port + 2))

    def join_and_leave() -> None:
        second.start()
        time.sleep(6)
        code = second.stop()
        require(code == 0, f"SIGTERM ended the second bridge with {code}:\n{second.tail()}")

    def follow() -> None:
        texts = [text for status, text in (watch.get("/metrics") for watch in watches) if status == 200]
        lags = [float(lag) for text in texts for lag in re.findall(r"^delaybridge_schedule_read_behind_seconds (\S+)", text, re.M)]
        (behind.set if max(lags, default=0) > BEHIND_S else behind.clear)()

    threads = [each(0.5, ending, follow, faults), each(1, ending, lambda: bridge.process.send_signal(signal.SIGHUP), faults),
               each(0.5, ending, lambda: jobs(api), faults), each(1, ending, join_and_leave, faults)]
    sending = threading.Thread(target=send_hostile, args=(stage, ending, behind, sent), daemon=True)
    sending.start()
    start, seconds = time.monotonic(), 300 if stage.full else 30
    while time.monotonic() - start < seconds and not faults and bridge.running():
        time.sleep(0.5)
    ending.set()
    for thread in [sending, *threads]:
        thread.join(90)
    require(not faults, f"{faults[:1]}\n{bridge.tail()}")
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    rate = sent[0] / (time.monotonic() - start)
    generator = stage.generator(1000)
    for n in range(20 * LANES):
        stage.sender.send(generator.request(now_ms(), key=b"honest %d" % n))
    stage.sender.flush()
    missing = stage.collector.wait_for(stage.sender.journal, stage.schedule, 120)
    require(missing == 0, f"{missing} honest requests came to no end:\n{bridge.tail()}")
    code = bridge.stop()
    require(code == 0, f"SIGTERM ended the bridge with {code}:\n{bridge.tail()}")
    return f"{sent[0]} hostile records, {rate:.0f} a second, {api.calls} calls of the API, then {20 * LANES} honest requests"


SCENARIOS = both_modes(hostile)
