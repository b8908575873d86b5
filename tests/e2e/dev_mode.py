# SPDX-License-Identifier: Apache-2.0
"""delaybridge dev: bridge and broker in one process, whose clock a test moves forward."""
from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from client import now_ms
from schemas import faults_of_command
from stage import Stage, require, require_prompt

PROMPT_S = 2  # from a move to its deliveries
QUIET_S = 1.5  # in which nothing may arrive
MINUTE_MS = 60_000
TARGET = "app.timeout"


class Dev:
    """A process, a producer of requests and a consumer of the target."""

    def __init__(self, binary: Path, log: Path, *args: str):
        with log.open("w") as file:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen([str(binary), "dev", "-o", "json", "-c", "/dev/null", "--broker", "127.0.0.1:0",
                                             "--admin", "127.0.0.1:0", "--targets", "app.*", *args],
                                            stdout=subprocess.PIPE, stderr=file, text=True)
        line = self.process.stdout.readline()
        require(not (found := faults_of_command(["dev", "-o", "json"], line, "")), f"not by the schema: {found}")
        ready = json.loads(line)
        self.servers, self.admin = ready["bootstrap_servers"], ready["admin"]
        self.producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True})
        self.consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "app", "auto.offset.reset": "earliest"})

    def send(self, key: str, value: str = "", **headers: str) -> int:
        """Stores a request, and returns its timestamp."""
        stored: list[Message] = []
        sent = now_ms()
        self.producer.produce("schedule", value, key, headers={f"dlb-{k.replace('_', '-')}": v for k, v in headers.items()},
                              timestamp=sent, on_delivery=lambda error, message: stored.append(message) if error is None else None)
        require(self.producer.flush(10) == 0 and stored, f"the request {key} is not stored")
        return sent

    def clock(self, forward: str | None = None, status: int = 200) -> dict:
        body = json.dumps({"forward": forward}).encode() if forward is not None else None
        request = urllib.request.Request(f"{self.admin}/api/dev/clock", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                code, text = answer.status, answer.read()
        except urllib.error.HTTPError as problem:
            code, text = problem.code, problem.read()
        require(code == status, f"clock {forward}: {code} {text!r}")
        return json.loads(text)

    def read(self) -> None:
        """Reads all partitions of the target from now on, without a group."""
        topics = self.consumer.list_topics(TARGET, timeout=10).topics
        self.consumer.assign([TopicPartition(TARGET, p, 0) for p in topics[TARGET].partitions])

    def next(self, timeout: float) -> Message | None:
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            message = self.consumer.poll(left)
            if message is not None and message.error() is None:
                return message
        return None

    def arrives(self, key: str, due_ms: int) -> None:
        """The delivery of this key is next, and it was due then, by the clock of the bridge."""
        begun = time.monotonic()
        message = self.next(10)
        require(message is not None and message.key() == key.encode(), f"{key} is not delivered: {message.key() if message is not None else None}")
        headers = dict(message.headers())
        require(int(headers["dlb-due"]) == due_ms, f"{key} was due at {headers['dlb-due']!r}, not {due_ms}")
        require(message.timestamp()[1] >= due_ms, f"{key} has the timestamp {message.timestamp()}, before {due_ms}")
        require_prompt(time.monotonic() - begun < PROMPT_S, f"{key} came after {time.monotonic() - begun:.1f} s")

    def stays_quiet(self) -> None:
        message = self.next(QUIET_S)
        require(message is None, f"early or cancelled: {(message.key(), message.headers()) if message is not None else None}")

    def end(self) -> int:
        self.consumer.close()
        self.process.terminate()
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()


def refusals(stage: Stage) -> None:
    for args, words in ((("-Xbootstrap.servers=127.0.0.1:9092",), "dev starts its own broker"),
                        (("--delivery", "exactly-once"), "the broker of dev does not have")):
        done = stage.run_with(stage.binary, "dev", "-c", "/dev/null", *args)
        require(done.returncode == 78 and words in done.stderr, f"dev {args}: {done.returncode} {done.stderr}")


def moved(dev: Dev) -> None:
    """15 minutes pass in about a second, and so does a chain of levels. A cancel and instants follow the same clock."""
    sent = dev.send("order-1", delay="15m", target=TARGET)
    dev.read()
    dev.clock("14m50s")
    dev.stays_quiet()
    dev.clock("10s")
    dev.arrives("order-1", sent + 15 * MINUTE_MS)
    ahead_ms = dev.clock()["ahead_ms"]
    require(ahead_ms == 15 * MINUTE_MS, f"ahead by {ahead_ms}")
    sent = dev.send("chain", delay="3h37m", target=TARGET)
    for forward in ("2h", "1h", "36m"):
        dev.clock(forward)
    dev.stays_quiet()
    dev.clock("1m")
    dev.arrives("chain", sent + ahead_ms + (3 * 60 + 37) * MINUTE_MS)


def cancelled(dev: Dev) -> None:
    dev.send("paid", delay="15m", target=TARGET)
    dev.send("paid", op="cancel")
    sent, ahead_ms = dev.send("unpaid", delay="15m", target=TARGET), dev.clock()["ahead_ms"]
    dev.clock("15m")
    dev.arrives("unpaid", sent + ahead_ms + 15 * MINUTE_MS)
    dev.stays_quiet()


def instants(dev: Dev) -> None:
    """An instant is one of the bridge's clock, and so is an expiry."""
    due = now_ms() + dev.clock()["ahead_ms"] + 10 * MINUTE_MS
    dev.send("at", deliver_at=str(due), target=TARGET)
    dev.send("expires", deliver_at=str(due), expires_at=str(due + 1000), target=TARGET)
    dev.stays_quiet()
    dev.clock("10m1s")
    dev.arrives("at", due)
    dev.stays_quiet()


def refused_moves(dev: Dev) -> None:
    for forward in ("-1s", "15", "", "200000d"):
        dev.clock(forward, status=400)


def dev_mode(stage: Stage) -> str:
    """delaybridge dev: requests of minutes and hours are delivered within seconds, after the clock was moved."""
    refusals(stage)
    begun = time.monotonic()
    dev = Dev(stage.binary, stage.folder / "dev.log")
    try:
        ready_s = time.monotonic() - begun
        moved(dev)
        cancelled(dev)
        instants(dev)
        refused_moves(dev)
        passed = dev.clock()["ahead_ms"] / MINUTE_MS
    finally:
        code = dev.end()
    require(code == 0, f"dev ended with {code}")
    return f"ready after {ready_s:.1f} s, {passed:.0f} minutes in {time.monotonic() - begun:.1f} s"


SCENARIOS = {"dev_mode": dev_mode}
