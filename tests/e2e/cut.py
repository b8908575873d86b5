# SPDX-License-Identifier: Apache-2.0
"""The schedule topic loses the tail of its log, by a disk that was restored or by an unclean election. The tail has the
newest cancels, which are in force, or requests of lanes without cancels. Producers then write new records with the offsets
of the lost ones."""
from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import OffsetSpec

from among import SECOND, return_second
from bad_input import taken
from cancels import came, cancel
from client import Admin, Sender, now_ms
from contract import LEVELS, Request, partition_of
from own_topics import end_second
from restored import send_all
from stage import TARGETS, Stage, both_modes, judge, require, require_premise, until

BATCH = struct.Struct(">qi")  # base offset, length of the rest
CANCELLED, CUT = 20, 3        # cancels of a lane, a batch each, and lost ones. Other lanes have requests instead.
# New requests of each lane before the bridge starts. Its log then ends at the cut, below the committed offset, or above it.
GROWN = {"not grown": 0, "grown within the cut": 1, "grown beyond the cut": 2 * CUT + 2}
LANES = 2 * len(GROWN)        # the first half with cancels
LATER = CUT + 1               # new requests of each lane after the bridge has started
WAIT_MS, SOON_MS, LATE_MS = 40_000, 5000, 3_600_000
RESTORED_S = 9                # until each lane has queried the end of its log twice
LEADER = 3                    # of the schedule topic; SECOND follows, and broker 1 has all other topics


def keys_of(lane: int) -> list[bytes]:
    return [key for key in (b"order-%d" % n for n in range(1000)) if partition_of(key, LANES) == lane][:CANCELLED]


def due_at(key: bytes, due: int) -> Request:
    return Request(key, b"value", [("dlb-deliver-at", b"%d" % due)], "due_at", due_ms=due, target="e2e.a", out_key=key)


def ends_of(stage: Stage) -> list[int] | None:
    """Returns the ends of all lanes. None: a broker that returns is not the leader yet. An older client keeps the old epoch."""
    try:
        ends = Admin(stage.admin.bootstrap).offsets([(stage.schedule, lane) for lane in range(LANES)], OffsetSpec.latest())
    except KafkaException:
        return None
    return [ends[stage.schedule, lane] for lane in range(LANES)]


def has_cancels(request: Request) -> bool:
    return request.partition < len(GROWN)


def cancel_all(stage: Stage, config: Path, before_tail: Callable[[Stage], None]) -> list[Request]:
    """Returns requests that wait in levels, and whose cancels are in force. The tail of a lane has the last cancels. In a lane
    without cancels it has requests that are due after the scenario."""
    bridge = stage.bridge(config)
    due, late = now_ms() + WAIT_MS, now_ms() + LATE_MS
    first = send_all(stage, (due_at(keys_of(lane)[n], due if lane < len(GROWN) else late)
                             for n in range(CANCELLED) for lane in range(LANES)))
    until("all requests in levels", lambda: taken(stage, config))
    for n, request in enumerate(first):
        if n == len(first) - CUT * LANES:
            before_tail(stage)
        if has_cancels(request):
            cancel(stage, request.key or b"")
        else:
            send_all(stage, [due_at(request.key or b"", late)])
    until("all cancels in force", lambda: taken(stage, config))
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    require_premise(now_ms() < due, f"the bridge ended {now_ms() - due} ms after the due time")
    return [request for request in first if has_cancels(request)]


def cut_topic(stage: Stage) -> None:
    """Removes the last batches of each partition while the broker is down. Without the mark of a clean end it recovers its
    logs."""
    data = stage.kafka.folder / "data" / "broker-1"
    stage.kafka.stop()
    for lane in range(LANES):
        segment = max((data / f"{stage.schedule}-{lane}").glob("*.log"))
        log, starts = segment.read_bytes(), [0]
        while starts[-1] < len(log):
            starts.append(starts[-1] + BATCH.size + BATCH.unpack_from(log, starts[-1])[1])
        os.truncate(segment, starts[-1 - CUT])
    (data / ".kafka_cleanshutdown").unlink()
    stage.kafka.call("restart", "1")


def send_again(stage: Stage, counts: list[int]) -> list[Request]:
    """Sends so many new requests to each lane. Their names are those of its lost cancels, the last one first. So the first
    request has a lower offset than the lost cancel of its name."""
    due = now_ms() + SOON_MS
    return send_all(stage, (due_at(keys_of(lane)[-1 - n % CUT], due) for lane, count in enumerate(counts) for n in range(count)))


def faults(stage: Stage, what: str, requests: list[Request], wanted: bool) -> list[str]:
    """Returns a line for each lane of which some of these requests came out against the contract, or did not come out."""
    found = []
    for lane, name in enumerate([*GROWN, *(f"{name}, without cancels" for name in GROWN)]):
        own = [r for r in requests if r.partition == lane]
        if wrong := [r.offset for r in own if came(stage, r) != wanted]:
            found.append(f"{len(wrong)} of {len(own)} {what}, log {name}: offsets {wrong[0]} to {wrong[-1]}")
    return found


def lose_tail(stage: Stage, config: Path, before_tail: Callable[[Stage], None], lose: Callable[[Stage], None]) -> str:
    void, ends = cancel_all(stage, config, before_tail), ends_of(stage) or []
    lose(stage)
    now = until("the ends of the logs are known", lambda: ends_of(stage))
    require(ends and now == [end - CUT for end in ends], f"the logs ended at {ends}, and after the cut at {now}")
    stage.sender = Sender(stage.kafka.bootstrap, stage.schedule)  # the idempotent one before has lost batches
    before = send_again(stage, [*GROWN.values(), *GROWN.values()])
    bridge = stage.bridge(config, "second")
    time.sleep(RESTORED_S)
    after = send_again(stage, [LATER] * LANES)
    stage.collector.wait_for(before + after, stage.schedule, WAIT_MS / 1000)
    time.sleep(max(0, void[0].due + SOON_MS - now_ms()) / 1000)
    found = [*faults(stage, "cancelled requests were delivered", void, False),
             *faults(stage, "new requests from before the start were not delivered", before, True),
             *faults(stage, "new requests from after the start were not delivered", after, True)]
    require(not found, "; ".join(found))
    line = judge(stage.verify(timeout=1), None)
    require("schedule topic has lost its records from this offset on" in bridge.tail(1000), "the log does not say it")
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"{line} cancelled={len(void)} cut={CUT * LANES} new={len(before)}+{len(after)}"


def cut(stage: Stage) -> str:
    """The schedule topic loses its tail. No request comes out whose cancel was in force, and all new requests do."""
    stage.use_levels()  # the cancelled requests wait in levels
    return lose_tail(stage, stage.ready(partitions=LANES), lambda _: None, cut_topic)


def elect_stale(stage: Stage) -> None:
    stage.kafka.call("kill", str(LEADER))
    return_second(stage)
    stage.admin.wait("the election", lambda: all(stage.admin.leader(stage.schedule, lane) == SECOND for lane in range(LANES)))


def cut_unclean(stage: Stage) -> str:
    """The same by an unclean election: the leader wrote the tail alone and is dead, and its follower returns without it."""
    stage.use_levels()
    stage.broker(brokers=3, controllers=1, props=("min.insync.replicas=1", "unclean.leader.election.interval.ms=1000"))
    stage.admin = Admin(stage.kafka.bootstrap.split(",")[0])  # the other brokers end
    for topic in ("__consumer_offsets", "__transaction_state"):
        stage.admin.create(topic, 4, on=[1], cleanup_policy="compact")
    stage.admin.create(stage.schedule, LANES, on=[LEADER, SECOND])
    own = {f"{stage.schedule}.{name}": LANES for name in (*LEVELS, "dead-letter", "cancelled", "pulse")}
    for name, count in {**TARGETS, **own, f"{stage.schedule}.control": 1}.items():
        stage.admin.create(name, count, on=[1])
    config = stage.ready({}, partitions=LANES)
    stage.admin.set(stage.schedule, unclean_leader_election_enable="true")  # topics apply forbids it
    for name in TARGETS:
        stage.collector.add(name)
    return lose_tail(stage, config, end_second, elect_stale)


SCENARIOS = both_modes(cut, cut_unclean)
ON_DEMAND = {"cut_unclean", "cut_unclean_exactly"}
