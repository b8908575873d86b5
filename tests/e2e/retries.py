# SPDX-License-Identifier: Apache-2.0
"""A service that fails and sends its records back with dlb-retry, next to a burst with dlb-spread. The service, its model
of the policies and the judge share no code with the bridge."""
from __future__ import annotations

import json
import random
import signal
import time

from client import Sender, now_ms
from contract import Request, Retry, Seen
from operating import Watch
from processes import Bridge
from stage import Stage, both_modes, judge, require, will_say

TOPICS = {"e2e.a": 6, "e2e.b": 3}
POLICIES = {"list": {"delays": ["300ms", "1s", "2500ms"], "jitter": 0.2},
            "series": {"first": "200ms", "factor": 3, "longest": "2s", "attempts": 4}}
# The bounds of each wait, as a reader of the documents computes them.
WAITS = {"list": [(240, 360), (800, 1200), (2000, 3000)],
         "series": [(200, 200), (600, 600), (1800, 1800), (2000, 2000)]}


class Service:
    """Consumes the targets. Each record says how often it fails, and by which policy it is retried."""

    def __init__(self, stage: Stage):
        self.stage, self.sender, self.at = stage, stage.sender, 0
        self.handled: set[tuple] = set()  # the deduplication that the documents ask for
        self.done: list[bytes] = []
        self.last_ms = now_ms()

    def serve(self) -> None:
        """Handles all records that have come."""
        seen = self.stage.collector.seen
        for record in seen[self.at:]:
            self.at += 1
            if not record.topic.endswith(".dead-letter"):
                self.handle(record)
        self.sender.producer.poll(0.05)

    def handle(self, seen: Seen) -> None:
        attempt = seen.header("dlb-attempt")
        if seen.header("policy") is None:  # of the burst
            return
        which = (seen.header("dlb-origin") or seen.header("dlb-source"), attempt)
        if which in self.handled:
            return
        self.handled.add(which)
        self.last_ms = now_ms()
        so_far = int(attempt or 0)
        if so_far >= int(seen.header("fails") or 0):
            self.done.append(seen.header("name") or b"")
            return
        self.sender.send(self.retry(seen, so_far))

    def retry(self, seen: Seen, so_far: int) -> Request:
        policy = (seen.header("policy") or b"").decode()
        waits = WAITS[policy]
        headers = [*seen.headers, ("dlb-retry", policy.encode()), ("dlb-target", seen.topic.encode())]
        first, again = seen.header("dlb-first-at"), so_far < len(waits)
        least, most = waits[so_far] if again else (0, 0)
        return Request(seen.key, seen.value, headers, "retry", code=None if again else "retries_exhausted",
                       target=seen.topic, out_key=seen.key, id=seen.header("dlb-id"),
                       retry=Retry(so_far + 1, least, most, int(first) if first else None, seen.header("dlb-origin")))


def first_requests(stage: Stage, count: int) -> list[Request]:
    """Records of every shape, from never to more often failing than their policy allows."""
    generator, dice, made = stage.generator(2000), random.Random(stage.seed), []
    for n in range(count):
        policy = dice.choice(list(POLICIES))
        own = [*generator.business_headers(), ("name", b"%d" % n), ("policy", policy.encode()),
               ("fails", b"%d" % dice.choice((0, 1, 2, 3, 4, 5)))]
        made.append(generator.request(now_ms(), headers=own, wait_ms=dice.randint(0, 2000),
                                      target=dice.choice(list(TOPICS))))
    return made


SPREAD_S, BURST = 8, 4000


def burst(stage: Stage) -> list[Request]:
    """Sends requests for one instant, with a spread."""
    due, made = now_ms() + 6000, []
    for n in range(BURST):
        made.append(Request(b"burst %d" % n, b"v", [("dlb-deliver-at", b"%d" % due), ("dlb-spread", b"%ds" % SPREAD_S)],
                            "burst", target="e2e.a", out_key=b"burst %d" % n, due_ms=due, spread_ms=SPREAD_S * 1000))
        stage.sender.send(made[-1])
    return made


def spread(stage: Stage, requests: list[Request]) -> str:
    """Each second of the spread gets its part of the burst. The chosen times are judged, since a kill makes records late."""
    due = requests[0].due
    chosen = {s.key: int(s.header("dlb-due") or 0) - due for s in stage.collector.of("e2e.a") if (s.key or b"").startswith(b"burst")}
    n = [sum(1000 * second <= at < 1000 * (second + 1) for at in chosen.values()) for second in range(SPREAD_S)]
    fair = BURST // SPREAD_S
    require(sum(n) == BURST and all(abs(each - fair) < 5 * fair ** 0.5 for each in n), f"the burst is spread as {n}")
    return f"burst of {BURST}: {min(n)} to {max(n)} a second"


def retries(stage: Stage) -> str:
    """A service fails up to five times for each record, while one of two processes is killed. Each attempt comes after
    its wait, counted and with its first request, and the last one is dead-lettered."""
    count = 3000 if stage.full else 500
    stage.use_levels(20_000)  # the delay of the retry that peek shows
    stage.broker()
    port = stage.spare_port
    config = stage.ready(TOPICS, retry=POLICIES)
    bridges = [stage.bridge(config, "bridge-1", members=1),
               stage.bridge(stage.config("second.yaml", retry=POLICIES, listen=f"127.0.0.1:{port}"), "bridge-2", members=2)]
    at_once = burst(stage)
    service, requests = Service(stage), first_requests(stage, count)
    kill_at = {count // 3, 2 * count // 3}
    for n, request in enumerate(requests):
        stage.sender.send(request)
        service.serve()
        if n in kill_at:
            bridges[0].kill()
            bridges[0].start()
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not has_ended(stage, service, requests):
        service.serve()
    stage.sender.flush()
    line = judge(stage.verify(timeout=30), 0 if stage.exactly_once else None)
    outcome(stage, service, requests)
    return f"{line} | {spread(stage, at_once)} | {commands(stage, config)} | {counted(stage, port)} | {reloaded(stage, config, bridges)}"


def has_ended(stage: Stage, service: Service, requests: list[Request]) -> bool:
    """Returns whether each record is done or dead, and no other has come for as long as a wait takes."""
    dead = {letter.header("name") for letter in stage.collector.of("schedule.dead-letter")}
    return len(dead.union(service.done)) >= len(requests) and now_ms() - service.last_ms > 4000


def outcome(stage: Stage, service: Service, requests: list[Request]) -> None:
    """A record that fails less often than its policy allows is done in the end, and any other is a dead letter."""
    done, dead = set(service.done), set()
    for letter in stage.collector.of("schedule.dead-letter"):
        require(letter.header("dlb-error") == b"retries_exhausted", f"{letter}")
        dead.add(letter.header("name"))
    for request in requests:
        facts = dict(request.headers)
        exhausted = int(facts["fails"]) > len(WAITS[facts["policy"].decode()])
        require((facts["name"] in dead) == exhausted and (facts["name"] in done) == (not exhausted),
                f"{facts['name'].decode()} fails {int(facts['fails'])} times, policy {facts['policy'].decode()}")
    require(len(service.done) == len(done), "the service has done a record twice")


def counted(stage: Stage, port: int) -> str:
    """The metric counts accepted requests by policy and number. Killed processes have lost a part of theirs."""
    metrics = Watch(port).metrics()
    text = ""
    for policy, waits in WAITS.items():
        n = [metrics["delaybridge_retry_requests_total", f'policy="{policy}",attempt="{i}"'] for i in range(1, 6)]
        require(all(n[:len(waits)]) and not any(n[len(waits):]), f"{policy}: {n}")
        text += f"{policy} {'/'.join(f'{i:.0f}' for i in n[:len(waits)])} "
    sent = [r for r in stage.sender.journal if r.retry and r.code is None]
    require(sum(metrics[name] for name in metrics if name[0] == "delaybridge_retry_requests_total") <= len(sent),
            "more retries were counted than sent")
    return text.strip()


def commands(stage: Stage, config) -> str:
    """send writes a retry, peek and find show it, and redrive begins a new count."""
    path = str(stage.config("later.yaml", retry={"later": {"delays": ["40s"]}, **POLICIES}))
    sent = stage.run("send", "-c", path, "--retry-policy", "list", "--target", "e2e.a", "--key", "k", "--value", "v",
                     "--header", "name=sent")
    require(sent.returncode == 0, sent.stderr)
    refused = stage.run("send", "-c", str(config), "--retry-policy", "later", "--target", "e2e.a", "--value", "v")
    require(refused.returncode == 65 and "dlb-retry 'later' is not a policy" in refused.stderr, refused.stderr)
    exhausted = len(stage.collector.of("schedule.dead-letter"))
    before = len(stage.collector.seen)
    done = stage.run("redrive", "-c", str(config), "--code", "retries_exhausted", "-o", "json")
    result = json.loads(done.stdout.splitlines()[-1])
    require((done.returncode, result["sent"]) == (0, exhausted), f"{done.stdout} {done.stderr}")
    deadline = time.monotonic() + 30
    while len(stage.collector.seen) < before + exhausted + 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    again = stage.collector.seen[before:]
    require(len(again) == exhausted + 1, f"{len(again)} of {exhausted + 1} came")
    for record in again:
        require(record.header("dlb-attempt") == b"1" and record.header("dlb-origin") == record.header("dlb-source"),
                f"redrive kept a count or an origin: {record}")
    return f"redriven={exhausted}"


def reloaded(stage: Stage, config, bridges: list[Bridge]) -> str:
    """SIGHUP changes a policy for later requests: their wait, and their number. peek and find show a waiting one."""
    changed = {**POLICIES, "list": {"delays": ["20s"]}}
    for bridge, name in zip(bridges, ("delaybridge.yaml", "second.yaml")):
        stage.config(name, retry=changed)
        bridge.process.send_signal(signal.SIGHUP)
        will_say(bridge, "configuration reloaded")
    sender = Sender(stage.kafka.bootstrap, stage.schedule)
    request = Request(b"peeked", b"v", [("dlb-retry", b"list"), ("dlb-target", b"e2e.b")], "peeked", target="e2e.b")
    sender.send(request)
    sender.send(Request(b"second", b"v", [*request.headers, ("dlb-attempt", b"1")], "second", target="e2e.b"))
    sender.flush()
    deadline, found = time.monotonic() + 20, []
    while not found and time.monotonic() < deadline:
        done = stage.run("peek", "10s", "-c", str(config), "-o", "json")
        found = [line for line in map(json.loads, done.stdout.splitlines()) if line["key"] == "peeked"]
    require(found, "the retry does not wait 20 s")
    shown = {"attempt": 1, "origin": {"topic": "schedule", "partition": request.partition, "offset": request.offset}}
    require({key: found[0]["retry"][key] for key in shown} == shown, f"peek: {found[0]}")
    by_source = stage.run("find", "--source", f"schedule/{request.partition}/{request.offset}", "-c", str(config), "-o", "json")
    record = json.loads(by_source.stdout.splitlines()[-1])["record"]
    require(record is not None and record["retry"] == found[0]["retry"], f"find: {by_source.stdout}")
    text = stage.run("peek", "10s", "-c", str(config)).stdout
    while not (ended := [s.header("dlb-error") for s in stage.collector.of("schedule.dead-letter") if s.key == b"second"]):
        require(time.monotonic() < deadline, "a second retry by a policy that now has one is no dead letter")
        time.sleep(0.1)
    require(ended == [b"retries_exhausted"], f"a second retry by a policy that now has one: {ended}")
    require(f"retry     1, of schedule/{request.partition}/{request.offset} at " in text, text)
    return f"due in {found[0]['remaining_ms'] / 1000:.1f} s after a reload"


SCENARIOS = both_modes(retries)
