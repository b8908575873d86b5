# SPDX-License-Identifier: Apache-2.0
"""The commands dead-letters and redrive, judged by readers of the topics that share no code with them."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

import contract
from client import Collector, now_ms
from contract import Seen
from schemas import faults, load
from stage import LANES, Stage, both_modes, require, require_harness

HOUR_MS = 3_600_000
LARGE = 6000        # bytes of a value, or of headers, that the dead-letter topic does not store
LETTER_BYTES = 3000
BATCH = 1000        # as redrive's help says


class Redriven:
    """The dead letters of a run, and the requests that redrive makes of them."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.dead = f"{stage.schedule}.dead-letter"
        self.sent: dict[bytes, tuple] = {}  # name: kind, key, value, headers
        self.paths: dict[str, Path] = {}
        self.producer: Producer | None = None

    # Requests that are dead-lettered.

    def send(self, kind: str, count: int, *headers, size: int = 40) -> None:
        for n in range(count):
            name = f"{kind} {n}".encode()
            self.produce(self.stage.schedule, name, kind, list(headers), b"v" * (n % 7) + name + b"x" * size)
        self.producer.flush(30)

    def produce(self, topic: str, name: bytes, kind: str, headers: list, value: bytes | None, **more) -> None:
        key = b"key of " + name
        self.sent[name] = (kind, key, value, headers)
        while True:
            try:
                self.producer.produce(topic, value, key, headers=[*headers, ("name", name), ("null", None), ("null", b"")],
                                      **more)
                return
            except BufferError:
                self.producer.poll(0.1)

    # Readers.

    def letters(self) -> list[Seen]:
        return self.stage.collector.of(self.dead)

    def requests(self, since: dict | None = None) -> list[Seen]:
        """Returns the requests on the schedule topic behind these offsets. Reads them now."""
        ends = self.ends(self.stage.schedule)
        since = since or dict.fromkeys(ends, 0)
        consumer = Consumer({"bootstrap.servers": self.stage.kafka.bootstrap, "group.id": "e2e-redriven", "log_level": 0,
                             "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        missing = {place for place, end in ends.items() if end > since[place]}
        consumer.assign([TopicPartition(*place, since[place]) for place in missing])
        found, deadline = [], time.monotonic() + 60
        while missing:
            require_harness(time.monotonic() < deadline, f"the reader of {self.stage.schedule} stalls at {missing}")
            message = consumer.poll(1)
            if message is None or message.error():
                continue
            place = message.topic(), message.partition()
            if message.offset() + 1 >= ends[place]:
                missing.discard(place)
            if message.offset() < ends[place]:
                found.append(Seen(*place, message.offset(), message.timestamp()[1], message.key(), message.value(),
                                  list(message.headers() or []), 0))
        consumer.close()
        return found

    def ends(self, topic: str) -> dict[tuple[str, int], int]:
        return self.stage.admin.offsets([(topic, lane) for lane in range(LANES)], OffsetSpec.latest())

    def progress(self, group: str) -> dict[tuple[str, int], int]:
        """Returns the offsets that the group has committed on the dead-letter topic."""
        consumer = Consumer({"bootstrap.servers": self.stage.kafka.bootstrap, "group.id": group, "log_level": 0})
        found = consumer.committed([TopicPartition(self.dead, lane) for lane in range(LANES)], timeout=20)
        consumer.close()
        return {(place.topic, place.partition): place.offset for place in found}

    def wait_letters(self, count: int) -> None:
        deadline = time.monotonic() + 90
        while len(self.letters()) < count:
            require(time.monotonic() < deadline, f"{len(self.letters())} of {count} dead letters came")
            time.sleep(0.2)

    # The commands.

    def command(self, *args: str, code: int = 0, config: str = "corrected") -> tuple[list[dict], dict]:
        """Runs a command. Returns its lines before the last one, and the last one."""
        done = self.stage.run(*args, "-c", str(self.paths[config]), "-o", "json")
        require(done.returncode == code, f"{args} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-800:]}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return lines[:-1], lines[-1]

    def redrive(self, *args: str, **more) -> tuple[list[dict], dict, list[Seen]]:
        """Returns the skipped records, the result, and the requests that appeared on the schedule topic."""
        before = self.ends(self.stage.schedule)
        skipped, result = self.command("redrive", *args, **more)
        return [line["skipped"] for line in skipped], result, self.requests(before)

    def judge(self, requests: list[Seen], kinds: set[str], duplicates: int = 0) -> None:
        """Checks that each dead letter of these kinds is sent again, unchanged but for the headers of the bridge."""
        seen = Counter(self.name(r) for r in requests)
        wanted = {name for name, (kind, *_) in self.sent.items() if kind in kinds}
        require(set(seen) == wanted, f"{kinds}: not sent {sorted(wanted - set(seen))[:3]}, "
                                     f"foreign {sorted(set(seen) - wanted)[:3]}")
        doubles = len(requests) - len(wanted)
        require(doubles <= duplicates, f"{kinds}: {doubles} were sent twice, {duplicates} are allowed")
        for request in requests:
            _, key, value, _ = self.sent[self.name(request)]
            require((request.key, request.value) == (key, value), f"{self.name(request)!r}: another key or value: {request}")
            require(contract.business(request.headers) ==
                    [("name", self.name(request)), ("null", None), ("null", b"")], f"other headers: {request}")
            added = [name for name, _ in request.headers if name in contract.WRITTEN_BY_BRIDGE or
                     name in (contract.TRUNCATED, "dlb-attempt", "dlb-first-at")]
            require(not added, f"{self.name(request)!r} still has {added}")

    @staticmethod
    def name(record: Seen) -> bytes:
        return record.header("name") or b"?"


def dead_letters_of_all_kinds(run: Redriven, scale: int) -> None:
    """Sends requests of each kind to a bridge that refuses them."""
    past = str(now_ms() - 5000).encode()
    run.send("no target", 20 * scale, ("dlb-deliver-at", past))
    run.send("denied", 20 * scale, ("dlb-target", b"e2e.b"), ("dlb-delay", b"1s"), ("dlb-key", b"other"))
    run.send("too far", 10 * scale, ("dlb-target", b"e2e.a"), ("dlb-delay", b"2h"))
    run.send("failed", 10 * scale, ("dlb-target", b"e2e.missing"), ("dlb-delay", b"1s"), ("dlb-id", b"i"))
    run.send("expired", 5 * scale, ("dlb-target", b"e2e.c"), ("dlb-deliver-at", past),
             ("dlb-expires-at", str(now_ms() + 3000).encode()))
    run.send("bad time", 2 * scale, ("dlb-target", b"e2e.a"), ("dlb-delay", b"15"))
    run.send("cancel", scale, ("dlb-op", b"cancel"), ("dlb-target", b"e2e.a"), ("dlb-delay", b"1s"))
    run.send("large", 12, ("dlb-target", b"e2e.d"), ("dlb-deliver-at", past), size=LARGE)
    run.send("bare", 6, ("dlb-target", b"e2e.d"), ("dlb-deliver-at", past), ("padding", b"p" * LARGE))
    run.wait_letters(len(run.sent))
    names = Counter(s.header(contract.TRUNCATED) for s in run.letters())
    require((names[b"value"], names[b"all"]) == (12, 6), f"truncated dead letters: {names}")


def foreign_records(run: Redriven) -> None:
    for n in range(5):
        run.producer.produce(run.dead, b"v", b"k", headers=[("dlb-delay", b"1s")] if n % 2 else None, partition=n)
    run.producer.flush(10)
    run.wait_letters(len(run.sent) + 5)


def counted(run: Redriven) -> None:
    """dead-letters shows the numbers that a reader of the topic finds."""
    letters = [s for s in run.letters() if s.header("dlb-error")]
    _, all_ = run.command("dead-letters")
    have = {(row["code"], row["target"]): row["records"] for row in all_["counts"]}
    want = Counter((s.header("dlb-error").decode(), target_of(s)) for s in letters)
    require(have == dict(want), f"dead-letters counts {have}, the topic has {dict(want)}")
    require((all_["records"], all_["others"], all_["foreign"]) == (len(letters), 0, 5), f"{all_}")
    shown, some = run.command("dead-letters", "--code", "too_far", "--code=bad_time", "--target", "e2e.a", "--show", "3")
    require(len(shown) == 3 and some["records"] == sum(
        want[code, "e2e.a"] for code in ("too_far", "bad_time")), f"{shown} {some}")
    newest = sorted((int(s.header("dlb-failed-at")) for s in letters
                     if s.header("dlb-error") in (b"too_far", b"bad_time") and target_of(s) == "e2e.a"), reverse=True)[:3]
    failed = [datetime.fromisoformat(line["failed_at"]).timestamp() for line in shown]
    require(failed == [ms / 1000 for ms in newest], f"--show 3 shows records of {failed}, the newest are of {newest}")
    times = sorted(int(s.header("dlb-failed-at")) for s in letters)
    middle = times[len(times) // 2]
    _, early = run.command("dead-letters", "--until", str(middle))
    _, late = run.command("dead-letters", "--since", contract.rfc3339(middle))
    require((early["records"], late["records"]) == (sum(t < middle for t in times), sum(t >= middle for t in times)),
            f"until {early}, since {late}")


def target_of(letter: Seen) -> str | None:
    """Returns the target that the command counts a dead letter under."""
    if letter.header(contract.TRUNCATED) == b"all":
        return None
    target = letter.header("dlb-target")
    return "e2e.a" if target is None else target.decode()  # default_target of the second configuration


def dry_and_undecided(run: Redriven) -> None:
    """Without --keep-due or --restart-delay a relative delay ends the run, and --dry-run changes nothing."""
    _, result, requests = run.redrive("--code", "no_target", "--dry-run")
    count = sum(kind == "no target" for kind, *_ in run.sent.values())
    require((result["sent"], requests, result["dry_run"]) == (count, [], True), f"{result} {len(requests)}")
    done = run.stage.run("redrive", "--code", "target_denied", "--target", "e2e.b", "-c", str(run.paths["corrected"]))
    require(done.returncode == 64 and "--keep-due or --restart-delay" in done.stderr, f"{done.returncode} {done.stderr}")
    both = run.stage.run("redrive", "--keep-due", "--restart-delay", "-c", str(run.paths["corrected"]))
    require(both.returncode == 64 and "exclude each other" in both.stderr, f"{both.returncode} {both.stderr}")


def in_two_parts(run: Redriven) -> None:
    """A second run with the same filters continues after --limit, and a third one finds nothing."""
    count = sum(kind == "no target" for kind, *_ in run.sent.values())
    _, first, one = run.redrive("--code", "no_target", "--limit", str(count // 3))
    require((first["sent"], first["complete"], len(one)) == (count // 3, False, count // 3), f"{first} {len(one)}")
    _, second, two = run.redrive("--code=no_target")
    require(second["group"] == first["group"] and second["complete"], f"{second}")
    run.judge(one + two, {"no target"})
    require(run.progress(second["group"]) == run.ends(run.dead) and second["group"].startswith(f"{run.stage.group}.redrive."),
            f"the progress of {second['group']} is {run.progress(second['group'])}")
    _, third, none = run.redrive("--code", "no_target")
    require((third["sent"], none) == (0, []), f"a third run sent {third} {len(none)}")


def killed(run: Redriven, rate: int) -> str:
    """kill -9 at a rate, while requests are lost on their way, and while answers are late. No dead letter is lost, and only
    those without an answer are sent twice."""
    before, stage = run.ends(run.stage.schedule), run.stage
    args = ("redrive", "--target", "e2e.b", "--code", "target_denied", "--restart-delay", "-c", str(run.paths["corrected"]))
    kill_at(run, (*args, "--rate", str(rate)), lambda: len(run.requests(before)) >= rate // 4)
    paced = len(run.requests(before))
    for way in ("request_lost", "answer_late"):
        rule = stage.proxy.add("Produce", way, 60, times=10_000)
        stored = len(run.requests(before))
        kill_at(run, args, lambda rule=rule, way=way, stored=stored: rule.hits > 0 and (
            way == "request_lost" or len(run.requests(before)) > stored))
        stage.proxy.rules.clear()
    held = len(run.requests(before)) - paced
    done = stage.run(*args)
    require(done.returncode == 0, f"the last run ended with {done.returncode}: {done.stderr}")
    requests = run.requests(before)
    run.judge(requests, {"denied"}, duplicates=3 * BATCH)
    require(all(r.header("dlb-delay") == b"1s" for r in requests), "--restart-delay changed a delay")
    count = sum(kind == "denied" for kind, *_ in run.sent.values())
    doubles = len(requests) - count
    require(held <= doubles <= held + BATCH, f"{held} were stored without an answer, {doubles} were sent twice")
    return f"3 kills: {doubles} of {count} sent twice, of these {held} without an answer"


def kill_at(run: Redriven, args: tuple[str, ...], moment) -> None:
    """Starts redrive on a terminal and kills it as soon as the moment has come. It shows a progress bar there."""
    ours, theirs = os.openpty()
    process = subprocess.Popen([str(run.stage.binary), *args], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    deadline = time.monotonic() + 20
    while not moment():
        require(process.poll() is None, f"redrive ended before the kill with {process.poll()}")
        require(time.monotonic() < deadline, "redrive sends nothing")
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    require(re.search(rb"\[#*\.*\] +\d+ %  \d+ sent", shown), f"no progress bar: {shown[-200:]!r}")


def due_is_kept(run: Redriven) -> None:
    """--keep-due writes the first due time. Later dead letters are left for the next run."""
    first = {run.name(s): int(s.header("dlb-sent-at")) + 2 * HOUR_MS for s in run.letters()
             if s.header("dlb-error") == b"too_far"}
    before = run.ends(run.stage.schedule)
    args = ("redrive", "--code", "too_far", "--keep-due", "-c", str(run.paths["corrected"]), "-o", "json")
    process = subprocess.Popen([str(run.stage.binary), *args, "--rate", str(len(first) // 3)], stdout=subprocess.PIPE, text=True)
    while not sum(run.ends(run.stage.schedule).values()) > sum(before.values()):
        require(process.poll() is None, "redrive ended without a request")
        time.sleep(0.05)
    sent = now_ms() - 1000
    run.produce(run.dead, b"later", "later", [
        ("dlb-delay", b"2h"), ("dlb-attempt", b"3"), ("dlb-first-at", b"1"), ("dlb-error", b"too_far"), ("dlb-reason", b"r"),
        ("dlb-source", b"schedule/0/0"), ("dlb-sent-at", str(sent).encode()), ("dlb-failed-at", str(sent).encode())], b"v")
    run.producer.flush(10)
    result = json.loads(process.communicate(timeout=60)[0].splitlines()[-1])
    requests = run.requests(before)
    require((result["sent"], result["complete"]) == (len(first), True), f"{result}")
    run.judge(requests, {"too far"})
    due = {run.name(r): int(r.header("dlb-deliver-at")) for r in requests}
    require(due == first and not any(r.header("dlb-delay") for r in requests), "--keep-due changed a due time")
    _, result, later = run.redrive("--code", "too_far", "--keep-due")
    run.judge(later, {"later"})
    require(later[0].header("dlb-deliver-at") == str(sent + 2 * HOUR_MS).encode(), f"{later}")


def expired_are_skipped(run: Redriven) -> None:
    count = sum(kind == "expired" for kind, *_ in run.sent.values())
    skipped, result, requests = run.redrive("--target", "e2e.c")
    require((result["skipped"]["expired"], len(requests)) == (count, 0), f"{result} {len(requests)}")
    require({s["why"] for s in skipped} == {"expired", "foreign"} and len(skipped) == count + 5, f"{skipped[:3]}")
    _, result, requests = run.redrive("--target", "e2e.c", "--code", "target_denied", "--drop-expiry")
    run.judge(requests, {"expired"})
    require(not any(r.header("dlb-expires-at") for r in requests), "--drop-expiry kept an expiry")


def refused_are_skipped(run: Redriven) -> None:
    """Requests that would be refused again, cancels and foreign records are listed and do not stop a run."""
    letters = Counter(s.header("dlb-error") for s in run.letters())
    _, result, requests = run.redrive("--code", "bad_time", "--restart-delay")
    require((result["skipped"]["refused"], requests) == (letters[b"bad_time"], []), f"{result} {len(requests)}")
    _, result, requests = run.redrive("--code", "bad_op", "--restart-delay")
    require((result["skipped"]["operation"], result["skipped"]["foreign"], requests) == (letters[b"bad_op"], 5, []),
            f"{result} {len(requests)}")


def truncated_are_read_again(run: Redriven) -> str:
    """Requests that their dead letters do not hold whole are read at their source; those that are gone are skipped."""
    truncated = [s for s in run.letters() if s.header(contract.TRUNCATED)]
    lane, first = min((int(s.header("dlb-source").split(b"/")[1]), int(s.header("dlb-source").split(b"/")[2]))
                      for s in truncated)
    for future in run.stage.admin.client.delete_records([TopicPartition(run.stage.schedule, lane, first + 1)]).values():
        future.result(30)
    gone = {s.header("dlb-source") for s in truncated if s.header("dlb-source") == f"{run.stage.schedule}/{lane}/{first}".encode()}
    since = str(min(int(s.header("dlb-failed-at")) for s in truncated))
    skipped, result, requests = run.redrive("--code", "target_denied", "--since", since, "--restart-delay", "--drop-expiry")
    listed = [s for s in skipped if s["why"] == "gone"]
    require(len(listed) == len(gone) == 1 and next(iter(gone)).decode() in listed[0]["text"], f"{skipped} {gone}")
    large = [r for r in requests if run.sent[run.name(r)][0] in ("large", "bare")]
    require(len(large) == len(truncated) - 1 and result["complete"], f"{len(large)} of {len(truncated)} were read again")
    for request in large:
        kind, key, value, headers = run.sent[run.name(request)]
        require((request.key, request.value) == (key, value), f"{run.name(request)!r} is not whole")
        require(kind == "large" or ("padding", headers[-1][1]) in request.headers, f"{run.name(request)!r} lacks its headers")
    return f"{len(large)} truncated read again, 1 gone"


def delivered(run: Redriven) -> int:
    """A bridge with the corrected configuration delivers the requests that are due."""
    wanted = {name for name, (kind, *_) in run.sent.items() if kind in ("no target", "denied", "failed", "expired")}
    before = now_ms()
    _, _, failed = run.redrive("--code", "target_failed")
    run.judge(failed, {"failed"})
    reader = Collector(run.stage.kafka.bootstrap, ["e2e.missing"])
    reader.start()
    bridge = run.stage.bridge(run.paths["corrected"], "corrected")
    deadline = time.monotonic() + 60
    while True:
        seen = [s for s in run.stage.collector.seen + reader.seen if s.topic.startswith("e2e.")]
        if not (missing := wanted - {run.name(s) for s in seen}):
            break
        require(time.monotonic() < deadline, f"{len(missing)} are not delivered, such as {sorted(missing)[:3]}:\n{bridge.tail()}")
        time.sleep(0.3)
    for record in seen:
        kind, key, value, _ = run.sent[run.name(record)]
        key = b"other" if kind == "denied" else key
        require((record.key, record.value) == (key, value) and record.timestamp_ms >= before - 60_000, f"{kind}: {record}")
    reader.end()
    require(bridge.stop() == 0, "the bridge does not end")
    return len(wanted)


def each_has_its_event(run: Redriven, told: Collector, before: dict) -> int:
    """Each new request has the event redriven, which names the dead-lettered one. No event names another request."""
    require_harness(told.catch_up(60), "the reader of events stalls")
    schema, schedule = load("events"), run.stage.schedule
    letters = {(s.header("dlb-source").decode(), run.name(s)) for s in run.letters() if s.header("dlb-source")}
    requests = {f"{schedule}/{r.partition}/{r.offset}": run.name(r) for r in run.requests(before)}
    events = [(s, json.loads(s.value)) for s in told.seen]
    redriven_ = [(s, e) for s, e in events if e["type"] == "delaybridge.redriven"]
    for record, event in redriven_:
        require(not (wrong := faults(event, schema)), f"not by the schema: {wrong}: {event}")
        name = requests.get(event["data"]["sent_as"])
        require({(event["subject"], name), (event["subject"], b"?")} & letters, f"{event} is of no dead letter of {name!r}")
        require(event["subject"].split("/")[1] == str(record.partition), f"{event} is in partition {record.partition}")
        require(record.headers == [("content-type", b"application/cloudevents+json")], f"headers {record.headers}")
    require(len({e["id"] for _, e in redriven_}) == len(redriven_), "an event came twice")
    told_names = {requests[e["data"]["sent_as"]] for _, e in redriven_}
    require(told_names == set(requests.values()), f"without an event: {sorted(set(requests.values()) - told_names)[:3]}")
    return len(redriven_)


def redriven(stage: Stage) -> str:
    """Thousands of dead letters of several codes: counted, sent again by filters, with kills, limits and gaps."""
    stage.broker(proxied=True)
    run = Redriven(stage)
    run.paths["refusing"] = stage.ready(targets=["e2e.a", "e2e.missing"], default_target=None, max_delay="1h",
                                        max_attempts=1, events=["default"])
    told = Collector(stage.kafka.bootstrap, ["schedule.events"])
    told.start()
    stage.admin.set(run.dead, max_message_bytes=str(LETTER_BYTES))
    run.producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "partitioner": "murmur2_random",
                             "compression.type": stage.codec, "log_level": 0})
    bridge = stage.bridge(run.paths["refusing"], "refusing")
    dead_letters_of_all_kinds(run, 200 if stage.full else 50)
    require(bridge.stop() == 0, "the bridge does not end")
    foreign_records(run)
    stage.admin.create("e2e.missing", 2)
    stage.admin.create("e2e.d", 1)
    run.paths["corrected"] = stage.config("corrected.yaml", events=["default"])
    letters, before = len(run.letters()), run.ends(stage.schedule)
    counted(run)
    dry_and_undecided(run)
    in_two_parts(run)
    kills = killed(run, 400)
    due_is_kept(run)
    expired_are_skipped(run)
    refused_are_skipped(run)
    truncated = truncated_are_read_again(run)
    count = delivered(run)
    events = each_has_its_event(run, told, before)
    told.end()
    return f"{letters} dead letters, {kills}; {truncated}; {events} events; " \
        f"{count} delivered, each with key, value and headers unchanged"


SCENARIOS = both_modes(redriven)
