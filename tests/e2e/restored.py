# SPDX-License-Identifier: Apache-2.0
"""A lane with 100,000 cancels in force, whose processes are killed and replaced while they restore it. A second scenario has
hops that a level refuses until the client gives them up."""
from __future__ import annotations

import time
from pathlib import Path

from confluent_kafka.admin import OffsetSpec

from among import SECOND, return_second
from client import Admin, now_ms
from contract import LEVELS, Request
from orders import cancel_of
from own_topics import end_second
from processes import Bridge
from stage import LANES, TARGETS, Stage, both_modes, judge, require, require_prompt, until, will_say
from voids import source_of

ENTRIES = 100_000    # cancels
NAMED, KEPT = 10_000, 500  # Requests with a cancel, and without one.
KEY = b"one lane"    # All records have it.
SOON_MS, SPAN_MS = 45_000, 30_000  # The first due time after the start, and the time until the last one.
KILLS, MOVES = 12, 4
SLOW_S = 0.1   # For each answer with records, so that a restore takes seconds.
OPENS = "cancels of a lane are in force again, lane opens"
ASSIGNED = "lanes assigned"


def named(n: int, due: int) -> Request:
    """Returns a request of the lane with the n-th name."""
    headers = [("dlb-deliver-at", b"%d" % due), ("dlb-id", b"order-%d" % n)]
    return Request(KEY, b"value", headers, "named", due_ms=due, target="e2e.a", out_key=KEY, id=b"order-%d" % n)


def send_all(stage: Stage, requests) -> list[Request]:
    sent = []
    for request in requests:
        stage.sender.send(request)
        sent.append(request)
    stage.sender.flush()
    return sent


def entries_of(stage: Stage, lane: int) -> int:
    place = (f"{stage.schedule}.cancelled", lane)
    return stage.admin.offsets([place], OffsetSpec.latest())[place]


class Lane:
    """The processes of the lane. Each has an operator's id, so that it has its lanes back soon after a kill."""

    def __init__(self, stage: Stage, config: Path):
        self.stage, self.config, self.killed_under_way, self.moved_under_way = stage, config, 0, 0

    def process(self, name: str) -> Bridge:
        return Bridge(self.stage.binary, self.config, name, {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": name}, named=True)

    @staticmethod
    def since(bridge: Bridge, at: int) -> str:
        return bridge.log.read_text(errors="replace")[at:]

    def start(self, bridge: Bridge) -> int:
        """Starts it, and waits until it has lanes. Returns where its log was."""
        at = len(bridge.log.read_text(errors="replace")) if bridge.log.exists() else 0
        bridge.start()
        self.await_words(bridge, at, ASSIGNED)
        return at

    def await_words(self, bridge: Bridge, at: int, words: str) -> None:
        deadline = time.monotonic() + 40
        while words not in self.since(bridge, at):
            require(time.monotonic() < deadline and bridge.running(), f"{words!r} is not said:\n{bridge.tail(30)}")
            time.sleep(0.02)

    def lanes_open(self, bridge: Bridge, at: int) -> int:
        return self.since(bridge, at).count(OPENS)

    def kill_while_restoring(self, bridge: Bridge, pause: float, lanes: int) -> None:
        at = self.start(bridge)
        time.sleep(pause)
        self.killed_under_way += self.lanes_open(bridge, at) < lanes
        bridge.kill()

    def move_while_restoring(self, first: Bridge, second: Bridge, lanes: int) -> None:
        """The second process joins while the first one restores. It leaves again, by SIGTERM, while it restores its lanes."""
        at = self.start(first)
        joined = self.start(second)
        self.moved_under_way += self.lanes_open(first, at) < lanes
        self.moved_under_way += self.lanes_open(second, joined) < lanes // 2
        second.stop()
        first.kill()


def cancels_restored(stage: Stage) -> str:
    """A lane with 100,000 cancels: its processes are killed and joined by others while they restore it. No cancelled request
    comes out, and all others do."""
    lanes = 2
    stage.use_levels(SOON_MS)
    stage.broker(proxied=True)
    config = stage.ready(partitions=lanes)
    lane = Lane(stage, config)
    first, second = lane.process("first"), lane.process("second")
    lane.start(first)
    due = now_ms() + SOON_MS
    void = send_all(stage, (named(n, due + n * SPAN_MS // NAMED) for n in range(NAMED)))
    kept = send_all(stage, (named(ENTRIES + n, due + n * SPAN_MS // KEPT) for n in range(KEPT)))
    send_all(stage, (cancel_of(named(n, 0)) for n in range(ENTRIES)))
    where = void[0].partition
    until(f"{ENTRIES} entries", lambda: entries_of(stage, where) >= ENTRIES)
    acked = now_ms()
    require(acked < due - 3000, f"the cancels took {acked - due + SOON_MS} ms")
    first.kill()
    slow = stage.proxy.add("Fetch", "answer_late", SLOW_S, times=10**9)
    for n in range(KILLS):
        lane.kill_while_restoring(first, n * 0.15, lanes)
    for _ in range(MOVES):
        lane.move_while_restoring(first, second, lanes)
    stage.proxy.rules.remove(slow)
    at = lane.start(first)
    lane.await_words(first, at, f'"cancels":{ENTRIES}')
    stage.collector.wait_for(kept, stage.schedule, 90)
    time.sleep(2 + max(0, void[-1].due - now_ms()) / 1000)
    out = {source_of(seen) for seen in list(stage.collector.seen)}
    wrongly = [r for r in void if (r.partition, r.offset) in out]
    require(not wrongly, f"{len(wrongly)} came out although they were cancelled, for example {wrongly[:1]}")
    line = judge(stage.verify(journal=kept, timeout=5), None)
    require(lane.killed_under_way >= KILLS // 2 and lane.moved_under_way >= MOVES,
            f"too few restores were under way: {lane.killed_under_way} of {KILLS} kills, {lane.moved_under_way} moves")
    return (f"{line} cancelled={len(void)} entries={ENTRIES} killed_while_restoring={lane.killed_under_way} of {KILLS} "
            f"moved_while_restoring={lane.moved_under_way} of {2 * MOVES}")


REFUSED, GIVEN_UP_S = "4m", 120  # A level, and the time after which the client gives up a hop.
WAIT_MS = 255_000  # A request with this delay enters that level, and a shorter one later.
HOPS, CALM_RATE = 400, 50


def short_of_replicas(stage: Stage) -> Path:
    """Sets up topics on the first broker. The level also needs the second one, for its second replica."""
    stage.broker(brokers=2, controllers=1)
    stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])  # the other broker ends
    for topic in ("__consumer_offsets", "__transaction_state"):
        stage.admin.create(topic, 4, on=[1], cleanup_policy="compact")
    for name, count in {**TARGETS, stage.schedule: LANES}.items():
        stage.admin.create(name, count, on=[1])
    for name in (*LEVELS, "dead-letter", "cancelled"):
        short = {"on": [1, SECOND], "min_insync_replicas": "2"} if name == REFUSED else {"on": [1]}
        stage.admin.create(f"{stage.schedule}.{name}", LANES, **short)
    path = stage.ready({})
    for name in TARGETS:
        stage.collector.add(name)
    return path


def hops_time_out(stage: Stage) -> str:
    """A level refuses its records, since too few replicas are in sync. After two minutes the client gives up the hops. The
    bridge looks for cancels, drops the cancelled ones, and sends the others to another level. All come out on time."""
    max_ms = 20_000
    stage.use_levels(max_ms)
    bridge = stage.bridge(short_of_replicas(stage), named=True)
    generator = stage.generator(max_ms)
    end_second(stage)
    due = now_ms() + WAIT_MS
    refused = send_all(stage, (away(n, due) for n in range(HOPS)))
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, CALM_RATE)  # to all other levels
    time.sleep(GIVEN_UP_S / 2)
    cancelled = refused[::2]
    send_all(stage, (cancel_of(request) for request in cancelled))
    will_say(bridge, "partition of the bridge unavailable, its lane waits", timeout=1)
    time.sleep(GIVEN_UP_S / 2)
    will_say(bridge, "cannot write to a topic of the bridge, trying again", timeout=30)
    return_second(stage)
    time.sleep(10)
    sending.finish(stop=True)
    void = {(r.partition, r.offset) for r in cancelled}
    wanted = [r for r in stage.sender.journal if r.kind != "cancel" and (r.partition, r.offset) not in void]
    report = stage.verify(journal=wanted, timeout=WAIT_MS / 1000)
    time.sleep(5)
    came = void & {source_of(seen) for seen in list(stage.collector.seen)}
    require(not came, f"{len(came)} came out although they were cancelled, for example {list(came)[:3]}")
    line = judge(report)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    require_prompt(report.late(1) < 5000, f"a record came late: {line}")
    replaced = bridge.log.read_text(errors="replace").count("fatal error of a producer")
    return f"{line} refused={HOPS} cancelled={len(cancelled)} producers_replaced={replaced}"


def away(n: int, due: int) -> Request:
    key = b"away-%d" % n
    return Request(key, b"value", [("dlb-deliver-at", b"%d" % due)], "away", due_ms=due, target="e2e.a", out_key=key)


SCENARIOS = {**both_modes(cancels_restored), "hops_time_out": hops_time_out}
ON_DEMAND = set(SCENARIOS)
