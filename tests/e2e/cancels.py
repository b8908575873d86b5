# SPDX-License-Identifier: Apache-2.0
"""Cancels and replaces among requests. A verifier decides by offsets and acknowledgements alone which requests must come
out, which must not, and which may."""
from __future__ import annotations

import time
from pathlib import Path

from client import now_ms
from contract import Request
from orders import Orders
from settled import settle
from stage import Stage, both_modes, judge, require, until, will_say
from versions import Rollout, by_turn, older_binary
from voids import source_of

# A cancel wins if it was acknowledged this long before the due time. The contract says one second.
WINS_MS = 2000
RATE, KEYS = 300, 3000
# The last commit whose program knows no cancels.
BEFORE_CANCELS = "f04b89e45b35729276f8cf461dcf7197fe711b91"
OLDER_WARNS = "topic check found a risk, continuing\",\"topic\":\"schedule.cancelled"
COUNT, VOID_MS = 50, 8000
LONG_MS = 36_000  # it waits in the level of 30 s, longer than the newer program runs


def cancels(stage: Stage) -> str:
    """Two processes are killed while requests are cancelled and replaced. No request that was cancelled in time comes out,
    and all others do."""
    kills, max_ms = (12, 30_000) if stage.full else (3, 12_000)
    stage.use_levels(max_ms)
    stage.broker(proxied=True)
    config = stage.ready()
    hops = stage.trace()
    bridges = [stage.bridge(config, f"bridge-{n}", members=n, named=True) for n in (1, 2)]
    orders = Orders(stage.generator(max_ms), stage.seed, keys=KEYS)
    sending = stage.background(orders.make, 1_000_000, RATE)
    time.sleep(5)
    for _ in range(kills):
        time.sleep(orders.dice.uniform(3, 7))
        victim = orders.dice.choice(bridges)
        victim.kill()
        victim.start()
    time.sleep(6)
    sending.finish(stop=True)
    found = settle(stage, hops, max_ms / 1000 + 60, wins_ms=WINS_MS)
    hops.end()
    return f"{judge(found.report, None)} share={orders.share} {found.verdict.line()} kills={kills}"


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


def came(stage: Stage, *requests: Request) -> bool:
    """Returns whether one of them came out."""
    out = {source_of(seen) for seen in list(stage.collector.seen)}
    return any((request.partition, request.offset) in out for request in requests)


def restart_older(stage: Stage, group: Rollout, older: Path) -> Request:
    """After the change of the topic the older processes run, and one that starts only warns. Returns a request that they
    delivered."""
    running = group.running[0]
    fresh = group.start(older, "older-late")
    will_say(fresh, OLDER_WARNS)
    group.stop(running)
    request = waits(stage, b"between", 1000)
    until("the older program delivers", lambda: came(stage, request))
    return request


def apply_upgrade(stage: Stage, group: Rollout, older: Path) -> Request:
    """Step 1: the newer program refuses the topic as it is, and changes it while the older ones run. Returns a request that
    they delivered afterwards."""
    refused = stage.run("run", "-c", str(group.config))
    said = refused.stderr + refused.stdout
    require(refused.returncode == 78 and "schedule.cancelled" in said and "topics apply" in said,
            f"run does not refuse the topic: {refused}")
    stage.apply(group.config)
    return restart_older(stage, group, older)


def cancel_all(stage: Stage, group: Rollout) -> tuple[list[Request], list[Request]]:
    """Steps 2 and 3: the processes, and the first cancels. Returns the void requests: those that are due now, and those that
    wait until after the rollback."""
    group.replace_all(stage.binary, "newer")
    void = [waits(stage, b"void-%d" % n, VOID_MS) for n in range(COUNT)]
    later = [waits(stage, b"later-%d" % n, LONG_MS) for n in range(COUNT)]
    time.sleep(3)  # they enter a level; a cancel would void them before
    for n in range(COUNT):
        cancel(stage, b"void-%d" % n)
        cancel(stage, b"later-%d" % n)
    time.sleep(max(0, max(r.due for r in void) + 2000 - now_ms()) / 1000)
    require(not came(stage, *void, *later), "a request was delivered although it was cancelled")
    return void, later


def older_refuses(stage: Stage) -> list[Request]:
    """Returns a request and its cancel, which the older program refuses. The request must come out."""
    request, refused = waits(stage, b"unrefused", LONG_MS), cancel(stage, b"unrefused")
    refused.code = "bad_op"
    until("the older program refuses a cancel", lambda: came(stage, refused))
    return [request, refused]


def upgrade_again(stage: Stage, group: Rollout) -> list[Request]:
    """The newer program reads the cancels of its first time again. They void none of the requests behind them. Returns those
    requests, which must come out."""
    group.replace_all(stage.binary, "newer-again")
    again = [waits(stage, b"later-%d" % n, 1500) for n in range(COUNT)]
    void = waits(stage, b"last", 4000)
    cancel(stage, b"last")
    time.sleep(5)
    require(not came(stage, void), "a request was delivered although it was cancelled after the second upgrade")
    return again


def cancels_upgraded(stage: Stage) -> str:
    """The upgrade from the program before cancels, and the way back: first the topic, then the processes, then the first
    cancel. A program without cancels delivers the void requests. Then the upgrade again."""
    stage.use_levels()  # an older program plans with all of its hold
    older = older_binary(BEFORE_CANCELS)
    stage.broker()
    for name in ("e2e.a", "e2e.b", "e2e.c"):
        stage.admin.create(name, 3)
    config = stage.config()
    done = stage.run_with(older, "topics", "apply", "-c", str(config))
    require(done.returncode == 0, f"the older topics apply ended with {done.returncode}: {done.stderr}")
    stage.connect_clients(["e2e.a", "e2e.b", "e2e.c"])
    group = Rollout(stage, config)
    for n in (1, 2):
        group.start(older, f"older-{n}")
    wanted = [apply_upgrade(stage, group, older)]
    wanted += [waits(stage, b"kept-%d" % n, 4000) for n in range(COUNT)]
    void, later = cancel_all(stage, group)
    group.replace_all(older, "rolled-back")
    wanted += [*later, *older_refuses(stage)]
    stage.collector.wait_for(later, stage.schedule, LONG_MS / 1000)
    require(not came(stage, *void), "a request came although it had been dropped")
    wanted += upgrade_again(stage, group)
    line = judge(stage.verify(journal=wanted, timeout=60, showed=by_turn), None)
    for bridge in list(group.running):
        group.stop(bridge)
    return f"{line} {len(void)} cancelled, {len(later)} delivered by the older program"


SCENARIOS = both_modes(cancels, cancels_upgraded)
