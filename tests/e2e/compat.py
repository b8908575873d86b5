# SPDX-License-Identifier: Apache-2.0
"""Requests with the headers of other schedulers, good and bad ones, and the programs of the pages in docs/migrating."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from client import now_ms
from contract import Header, Request, Retry
from operating import Watch
from processes import ROOT, Bridge
from stage import Stage, judge, require, until, will_say

sys.path.insert(0, str(ROOT / "tests"))
from blocks import blocks  # noqa: E402  pylint: disable=wrong-import-position

FORMATS = ["rocketmq", "rabbitmq", "etf1", "karafka", "spring", "share-dlq=twice"]
POLICIES = {"twice": {"delays": ["1s", "2s"], "jitter": 0.2}}
TOPICS = {"e2e.a": 6, "e2e.b": 3, "orders.timeout": 3, "online-videos": 3}
PAGES = ("rocketmq", "rabbitmq", "etf1", "karafka", "sky-uk")
KARAFKA = [("schedule_schema_version", b"1.0.0"), ("schedule_source_type", b"schedule")]
WAIT_S = 15


def text(n: int) -> bytes:
    return str(n).encode()


def etf1(epoch_s: int, *more: Header) -> list[Header]:
    return [("scheduler-epoch", text(epoch_s)), ("scheduler-target-topic", b"e2e.b"), *more]


def karafka(epoch_s: int, *more: Header) -> list[Header]:
    return [*KARAFKA, ("schedule_target_epoch", text(epoch_s)), ("schedule_target_topic", b"e2e.b"), *more]


def spring(due: int, attempts: int, first: int, *more: Header) -> list[Header]:
    """Returns the headers that Spring Kafka 4.0 adds to a record for a retry topic, in its order."""
    return [("kafka_original-topic", b"e2e.b"), ("kafka_original-partition", (2).to_bytes(4, "big")),
            ("kafka_original-offset", (300).to_bytes(8, "big")), ("kafka_original-timestamp", first.to_bytes(8, "big")),
            ("kafka_original-timestamp-type", b"CreateTime"), ("kafka_dlt-original-consumer-group", b"billing"),
            ("kafka_exception-fqcn", b"org.springframework.kafka.listener.ListenerExecutionFailedException"),
            ("kafka_exception-message", b"Listener failed"), ("kafka_exception-stacktrace", b"at shop.Billing"),
            ("retry_topic-attempts", attempts.to_bytes(4, "big")), ("retry_topic-backoff-timestamp", shortest(due)),
            ("retry_topic-original-timestamp", shortest(first)), *more]


def shortest(n: int) -> bytes:
    """Encodes a number as Java's BigInteger does."""
    return n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True)


def share_dlq(*more: Header) -> list[Header]:
    """Returns the headers that a broker adds to a dead letter of a share group, in its order."""
    return [*more, ("__dlq.errors.topic", b"e2e.a"), ("__dlq.errors.partition", b"4"), ("__dlq.errors.offset", b"77"),
            ("__dlq.errors.group", b"billing"), ("__dlq.errors.delivery.count", b"5"),
            ("__dlq.errors.message", b"The record was rejected by the client.")]


def retries(now: int) -> list[Request]:
    """Records of consumers that failed. The bridge continues their count."""
    first, made = now - 60_000, []

    def add(headers: list[Header], target: str, retry: Retry, due_ms: int | None = None) -> None:
        key = b"failed-%d" % len(made)
        made.append(Request(key, b"value", headers, "failed", target=target, out_key=key, due_ms=due_ms, retry=retry))

    for attempts in (2, 5):
        add([("own", b"1"), *spring(now + 1500, attempts, first)], "e2e.b",
            Retry(attempts - 1, 0, 0, first, b"e2e.b/2/300"), now + 1500)
    stale = [("retry_topic-backoff-timestamp", shortest(now - 5000)), ("retry_topic-attempts", (2).to_bytes(4, "big"))]
    add([*stale, *spring(now + 1000, 3, first)], "e2e.b", Retry(2, 0, 0, first, b"e2e.b/2/300"), now + 1000)
    counted_1 = [("dlb-attempt", b"1"), ("dlb-first-at", text(first)), ("dlb-origin", b"e2e.a/4/77"), ("dlb-due", text(first))]
    add(share_dlq(("own", b"1")), "e2e.a", Retry(1, 800, 1200, None, b"e2e.a/4/77"))
    add(share_dlq(("own", b"1"), *counted_1), "e2e.a", Retry(2, 1600, 2400, first, b"e2e.a/4/77"))
    return made


def good(now: int) -> list[Request]:
    """Requests that come within three seconds, except for those that only have to wait."""
    soon_s = now // 1000 + 3
    made: list[Request] = []

    def add(kind: str, headers: list[Header], target: str = "e2e.a", out: bytes | None = b"", **due) -> None:
        key = b"%s-%d" % (kind.encode(), len(made))
        mixed = [("trace", b"\xff\x00"), *headers, ("trace", None)]
        made.append(Request(key, b"value", mixed, kind, target=target, out_key=key if out == b"" else out, **due))

    for delay, level in ((1000, b"1"), (0, b"0"), (0, b"-1")):
        add("rocketmq", [("DELAY", level)], delay_ms=delay)
    add("rocketmq", [("TIMER_DELAY_SEC", b"2")], delay_ms=2000)
    add("rocketmq", [("TIMER_DELAY_MS", b"1250"), ("DELAY", b"0")], delay_ms=1250)
    add("rocketmq", [("TIMER_DELIVER_MS", text(now + 1500))], due_ms=now + 1500)
    add("rocketmq", [("TIMER_DELIVER_MS", text(now + 99_000)), ("TIMER_DELAY_SEC", b"1")], delay_ms=1000)
    add("rocketmq", [("TIMER_DELAY_SEC", b"99"), ("DELAY", b"1"), ("dlb-target", b"e2e.b")], "e2e.b", delay_ms=1000)
    add("rabbitmq", [("x-delay", b"1250")], delay_ms=1250)
    add("rabbitmq", [("x-delay", b"-1250")], delay_ms=0)
    add("rabbitmq", [("x-delay", b"1250"), ("dlb-key", b"other")], out=b"other", delay_ms=1250)
    add("etf1", etf1(soon_s, ("scheduler-target-key", b"vid1")), "e2e.b", b"vid1", due_ms=soon_s * 1000)
    add("etf1", etf1(soon_s), "e2e.b", None, due_ms=soon_s * 1000)
    add("etf1", etf1(now // 1000 - 60), "e2e.b", None, due_ms=(now // 1000 - 60) * 1000)
    add("karafka", karafka(soon_s, ("schedule_target_key", b"k")), "e2e.b", b"k", due_ms=soon_s * 1000)
    add("karafka", karafka(soon_s), "e2e.b", None, due_ms=soon_s * 1000)
    add("dlb", [*etf1(0), ("x-delay", b"nonsense"), ("dlb-delay", b"1s")], delay_ms=1000)
    return made


def bad(now: int) -> list[tuple[Request, str]]:
    """Refused requests, each with the words of its reason."""
    soon_s = now // 1000 + 3
    cases: list[tuple[str, str, list[Header]]] = [
        ("bad_time", "DELAY 'five'", [("DELAY", b"five")]),
        ("bad_time", "TIMER_DELAY_SEC '1.5'", [("TIMER_DELAY_SEC", b"1.5")]),
        ("bad_time", f"TIMER_DELIVER_MS '{soon_s}'", [("TIMER_DELIVER_MS", text(soon_s))]),
        ("too_far", "TIMER_DELAY_SEC '99999999'", [("TIMER_DELAY_SEC", b"99999999")]),
        ("bad_header", "TIMER_DEL_UNIQKEY 'id-7'", [("TIMER_DELIVER_MS", text(now + 1000)), ("TIMER_DEL_UNIQKEY", b"id-7")]),
        ("bad_header", "DELAY '2' is given twice", [("DELAY", b"1"), ("DELAY", b"2")]),
        ("bad_time", "x-delay '5s'", [("x-delay", b"5s")]),
        ("too_far", "x-delay '4294967296'", [("x-delay", b"4294967296")]),
        ("bad_header", "x-delay ''", [("x-delay", b"")]),
        ("two_times", "x-delay '5' and DELAY '1'", [("x-delay", b"5"), ("DELAY", b"1")]),
        ("bad_time", "scheduler-epoch 'soon'", [("scheduler-epoch", b"soon")]),
        ("too_far", f"scheduler-epoch '{now}' looks like milliseconds", etf1(now)),
        ("no_time", "scheduler-target-topic 'e2e.b'", [("scheduler-target-topic", b"e2e.b")]),
        ("target_denied", "scheduler-target-topic 'payroll'", [("scheduler-epoch", text(soon_s)),
                                                               ("scheduler-target-topic", b"payroll")]),
        ("bad_header", "schedule_schema_version '2.0.0'", [("schedule_schema_version", b"2.0.0"),
                                                           *karafka(soon_s)[1:]]),
        ("bad_op", "schedule_source_type 'nothing'", [KARAFKA[0], ("schedule_source_type", b"nothing")]),
        ("bad_header", "schedule_target_partition '1'", karafka(soon_s, ("schedule_target_partition", b"1"))),
        ("bad_header", "kafka_original-topic", spring(now, 2, now)[9:]),
        ("bad_time", "retry_topic-backoff-timestamp '12' is not a binary epoch",
         spring(now, 2, now, ("retry_topic-backoff-timestamp", b"12"))),
        ("no_time", "without retry_topic-backoff-timestamp", [*spring(now, 2, now)[:10]]),
        ("target_denied", "kafka_original-topic 'payroll'", spring(now, 2, now, ("kafka_original-topic", b"payroll"))),
        ("bad_header", "__dlq.errors.partition", share_dlq()[:1]),
        ("bad_header", "__dlq.errors.topic", share_dlq()[1:3]),
        ("target_denied", "__dlq.errors.topic 'payroll'", share_dlq()[1:] + [("__dlq.errors.topic", b"payroll")]),
        ("retries_exhausted", "dlb-attempt '2' is the last retry of the policy 'twice'", share_dlq(("dlb-attempt", b"2"))),
        ("two_times", "x-delay '5' and __dlq.errors.topic 'e2e.a'", [("x-delay", b"5"), *share_dlq()]),
    ]
    return [(Request(b"bad-%d" % n, b"value", headers, "bad", code=code), words)
            for n, (code, words, headers) in enumerate(cases)]


def judge_all(stage: Stage) -> str:
    now = now_ms()
    refused = bad(now)
    refused.append((Request(None, None, share_dlq(), "not copied", code="bad_header"), "that the broker did not copy"))
    for request in [*good(now), *retries(now), *(request for request, _ in refused)]:
        stage.sender.send(request)
    stage.sender.flush()
    line = judge(stage.verify(timeout=30))
    reasons = {seen.key: seen.header("dlb-reason").decode() for seen in stage.collector.of("schedule.dead-letter")}
    for request, words in refused:
        require(words in reasons[request.key], f"{words}: {reasons[request.key]}")
    return line


def sent(stage: Stage, key: bytes, value: bytes | None, headers: list[Header]) -> None:
    stage.sender.send(Request(key, value, headers, "by name"))
    stage.sender.flush()


def deliveries(stage: Stage, key: bytes) -> list[bytes | None]:
    return [seen.value for seen in list(stage.collector.seen) if seen.key == key and not seen.topic.endswith("dead-letter")]


def send_voided(stage: Stage) -> int:
    """Replaces and deletes schedules. Returns when they are due."""
    due_s = now_ms() // 1000 + 4
    for n, format_of in ((0, etf1), (1, karafka)):
        to = ("scheduler-target-key", "schedule_target_key")[n]
        for name, versions in ((b"replaced", (b"old", b"new")), (b"deleted", (b"old",)), (b"bare", (b"old",))):
            for value in versions:
                sent(stage, b"%s-%d" % (name, n), value, format_of(due_s, (to, b"out-%s-%d" % (name, n))))
    sent(stage, b"deleted-0", None, etf1(due_s))
    sent(stage, b"deleted-1", None, [KARAFKA[0], ("schedule_source_type", b"cancel")])
    sent(stage, b"bare-0", None, [])
    sent(stage, b"bare-1", None, [])
    return due_s


def check_voided(stage: Stage, due_s: int) -> None:
    """A later schedule of the same key replaces the earlier one, and each format's deletion cancels."""
    for n in (0, 1):
        until("a replaced schedule is delivered", lambda key=b"out-replaced-%d" % n: b"new" in deliveries(stage, key))
    time.sleep(max(0, due_s - time.time()) + 1.5)
    for n in (0, 1):
        require(deliveries(stage, b"out-replaced-%d" % n) == [b"new"], f"replaced: {deliveries(stage, b'out-replaced-%d' % n)}")
        for name in (b"deleted", b"bare"):
            require(not deliveries(stage, b"out-%s-%d" % (name, n)), f"{name!r}-{n} was delivered")


def counted(watch: Watch) -> None:
    """The metric counts each format, refused requests included."""
    names = [name.split("=")[0] for name in FORMATS]
    counts = {name: watch.total("translated_requests_total", f'format="{name}"') for name in names}
    require(counts["rabbitmq"] >= 6 and counts["rocketmq"] >= 12 and counts["etf1"] >= 10 and counts["karafka"] >= 8
            and counts["spring"] >= 7 and counts["share-dlq"] >= 7,
            f"translated requests: {counts}")


def commands_agree(stage: Stage, config: Path) -> None:
    """send judges foreign headers as the bridge does, find reads them, and dead-letters shows their target."""
    done = stage.run("send", "-c", str(config), "--key", "waiting", "--value", "v", "--header", "x-delay=600000")
    require(done.returncode == 0, f"send: {done.stderr}")
    done = stage.run("send", "-c", str(config), "--key", "k", "--value", "v", "--header", "x-delay=5s")
    require(done.returncode == 65 and "bad_time: x-delay '5s'" in done.stderr, f"send: {done.stderr}")
    done = stage.run("find", "-c", str(config), "--key", "waiting", "-o", "json")
    require('"waiting"' in done.stdout, f"find: {done.stdout}{done.stderr}")
    done = stage.run("dead-letters", "-c", str(config), "--target", "payroll", "-o", "json")
    require("target_denied" in done.stdout, f"dead-letters: {done.stdout}")
    done = stage.run("redrive", "-c", str(config), "--code", "too_far", "--dry-run")
    require(done.returncode == 64 and "relative delay" in done.stderr, f"redrive: {done.stdout}{done.stderr}")


def switched_off(stage: Stage, bridge: Bridge, **settings) -> None:
    """SIGHUP switches a format off. Its headers are business headers then."""
    stage.config(**{**settings, "compat": ["etf1"]})
    bridge.process.send_signal(signal.SIGHUP)
    will_say(bridge, '"msg":"configuration key applied","key":"compat"')
    will_say(bridge, "configuration reloaded")
    request = Request(b"off", b"value", [("x-delay", b"0")], "off")
    stage.sender.send(request)
    stage.sender.flush()
    deadline = time.monotonic() + WAIT_S
    while not (codes := [seen.header("dlb-error") for seen in stage.collector.of("schedule.dead-letter") if seen.key == b"off"]):
        require(time.monotonic() < deadline, "a record without a time is not refused")
        time.sleep(0.1)
    require(codes == [b"no_time"], f"a record in a format that is off: {codes}")


class Pages:
    """Runs the Python programs of the pages, and of the helpers for producers."""

    def __init__(self, stage: Stage, config: Path, watch: Watch):
        self.stage, self.config, self.watch, self.n = stage, config, watch, 0

    def programs(self, page: str) -> list[Path]:
        found = []
        for block in blocks(page):
            if block.language != "python" or block.mark:
                continue
            self.n += 1
            path = self.stage.folder / f"program-{self.n}.py"
            path.write_text(block.text.replace("localhost:9092", self.stage.kafka.bootstrap))
            found.append(path)
        require(found, f"{page} has no program")
        return found

    def run(self, program: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "deploy" / "clients"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, env=env, check=False)
        require(done.returncode == 0, f"{program.name}:\n{program.read_text()}\n{done.stdout}{done.stderr}")

    def waiting(self, key: str) -> int:
        done = self.stage.run("find", "-c", str(self.config), "--key", key, "--limit", "100", "-o", "json")
        return done.stdout.count('"waiting"')

    def await_waiting(self, key: str, count: int) -> None:
        deadline = time.monotonic() + WAIT_S
        while (n := self.waiting(key)) != count:
            require(time.monotonic() < deadline, f"{n} requests with the key {key} wait, not {count}")
            time.sleep(0.3)

    def await_cancels(self, count: int) -> None:
        deadline = time.monotonic() + WAIT_S
        while (n := self.watch.total("cancels_total", 'op="cancel"')) != count:
            require(time.monotonic() < deadline, f"{n} cancels, not {count}")
            time.sleep(0.1)

    def await_delivery(self, key: bytes, value: bytes) -> None:
        deadline = time.monotonic() + WAIT_S
        while deliveries(self.stage, key) != [value]:
            require(time.monotonic() < deadline, f"{key!r}: {deliveries(self.stage, key)}")
            time.sleep(0.1)

    def copied(self, program: Path) -> None:
        """The schedules of etf1's old topic: the latest one of each id, without those that were deleted."""
        past = str(int(time.time()) - 5).encode()
        self.stage.admin.create("schedules", 2)
        for key, value in ((b"old-1", b"first"), (b"old-1", b"last"), (b"old-2", b"gone"), (b"old-2", None)):
            headers = [("scheduler-epoch", past), ("scheduler-target-topic", b"online-videos"),
                       ("scheduler-target-key", b"copied-" + key)]
            self.stage.sender.send(Request(key, value, headers, "old"), "schedules")
        self.stage.sender.flush()
        self.run(program)
        self.await_delivery(b"copied-old-1", b"last")
        require(not deliveries(self.stage, b"copied-old-2"), "a deleted schedule was delivered")

    def from_sky(self, program: Path) -> None:
        """The program that reads Avro, with and without headers, and other bytes."""
        self.stage.admin.create("schedules-of-sky", 1)
        due = now_ms()
        plain = avro(due, b"online-videos", b"sky-1", b"plain")
        with_headers = avro(due, b"online-videos", b"sky-2", b"rich") + number(-1) + number(9) + run(b"trace") + run(b"\xff") \
            + number(0)
        for value in (plain, with_headers, b"\x7f"):
            self.stage.sender.send(Request(b"sky", value, [], "old"), "schedules-of-sky")
        self.stage.sender.flush()
        with subprocess.Popen([sys.executable, str(program)], stderr=subprocess.PIPE, text=True) as process:
            try:
                self.await_delivery(b"sky-2", b"rich")
                require("offset 2" in process.stderr.readline(), "other bytes are not reported")
            finally:
                process.kill()
        headers = [seen.headers[0] for seen in self.stage.collector.of("online-videos") if seen.key == b"sky-2"]
        require(headers == [("trace", b"\xff")], f"headers of a schedule of Sky: {headers}")

    def all(self) -> int:
        for page in PAGES:
            for program in self.programs(f"docs/migrating/{page}.md"):
                body = program.read_text()
                if '"schedules"' in body:
                    self.copied(program)
                elif "schedules-of-sky" in body:
                    self.from_sky(program)
                else:
                    self.run(program)
        # Two programs of RocketMQ, two of RabbitMQ and the last one of Karafka.
        self.await_waiting("order-17", 5)
        # Four cancels of send_voided, and one of Karafka's page.
        self.await_cancels(5)
        for program in self.programs("deploy/clients/README.md"):
            self.run(program)
        self.await_cancels(6)
        return self.n


def number(n: int) -> bytes:
    """Encodes a long as Avro does."""
    n = (n << 1) ^ (n >> 63)
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def run(content: bytes) -> bytes:
    return number(len(content)) + content


def avro(due: int, topic: bytes, key: bytes, value: bytes) -> bytes:
    return number(due) + run(topic) + run(key) + number(1) + run(value)


def compat(stage: Stage) -> str:
    """Requests in the formats of other schedulers, good and bad, replaced and deleted. Then the programs of docs/migrating."""
    stage.broker()
    settings = {"compat": FORMATS, "retry": POLICIES, "targets": ["e2e.*", "orders.*", "online-videos"], "cancel_on_tombstone": True,
                "listen": f"127.0.0.1:{stage.spare_port}"}
    config = stage.ready(TOPICS, **settings)
    bridge, watch = stage.bridge(config), Watch(stage.spare_port)
    line = judge_all(stage)
    due_s = send_voided(stage)
    programs = Pages(stage, config, watch).all()
    check_voided(stage, due_s)
    counted(watch)
    commands_agree(stage, config)
    switched_off(stage, bridge, **settings)
    return f"{line} programs={programs}"


SCENARIOS = {"compat": compat}
