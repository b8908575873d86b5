# SPDX-License-Identifier: Apache-2.0
"""The cluster is copied by MirrorMaker 2, and the bridge moves to the copy. Its records have other offsets there, so the origins
of waiting requests are offsets of another log."""
from __future__ import annotations

import subprocess
import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import OffsetSpec

from bad_input import taken
from cancels import came, cancel
from client import Admin, now_ms
from cut import due_at, keys_of
from processes import KAFKA, Kafka
from restored import send_all
from stage import TARGETS, Stage, both_modes, require, require_premise, until
from voids import source_of

LANES, GONE, WAITING, CANCELLED = 6, 25, 12, 4  # requests of each lane. Half of the lanes have no cancel before the copy
WAIT_MS, MIRROR_S = 75_000, 60


def ends(admin: Admin, topics: list[str]) -> dict[str, int]:
    """Returns how many records each topic has. Empty: a topic is so new that a partition has no leader."""
    places = [(topic, lane) for topic, n in admin.topics().items() if topic in topics for lane in range(n)]
    try:
        first, last = admin.offsets(places, OffsetSpec.earliest()), admin.offsets(places, OffsetSpec.latest())
    except KafkaException:
        return {}
    return {topic: sum(last[p] - first[p] for p in places if p[0] == topic) for topic in topics}


def is_copied(target: Admin, own: list[str]) -> bool:
    """Returns whether the copy has records and gets no more. Transactions have markers, so the ends of both logs differ."""
    before = ends(target, own)
    time.sleep(5)  # the offsets of the group follow
    return sum(before.values()) > 0 and ends(target, own) == before


def mirror(stage: Stage, copy: Kafka) -> None:
    """Copies the bridge's topics with their names, and the offsets of its group."""
    path = stage.folder / "mirror.properties"
    path.write_text(f"""
clusters=a,b
a.bootstrap.servers={stage.kafka.bootstrap}
b.bootstrap.servers={copy.bootstrap}
a->b.enabled=true
b->a.enabled=false
topics={stage.schedule}.*
groups={stage.group}
replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy
sync.group.offsets.enabled=true
sync.group.offsets.interval.seconds=1
emit.checkpoints.interval.seconds=1
refresh.topics.interval.seconds=5
offset.lag.max=0
a.consumer.isolation.level=read_committed
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
""")
    own = [name for name in stage.admin.topics() if name.startswith(stage.schedule)]
    target = Admin(copy.bootstrap)
    with open(stage.folder / "mirror.log", "wb") as log:
        running = subprocess.Popen([KAFKA, "mirror", str(path)], stdout=log, stderr=subprocess.STDOUT)
        try:
            until("the copy of the topics", lambda: set(own) <= set(target.topics()), MIRROR_S)
            until("the copy of all records", lambda: is_copied(target, own), MIRROR_S)
        finally:
            running.kill()
            running.wait()


def move(stage: Stage, copy: Kafka) -> None:
    """The scenario continues with the copy."""
    stage.kafka.drop()
    stage.collector.end()
    stage.broker_started(copy)
    for name, partitions in TARGETS.items():
        stage.admin.create(name, partitions)
    stage.connect_clients(list(TARGETS))


def mirrored(stage: Stage) -> str:
    """The bridge moves to a copy of the cluster. Requests that wait come once. Those that were cancelled before or after the
    move do not come, and cancels say so."""
    stage.use_levels()  # all requests wait in levels when they are copied
    config = stage.ready(partitions=LANES)
    bridge = stage.bridge(config)
    send_all(stage, (due_at(keys_of(lane)[0], now_ms()) for n in range(GONE) for lane in range(LANES)))
    until("the first requests gone", lambda: taken(stage, config))
    due = now_ms() + WAIT_MS
    waiting = send_all(stage, (due_at(keys_of(lane)[n], due) for n in range(WAITING) for lane in range(LANES)))
    void = [r for r in waiting if r.partition < LANES // 2][:CANCELLED * LANES // 2]
    for request in void:
        cancel(stage, request.key or b"")
    until("all requests in levels", lambda: taken(stage, config))
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    stage.admin.delete_up_to_end(stage.schedule)
    send_all(stage, (due_at(b"later", due) for _ in range(5)))  # the copy begins with these
    copy = Kafka(stage.folder / "copy").start()
    try:
        mirror(stage, copy)
    except Exception:
        copy.drop()
        raise
    move(stage, copy)
    config = stage.config(partitions=LANES, lost_offsets="redeliver")  # MirrorMaker copies few offsets of a group
    stage.apply(config)
    bridge = stage.bridge(config, "second")
    until("the lanes open", lambda: bridge.tail(1000).count("lane opens") >= LANES)  # earlier cancels void nothing that waits
    more = [r for r in waiting if r not in void][::3]
    for request in more:
        done = stage.run("cancel", "-c", str(config), "--key", (request.key or b"").decode(), "--wait", "20s", "-o", "json")
        require(done.returncode == 0 and '"in_force"' in done.stdout, f"cancel: {done.stdout}{done.stderr}")
    left = [r for r in waiting if r not in void and r not in more]
    require_premise(now_ms() < due, f"the copy took {now_ms() - due} ms too long")
    stage.collector.wait_for(left, stage.schedule, WAIT_MS / 1000)
    time.sleep(3)
    require(not (found := [r for r in void if came(stage, r)]), f"{len(found)} of {len(void)} came that were cancelled before")
    require(not (found := [r for r in more if came(stage, r)]), f"{len(found)} of {len(more)} came that were cancelled after")
    require(not (found := [r for r in left if not came(stage, r)]), f"{len(found)} of {len(left)} did not come")
    sources = [source_of(seen) for seen in list(stage.collector.seen)]
    require(len(sources) == len(set(sources)), f"{len(sources) - len(set(sources))} came twice")
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"waiting={len(waiting)} cancelled={len(void)}+{len(more)} came={len(left)}"


SCENARIOS = both_modes(mirrored)
ON_DEMAND = set(SCENARIOS)
