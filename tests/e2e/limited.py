# SPDX-License-Identifier: Apache-2.0
"""Brokers that lack a feature, or keep less than others do."""
from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from histories import LANES, Act
from processes import Bridge
from protocol import Bytes
from secured import RUN, Fortress, setting
from stage import Stage, both_modes, judge, require, until, will_say

TRANSACTIONS = {"AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"}
IDEMPOTENCE = {"InitProducerId"}
TEXT_BYTES = 1024
COMMITS = "__consumer_offsets"
IDLE_S = 150  # more than twice the retention


def ends_with(stage: Stage, config, hidden: set[str], words: str) -> None:
    """Checks that check and run both end with 78 and name the reason."""
    stage.proxy.hidden = hidden
    what = f"without {', '.join(sorted(hidden))}"
    checked = stage.run("check", "-c", str(config))
    said = checked.stdout + checked.stderr
    require(checked.returncode == 78 and words in said, f"{what}: check ended with {checked.returncode}:\n{said[-800:]}")
    bridge = Bridge(stage.binary, config, "-".join(sorted(hidden))).start()
    code = bridge.wait(30)
    require(code == 78 and words in bridge.tail(50), f"{what}: run ended with {code}:\n{bridge.tail()}")


def no_transactions(stage: Stage) -> str:
    """Brokers without transactions or idempotent producers: check and run end with 78 and name the reason."""
    stage.broker(proxied=True)
    transactional, plain = stage.ready(delivery="exactly-once"), stage.config("plain.yaml")
    for hidden in (TRANSACTIONS, IDEMPOTENCE, TRANSACTIONS | IDEMPOTENCE):
        ends_with(stage, transactional, hidden, "the brokers do not serve transactions")
    ends_with(stage, plain, IDEMPOTENCE, "the brokers do not serve idempotent producers")
    stage.proxy.hidden = TRANSACTIONS
    generator = stage.generator(1000)
    stage.sender.send_paced(lambda n, now: generator.request(now), 20, 200)
    stage.bridge(plain, "plain")
    line = judge(stage.verify())
    stage.proxy.hidden = set()
    checked = stage.run("check", "-c", str(transactional))
    require(checked.returncode == 0, f"with both: check ended with {checked.returncode}:\n{checked.stdout}")
    return f"exit 78 for each; at least once works without transactions: {line}"


def offsets_expire(stage: Stage) -> str:
    """The broker keeps offsets for a minute: the bridge renews those of idle levels, and starts again later."""
    stage.use_levels()  # a level has an offset
    stage.broker(props=("offsets.retention.minutes=1", "offsets.retention.check.interval.ms=1000"))
    act = Act(stage, "offsets-expire")
    bridge = act.bridge(act.path)
    judge(act.verify(act.send(20) + act.send(20, **act.wait(11_000)), timeout=40))
    until("a level has an offset", lambda: len(act.progress()) > LANES)
    known = {(p.topic, p.partition) for p in act.progress()}
    idle_until = time.monotonic() + IDLE_S
    while time.monotonic() < idle_until:
        gone = known - {(p.topic, p.partition) for p in act.progress()}
        require(not gone, f"expired under the running bridge: {gone}")
        time.sleep(5)
    act.end(bridge)
    second = act.bridge(act.path, "second")
    act.send(20)
    line = judge(act.verify(timeout=40))
    act.end(second)
    act.close()
    return f"{len(known)} offsets kept for {IDLE_S} s; {line}"


def text_of(key: bytes, value: bytes | None, group: str) -> str | None:
    """Returns the metadata of a commit of the group, or None for other records."""
    reader = Bytes(key)
    if reader.number("h") > 1 or reader.string() != group or value is None:
        return None  # a member list, another group, or a deletion
    reader = Bytes(value)
    version = reader.number("h")
    reader.flexible = version >= 4
    reader.number("q")  # offset
    if version >= 3:
        reader.number("i")  # leader epoch
    return reader.string()


def texts_of(act: Act) -> list[str]:
    """Returns the metadata of each commit of the group, as the broker stores it. The client for Python reads beyond the
    end of the metadata that it gets from a broker, so Act.progress cannot return it."""
    reader = Consumer({"bootstrap.servers": act.kafka.bootstrap, "group.id": f"{act.group}.texts", "log_level": 0,
                       "enable.auto.commit": False, "enable.partition.eof": True})
    left, texts = set(range(act.admin.topics()[COMMITS])), []
    reader.assign([TopicPartition(COMMITS, place, 0) for place in left])
    while left:
        message = reader.poll(20)
        require(message is not None, f"partitions of {COMMITS} were not read up to their ends: {left}")
        if message.error() is None:
            texts.append(text_of(message.key(), message.value(), act.group))
        else:
            require(message.error().code() == KafkaError._PARTITION_EOF, f"{COMMITS}: {message.error()}")
            left.discard(message.partition())
    reader.close()
    return [text for text in texts if text is not None]


def short_commits(stage: Stage) -> str:
    """The broker accepts 1,024 bytes of commit metadata: no commit fails, and everything is delivered."""
    stage.broker(props=(f"offset.metadata.max.bytes={TEXT_BYTES}",))
    act = Act(stage, "short-commits")
    bridge = act.bridge(act.path)
    for _ in range(3):
        act.send(1, key=b"k0", **act.wait(900))  # it is held in memory, and the offset stays at it
        act.send(9000 if stage.full else 7000, key=b"k0", **act.wait(0))
        time.sleep(1)
    judge(act.verify(timeout=60))
    texts = texts_of(act)
    require(all(text.isascii() for text in texts), "a text has bytes that are not ASCII")
    longest = max(map(len, texts), default=0)
    require(TEXT_BYTES / 2 < longest <= TEXT_BYTES, f"the longest text had {longest} bytes")
    require("commit failed" not in bridge.log.read_text(), f"a commit failed:\n{bridge.tail()}")
    act.end(bridge)
    act.end(act.bridge(act.path, "second"))
    line = judge(act.verify(timeout=60))
    act.close()
    return f"{line} {len(texts)} commits, longest text {longest} bytes"


def trim_forbidden(stage: Stage) -> str:
    """Delete on the level topics is missing and then allowed: the old records are deleted a minute later."""
    stage.use_levels()  # the level of 1 s has records
    fortress = setting(stage, Fortress)
    deletes = [right for right in RUN if right.operation == "delete"]
    fortress.allow("bridge", [right for right in RUN if right not in deletes])
    bridge = stage.bridge(stage.config(kafka=fortress.sasl()))
    generator = stage.generator(1)
    stage.sender.send_paced(lambda n, now: generator.request(now, wait_ms=1500, target="e2e.a"), 40, 200)
    line = judge(stage.verify())
    will_say(bridge, "allow Delete on the level topics", 90)
    places = [("schedule.1s", lane) for lane in range(8)]
    ends = stage.admin.offsets(places, OffsetSpec.latest())
    require(sum(ends.values()) > 0, "no record was in the level")
    starts = stage.admin.offsets(places, OffsetSpec.earliest())
    require(sum(starts.values()) == 0, f"deleted without the right: {starts}")
    fortress.allow("bridge", deletes)
    until("all deleted", lambda: stage.admin.offsets(places, OffsetSpec.earliest()) == ends, 130)
    require(bridge.stop() == 0, f"SIGTERM did not end the bridge cleanly:\n{bridge.tail()}")
    return f"logged, and deleted later; {line}"


SCENARIOS = {"no_transactions": no_transactions, "trim_forbidden": trim_forbidden,
             **both_modes(offsets_expire, short_commits)}
