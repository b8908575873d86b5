# SPDX-License-Identifier: Apache-2.0
"""Bad histories: changed topics, changed progress, and bridges that differ. The bridge survives each, or refuses it with
a sentence that says what to do. Each history has separate topics and a separate group on one broker."""
from __future__ import annotations

import ctypes
import json
import struct
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from bad_input import first_of, says
from client import now_ms
from generator import Generator
from operating import Watch
from stage import Skip, Stage, both_modes, judge, require, require_harness, require_premise, until, will_say

LEVELS = ["1s", "5s", "7s", "10s"]
LANES = 2


class Act(Stage):
    """The part of the stage that belongs to one history."""

    def __init__(self, stage: Stage, name: str):
        super().__init__(stage.folder / name, stage.binary, stage.full, stage.seed)
        self.folder.mkdir()
        self.kafka, self.admin, self.exactly_once = stage.kafka, stage.admin, stage.exactly_once
        self.hold = stage.hold
        self.schedule, self.group, self.target = name, f"delaybridge.{name}", f"{name}-out"
        self.path = self.ready({self.target: 2}, **self.settings())
        self.made = Generator(self.seed, [self.target], self.target, 1500, name)

    def settings(self, **changes) -> dict:
        return {"targets": [self.target], "default_target": self.target, "levels": LEVELS, "partitions": LANES,
                **changes}

    def other(self, name: str, **changes):
        """Writes another configuration next to the first one."""
        return self.config(f"{name}.yaml", **self.settings(**changes))

    def send(self, count: int, **fixed) -> list:
        first = len(self.sender.journal)
        for n in range(count):
            request = self.made.request(now_ms(), **{"key": b"k%d" % n, "target": self.target, **fixed})
            if "wait_ms" in fixed:
                request.timestamp_ms = None  # an older timestamp would change the level
            self.sender.send(request)
        self.sender.flush()
        return self.sender.journal[first:]

    def ends(self, topic: str, which: OffsetSpec) -> dict[tuple[str, int], int]:
        return self.admin.offsets([(topic, lane) for lane in range(LANES)], which)

    def wait(self, ms: int) -> dict:
        """Returns arguments for requests that all wait so long in a level."""
        return {"wait_ms": ms}

    def taken(self) -> None:
        """Waits until all requests have left the schedule topic and this progress is committed."""
        def done() -> bool:
            ends = sum(p.offset for p in self.progress() if p.topic == self.schedule)
            return ends >= len(self.sender.journal)
        until(f"all of {self.schedule} read", done)

    def end(self, bridge) -> None:
        require(bridge.stop() == 0, f"{self.schedule}: SIGTERM did not end the bridge cleanly:\n{bridge.tail()}")

    def progress(self) -> list[TopicPartition]:
        """Returns the committed offsets of the schedule topic and its levels."""
        asked = [TopicPartition(topic, lane) for topic in (self.schedule, *(f"{self.schedule}.{x}" for x in LEVELS))
                 for lane in range(LANES)]
        return [p for p in self.member().committed(asked, timeout=20) if p.offset >= 0]

    def commit(self, offsets: list[TopicPartition]) -> None:
        """Commits offsets. The group must have no member."""
        for done in self.member().commit(offsets=offsets, asynchronous=False):
            require(done.error is None, f"{self.schedule}: cannot commit: {done.error}")

    def member(self) -> Consumer:
        return Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": self.group, "log_level": 0,
                         "enable.auto.commit": False})

    def close(self) -> None:
        self.collector.end()


def recreated(act: Act) -> str:
    """The schedule topic was recreated: its offsets begin at 0, and Kafka has deleted the group's offsets."""
    bridge = act.bridge(act.path)
    before = act.send(40) + act.send(20, **act.wait(9000))
    act.taken()
    act.end(bridge)
    act.admin.delete(act.schedule)
    act.admin.create(act.schedule, LANES)
    config = act.path
    if act.exactly_once:
        refused = act.bridge(config, "refused", members=0)
        require(refused.wait(60) == 70 and "refusing exactly-once" in refused.tail(),
                f"the bridge does not refuse:\n{refused.tail()}")
        config = act.other("redeliver", lost_offsets="redeliver")
    bridge = act.bridge(config, "second")
    will_say(bridge, "committed offsets are lost")
    judge(act.verify(before, timeout=40))  # no duplicates: the offsets of the levels remain
    act.collector.seen, act.collector.sources = [], set()  # the same dlb-source appears again
    act.sender.journal = []
    judge(act.verify(act.send(30), timeout=40))
    act.end(bridge)
    return "refused until configured to redeliver" if act.exactly_once else "logged, and read from the beginning"


def recreated_alive(act: Act) -> str:
    """The schedule topic is recreated under a running bridge, which must not apply old progress to the new topic."""
    bridge = act.bridge(act.path)
    judge(act.verify(act.send(400), timeout=40))
    act.admin.delete(act.schedule)
    act.admin.create(act.schedule, LANES)
    act.collector.seen, act.collector.sources, act.sender.journal = [], set(), []
    act.send(60)
    will_say(bridge, "beyond the end of the log", 60)
    if act.exactly_once:
        act.end(bridge)
        return "blocked and logged"  # the rest is the history recreated
    second = act.bridge(act.path, "second", members=2)  # a rebalance
    judge(act.verify(timeout=60))
    act.end(second)
    act.send(20)
    judge(act.verify(timeout=60))
    act.end(bridge)
    return "blocked and logged, and read from its beginning after a rebalance"


def truncated(act: Act) -> str:
    """The log ends below the committed offsets: it lost its end, or is a copy."""
    bridge = act.bridge(act.path)
    act.send(40)
    judge(act.verify(timeout=40))
    act.end(bridge)
    right = [(p.topic, p.partition, p.offset) for p in act.progress() if p.topic == act.schedule]
    act.commit([TopicPartition(topic, lane, offset + 1000) for topic, lane, offset in right])
    waiting = act.send(10)
    bridge = act.bridge(act.path, "second")
    will_say(bridge, "beyond the end of the log")
    act.end(bridge)
    require(not act.collector.sources & {f"{act.schedule}/{r.partition}/{r.offset}".encode() for r in waiting},
            "a blocked record was delivered")
    act.commit([TopicPartition(*place) for place in right])  # without metadata, as Kafka's tool does
    bridge = act.bridge(act.path, "third")
    judge(act.verify(timeout=40))
    act.end(bridge)
    return "blocked and logged, and read again after the offsets are reset"


def head_deleted(act: Act) -> str:
    """The oldest records of level topics were deleted while no bridge ran, in one level before its first read."""
    bridge = act.bridge(act.path)
    lost = act.send(20, **act.wait(14_000))
    act.taken()
    act.end(bridge)
    read, unread = (f"{act.schedule}.{level}" for level in ("10s", "7s"))
    other = Producer({"bootstrap.servers": act.kafka.bootstrap})
    other.produce(unread, b"never read", partition=0)
    other.flush()
    act.admin.delete_up_to_end(read)
    act.admin.delete_up_to_end(unread)
    bridge = act.bridge(act.path, "second")
    after = act.send(20, **act.wait(11_000)) + act.send(20)
    judge(act.verify(after, timeout=40))
    for topic in read, unread:
        will_say(bridge, f'continuing at the start of the log: run \'delaybridge check\'","topic":"{topic}"')
    act.end(bridge)
    return f"{len(lost)} records lost and logged; all later ones delivered"


CUT_GAP_S = 5  # Time between the records that retention deletes and those that it keeps.
READ_AFTER_MS = 17_000  # A record that waits 20 s in a level is read then or later.


def retention_cut(act: Act) -> str:
    """A level gets finite retention under a running bridge, and Kafka deletes the older half of the waiting records."""
    path, topic = act.other("long", levels=[*LEVELS, "20s"]), f"{act.schedule}.20s"
    act.apply(path)
    act.admin.set(topic, segment_ms="1000")
    bridge = act.bridge(path)
    lost = act.send(30, **act.wait(21_000))
    act.taken()
    ends, since = act.ends(topic, OffsetSpec.latest()), now_ms()
    require(sum(ends.values()) >= len(lost), f"the {len(lost)} are not all in {topic}: {ends}")
    time.sleep(CUT_GAP_S)
    left = act.send(30, **act.wait(21_000))
    act.taken()
    cut_since = now_ms()
    act.admin.set(topic, retention_ms=str(cut_since - since))
    act.admin.wait(f"{topic} cut by retention", lambda: all(
        start >= ends[place] for place, start in act.ends(topic, OffsetSpec.earliest()).items()))
    act.admin.set(topic, retention_ms="3600000")  # keeps the others
    require_premise(now_ms() - cut_since < CUT_GAP_S * 1000, "Kafka may also have deleted the younger records")
    require_premise(now_ms() - since < READ_AFTER_MS, "Kafka deleted no record before it was read")
    cut = sum(act.ends(topic, OffsetSpec.earliest()).values())
    judge(act.verify(left + act.send(20), timeout=60))
    require(said_gone(bridge, topic) == cut, f"{cut} offsets were deleted, but {said_gone(bridge, topic)} are logged")
    act.end(bridge)
    for command in "run", "check":
        says(act, command, act.run(command, "-c", str(path)), (78,), topic, "retention.ms=3600000", "topics apply")
    return f"the {len(lost)} deleted records are logged, the {len(left)} later ones delivered; a start is refused"


def said_gone(bridge, topic: str) -> int:
    """Returns how many records of a topic the log reports as deleted before they were read."""
    lines = [json.loads(line) for line in bridge.log.read_text().splitlines() if line.startswith("{")]
    return sum(int(line["offsets"]) for line in lines if line.get("topic") == topic
               and "records were deleted before they were read" in line["msg"])


def foreign_progress(act: Act) -> str:
    """Commit metadata that is invalid, or of a newer version."""
    bridge = act.bridge(act.path)
    sent = act.send(30, **act.wait(9000)) + act.send(30)
    act.taken()
    time.sleep(2)  # some requests are done then
    act.end(bridge)
    texts = ("garbage", "2 %d 0badcafe AAAA", "\u952e", "1 %d", "")
    kept = act.progress()
    act.commit([TopicPartition(p.topic, p.partition, p.offset,
                               metadata=texts[n % 5] % p.offset if "%" in texts[n % 5] else texts[n % 5])
                for n, p in enumerate(kept)])
    config = act.path
    if act.exactly_once:
        refused = act.bridge(act.path, "refused", members=0)
        require(refused.wait(60) == 70 and "refusing exactly-once" in refused.tail(),
                f"the bridge accepted {len(kept)} offsets with unreadable metadata:\n{refused.tail()}")
        config = act.other("redeliver", lost_offsets="redeliver")
    bridge = act.bridge(config, "second")
    will_say(bridge, "commit metadata of another program ignored")
    act.exactly_once, exactly_once = False, act.exactly_once  # configured to deliver again
    judge(act.verify(sent + act.send(20), timeout=40), len(sent))
    act.exactly_once = exactly_once
    act.end(bridge)
    return "said and ignored" if not exactly_once else "refused until configured to redeliver"


def newer_record(act: Act) -> str:
    """A newer version wrote a record into a level, and was rolled back."""
    bridge = act.bridge(act.path)
    waiting = act.send(20, **act.wait(14_000))
    act.taken()
    lane = waiting[0].partition
    newer = of_version(first_of(act.kafka.bootstrap, f"{act.schedule}.10s", lane), 3)
    act.end(bridge)
    producer = Producer({"bootstrap.servers": act.kafka.bootstrap, "log_level": 0})
    producer.produce(f"{act.schedule}.7s", value=newer, partition=lane)
    require_harness(producer.flush(20) == 0, "the newer record was not written")
    bridge = act.bridge(act.path, "second")
    will_say(bridge, "record was written by a newer delaybridge, partition blocked")
    judge(act.verify(waiting + act.send(20), timeout=40))
    behind = [r for r in act.send(20, **act.wait(8500)) if r.partition == lane]  # blocked behind it for now
    act.taken()
    act.end(bridge)
    for future in act.admin.client.delete_records([TopicPartition(f"{act.schedule}.7s", lane, 1)]).values():
        future.result(30)  # as the newer version would do
    bridge = act.bridge(act.path, "third")
    judge(act.verify(timeout=60))
    act.end(bridge)
    return f"only its partition is blocked; the {len(behind)} records behind it came after its removal"


def of_version(envelope: bytes, version: int) -> bytes:
    """Returns the same envelope with another version and a valid checksum."""
    try:
        hashing = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    except OSError as problem:
        raise Skip(f"no libxxhash to make a newer version's record with: {problem}") from problem
    hashing.restype = ctypes.c_uint64
    hashing.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    data = bytearray(envelope)
    data[4] = version
    rest = bytes(data[16:])
    data[8:16] = struct.pack("<Q", hashing(rest, len(rest), struct.unpack("<Q", bytes(data[:8]))[0]))
    return bytes(data)


def differing_levels(act: Act) -> str:
    """A new level is added to one process after the other, and the first one that writes it is killed."""
    reads = act.other("reads", retired_levels=["20s"])
    writes = act.other("writes", levels=[*LEVELS, "20s"])
    one, two = act.bridge(act.path, "old-1", members=1), act.bridge(act.path, "old-2", members=2)
    sending = act.background(lambda n, now: act.made.request(now, wait_ms=n * 977 % 24_000), 100_000, 60)
    act.apply(reads)
    for old, name in ((one, "reads-1"), (two, "reads-2")):
        time.sleep(2)
        act.end(old)
        one, two = two, act.bridge(reads, name, members=2)
    time.sleep(2)
    act.end(one)
    one = act.bridge(writes, "writes-1", members=2)
    time.sleep(5)
    one.kill()  # the other process must read its records in the new level
    sending.finish(stop=True)
    report = act.verify(timeout=70)
    judge(report, None)
    act.end(two)
    return f"{report.requests} requests, {report.duplicates} delivered twice after a kill -9"


def grown(act: Act) -> str:
    """Only the schedule topic gets another partition, and producers use it."""
    quick = act.other("quick", kafka={"bootstrap.servers": act.kafka.bootstrap,
                                      "topic.metadata.refresh.interval.ms": 1000})
    bridge = act.bridge(quick, env={"DELAYBRIDGE_LISTEN": f"127.0.0.1:{act.spare_port}"})
    act.send(10)
    act.admin.grow(act.schedule, LANES + 1)
    act.sender.producer.list_topics(act.schedule, timeout=10)
    waiting = [r for r in act.send(60) if r.partition == LANES]
    require(waiting, "the producer wrote nothing to the new partition")
    judge(act.verify([r for r in act.sender.journal if r.partition != LANES], timeout=40))
    will_say(bridge, "lanes were added to the schedule topic, not served", 15)
    require(Watch(act.spare_port).total("lanes_unserved") == 1, "the metric does not count the added lane")
    top = json.loads(act.run("top", f"127.0.0.1:{act.spare_port}", "--once", "-o", "json").stdout)
    require("a-lane-is-not-served" in [alert["section"] for alert in top["attention"]], f"top shows {top['attention']}")
    act.end(bridge)
    refused = act.run("run", "-c", str(act.path))
    require(refused.returncode == 78 and "topics apply" in refused.stderr, f"grown: {refused.stderr}")
    act.apply(act.path)
    bridge = act.bridge(act.path, "second")
    judge(act.verify(timeout=40))
    act.end(bridge)
    return f"logged, a start refused, fixed by topics apply; then the {len(waiting)} waiting requests came"


def mode_switch(act: Act) -> str:
    """Both processes change the delivery mode and change it back under load: nothing is lost or duplicated."""
    modes = {mode: act.other(mode, delivery=mode) for mode in ("at-least-once", "exactly-once")}
    bridges = [act.bridge(modes["at-least-once"], f"first-{n}", members=n) for n in (1, 2)]
    sending = act.background(lambda n, now: act.made.request(now), 100_000, 100)
    for mode in ("exactly-once", "at-least-once"):
        for n in (0, 1):
            time.sleep(3)
            act.end(bridges[n])
            bridges[n] = act.bridge(modes[mode], f"{mode}-{n}", members=2)
    time.sleep(3)
    sending.finish(stop=True)
    line = judge(act.verify(timeout=40))
    for bridge in bridges:
        act.end(bridge)
    return line


HISTORIES = (recreated, recreated_alive, truncated, head_deleted, retention_cut, foreign_progress, newer_record,
             differing_levels, grown, mode_switch)
# Histories in which the mode matters. The full counts have the others too.
OF_THE_MODE = (recreated, foreign_progress, newer_record)


def histories(stage: Stage) -> str:
    """Recreated, cut or grown topics, foreign progress and records, changed levels and modes: every loss is logged."""
    stage.use_levels()  # they are read from levels that were changed
    stage.broker(props=("log.initial.task.delay.ms=300", "log.retention.check.interval.ms=300"))
    told = []
    for history in HISTORIES:
        if stage.exactly_once and not stage.full and history not in OF_THE_MODE:
            continue
        act = Act(stage, history.__name__.replace("_", "-"))
        try:
            told.append(f"{history.__name__}: {history(act)}")
        finally:
            act.close()
    return f"{len(told)} histories" + "".join(f"\n        {line}" for line in told)


SCENARIOS = both_modes(histories)
