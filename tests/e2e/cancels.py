# SPDX-License-Identifier: Apache-2.0
"""Cancels and replaces among requests. A verifier decides by offsets and acknowledgements alone which requests must come
out, which must not, and which may."""
from __future__ import annotations

import collections
import random
import time

from client import now_ms
from contract import Request
from scenarios import source
from stage import Stage, both_modes, judge, require
from versions import Rollout, by_turn, older_binary, until

# A cancel wins if it was acknowledged this long before the due time. The contract says one second.
WINS_MS = 2000
RATE, KEYS = 300, 3000
LONG_MS = 36_000  # it waits in the level of 30 s, longer than the newer program runs
LATEST = 400  # a cancel is for one of so many latest requests
Name = tuple[int, str, bytes]


def name_of(request: Request) -> Name:
    """Returns the lane, the space and the name. A cancel carries the key and the dlb-id of its request."""
    given = dict(request.headers).get("dlb-id")
    return (request.partition, "key", request.key) if given is None else (request.partition, "id", given)


class Orders:
    """Makes requests, and cancels or replaces some of the latest ones."""

    def __init__(self, stage: Stage, max_ms: int):
        self.dice = random.Random(stage.seed)
        self.generator, self.max_ms = stage.generator(max_ms), max_ms
        self.share = self.dice.choice((0.05, 0.5, 0.95))  # of the requests that are cancelled
        self.latest: collections.deque[Request] = collections.deque(maxlen=LATEST)

    def make(self, n: int, now: int) -> Request:
        if self.latest and self.dice.random() < self.share / (1 + self.share):
            return self.void(self.dice.choice(self.latest), now)
        request = self.generator.request(now, key=b"order-%d" % self.dice.randrange(KEYS))
        self.latest.append(request)
        return request

    def void(self, other: Request, now: int) -> Request:
        given = [h for h in other.headers if h[0] == "dlb-id"]
        if self.dice.random() < 0.8:
            return Request(other.key, b"", [("dlb-op", b"cancel"), *given], "cancel")
        request = self.generator.request(now, key=other.key)
        rest = [h for h in request.headers if h[0] not in ("dlb-id", "dlb-op")]
        request.headers, request.kind = [("dlb-op", b"replace"), *given, *rest], "replace"
        request.id = given[0][1] if given else None
        return request


class Judgment:
    """Sorts the acknowledged requests by the cancels and replaces of the same name behind them."""

    def __init__(self, stage: Stage):
        voiders = collections.defaultdict(list)
        for request in stage.sender.journal:
            if request.kind in ("cancel", "replace"):
                voiders[name_of(request)].append(request)
        out = {source(seen) for seen in list(stage.collector.seen)}
        self.to_verify: list[Request] = []  # they must come out, or have come out and were allowed to
        self.wrongly: list[Request] = []    # they came out, and a cancel had won
        self.dropped = self.cancels = self.replaces = 0
        for request in stage.sender.journal:
            self.cancels += request.kind == "cancel"
            self.replaces += request.kind == "replace"
            if request.kind == "cancel":
                continue
            over = [v for v in voiders[name_of(request)] if v.offset > request.offset]
            came = (request.partition, request.offset) in out
            if any(v.acked_at * 1000 + WINS_MS < request.due for v in over) and came:
                self.wrongly.append(request)
            elif not over or came:
                self.to_verify.append(request)
            else:
                self.dropped += 1


def await_all(stage: Stage, timeout: float) -> None:
    """Waits until every request that no cancel can void has come out."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        missing = stage.collector.missing(Judgment(stage).to_verify, stage.schedule)
        if not missing:
            break
        time.sleep(0.5)
    time.sleep(2)


def cancels(stage: Stage) -> str:
    """Two processes are killed while requests are cancelled and replaced. No request that was cancelled in time comes out,
    and all others do."""
    kills, max_ms = (12, 30_000) if stage.full else (3, 12_000)
    stage.broker(proxied=True)
    config = stage.ready()
    bridges = [stage.bridge(config, f"bridge-{n}", members=n, named=True) for n in (1, 2)]
    orders = Orders(stage, max_ms)
    sending = stage.background(orders.make, 1_000_000, RATE)
    time.sleep(5)
    for _ in range(kills):
        time.sleep(orders.dice.uniform(3, 7))
        victim = orders.dice.choice(bridges)
        victim.kill()
        victim.start()
    time.sleep(6)
    sending.finish(stop=True)
    await_all(stage, max_ms / 1000 + 60)
    found = Judgment(stage)
    line = judge(stage.verify(journal=found.to_verify, timeout=5), None)
    require(not found.wrongly, f"{len(found.wrongly)} came out although they were cancelled in time, for example "
                               f"{found.wrongly[:1]}")
    require(found.dropped > 0, "nothing was cancelled")
    return f"{line} cancels={found.cancels} replaces={found.replaces} cancelled={found.dropped} kills={kills}"


def waits(stage: Stage, key: bytes, delay_ms: int) -> Request:
    request = stage.generator(delay_ms).request(now_ms(), key=key, wait_ms=delay_ms)
    request.headers = [h for h in request.headers if h[0] not in ("dlb-id", "dlb-op")]
    request.id, request.kind = None, "waits"
    stage.sender.send(request)
    stage.sender.flush()
    return request


def cancel(stage: Stage, key: bytes) -> Request:
    request = Request(key, b"", [("dlb-op", b"cancel")], "cancel")
    stage.sender.send(request)
    stage.sender.flush()
    return request


def came(stage: Stage, request: Request) -> bool:
    return (request.partition, request.offset) in {source(seen) for seen in list(stage.collector.seen)}


def cancels_upgraded(stage: Stage) -> str:
    """The upgrade from a program without cancels, and the way back: first the topic, then the processes, then the first
    cancel. A program without cancels delivers the void requests."""
    older = older_binary()
    stage.broker()
    for name in ("e2e.a", "e2e.b", "e2e.c"):
        stage.admin.create(name, 3)
    config = stage.config()
    done = stage.run_with(older, "topics", "apply", "-c", str(config))
    require(done.returncode == 0, f"the older topics apply ended with {done.returncode}: {done.stderr}")
    stage.connect_clients(["e2e.a", "e2e.b", "e2e.c"])
    group = Rollout(stage, config)
    group.start(older, "older")
    refused = stage.run("run", "-c", str(config))
    require(refused.returncode == 78 and "schedule.cancelled" in refused.stderr + refused.stdout
            and "topics apply" in refused.stderr + refused.stdout, f"run does not refuse the topic: {refused}")
    stage.apply(config)
    kept = [waits(stage, b"kept-%d" % n, 4000) for n in range(50)]
    group.replace_all(stage.binary, "newer")
    void = [waits(stage, b"void-%d" % n, 8000) for n in range(50)]
    later = [waits(stage, b"later-%d" % n, LONG_MS) for n in range(50)]
    time.sleep(3)  # they enter a level; a cancel would void them before
    for n in range(50):
        cancel(stage, b"void-%d" % n)
        cancel(stage, b"later-%d" % n)
    time.sleep(8)
    require(not any(came(stage, request) for request in void), "a request was delivered although it was cancelled")
    group.replace_all(older, "rolled-back")
    line = judge(stage.verify(journal=[*kept, *later], timeout=60, showed=by_turn), None)
    refused = cancel(stage, b"later-0")
    until("the older program refuses a cancel", lambda: came(stage, refused))
    codes = [seen.header("dlb-error") for seen in stage.collector.of("schedule.dead-letter")]
    require(codes == [b"bad_op"], f"the older program refuses a cancel otherwise: {codes}")
    require(not any(came(stage, request) for request in void), "a request came although it had been dropped")
    for bridge in list(group.running):
        group.stop(bridge)
    return f"{line} {len(void)} cancelled, {len(later)} delivered by the older program"


SCENARIOS = both_modes(cancels, cancels_upgraded)
