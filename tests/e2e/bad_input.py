# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind. Each has a clear message or a dead letter as result, without a crash or a loss."""
from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from bad_cancels import bad_cancels
from client import now_ms
from contract import Request
from operating import Watch
from processes import CRASHES, Bridge, Kafka
from stage import LANES, Skip, Stage, both_modes, judge, level_topics, require, require_harness, require_prompt, until, will_say

CRASH_CODES = {code for number in CRASHES for code in (-number, 128 + number)}


def says(stage: Stage, what: str, done: subprocess.CompletedProcess, codes: tuple[int, ...], *words: str) -> None:
    text = done.stdout + done.stderr
    require(done.returncode not in CRASH_CODES, f"{what}: the command crashed ({done.returncode}):\n{text[-800:]}")
    require(done.returncode in codes, f"{what}: the command ended with {done.returncode}, not {codes}:\n{text[-800:]}")
    for word in words:
        require(word in text, f"{what}: {word!r} is not in its output:\n{text[-800:]}")


def bad_config(stage: Stage) -> str:
    """Configurations that must refuse to start, naming file, line, key and value."""
    good = 'kafka:\n  bootstrap.servers: 127.0.0.1:1\ntargets: ["e2e.*"]\n'
    cases = [
        ("not YAML", good + "hold: [1s\nlog: {", (78,), ("config-", ".yaml")),
        ("a tab", good + "log:\n\tlevel: info\n", (78,), ("config-",)),
        ("an unknown key", good + "hodl: 1s\n", (78,), ("config-", "hodl", "4")),
        ("an unknown key in a map", good + "log:\n  colour: red\n", (78,), ("config-", "colour")),
        ("a duration without unit", good + "hold: 15\n", (78,), ("config-", "hold", "15", "4")),
        ("an invalid size", good + "memory: lots\n", (78,), ("memory", "lots")),
        ("an invalid number", good + "partitions: eight\n", (78,), ("partitions", "eight")),
        ("a number out of range", good + "workers: -1\n", (78,), ("workers", "-1")),
        ("a map instead of a value", good + "group: {a: b}\n", (78,), ("group",)),
        ("a value instead of a map", good + "log: loud\n", (78,), ("log",)),
        ("the same key twice", good + "hold: 1s\nhold: 2s\n", (78,), ("hold",)),
        ("levels that do not fit hold and slack", good + "hold: 1s\nlevels: [10s, 30s]\n", (78,), ("levels",)),
        ("levels that do not ascend", good + "levels: [1s, 10s, 5s]\n", (78,), ("levels",)),
        ("no targets", "kafka:\n  bootstrap.servers: 127.0.0.1:1\ntargets: []\n", (78,), ("targets",)),
        ("a default target that targets does not allow", good + "default_target: other\n", (78,), ("default_target", "other")),
        ("a property that the guarantees require", "targets: [a]\nkafka:\n  bootstrap.servers: 127.0.0.1:1\n  acks: 1\n",
         (78,), ("acks",)),
        ("a Kafka property that has its own key", "targets: [a]\nkafka:\n  bootstrap.servers: 127.0.0.1:1\n  group.id: x\n",
         (78,), ("group.id", "group")),
        ("a Kafka property that does not exist",
         "targets: [a]\nkafka:\n  bootstrap.servers: 127.0.0.1:1\n  bootstrp: x\n", (78,), ("bootstrp",)),
        ("an unknown delivery mode", good + "delivery: at-most-once\n", (78,), ("delivery", "at-most-once")),
        ("an empty schedule topic", good + 'schedule: ""\n', (78,), ("schedule",)),
        ("a schedule topic with an illegal name", good + "schedule: a/b\n", (78,), ("schedule", "a/b")),
        ("a missing file of a secret", "targets: [a]\nkafka:\n  bootstrap.servers: 127.0.0.1:1\n"
         "  sasl.password: {file: /nowhere/secret}\n", (78,), ("/nowhere/secret",)),
        ("OAUTHBEARER without tokens", good.replace("targets", "  security.protocol: SASL_SSL\n"
         "  sasl.mechanisms: OAUTHBEARER\ntargets"), (78,), ("OAUTHBEARER", "token")),
        ("binary rubbish", "\x00\x01\x02\udcff", (78,), ("config-",)),
    ]
    for n, (what, text, codes, words) in enumerate(cases):
        path = stage.folder / f"config-{n}.yaml"
        path.write_bytes(text.encode(errors="surrogateescape"))
        says(stage, what, stage.run("run", "-c", str(path)), codes, *words)
    path = stage.config()
    says(stage, "a missing configuration file", stage.run("run", "-c", "/nowhere.yaml"), (64, 78), "/nowhere.yaml")
    says(stage, "an unknown flag", stage.run("run", "-c", str(path), "--frobnicate", "1"), (64, 78), "--frobnicate")
    says(stage, "a bad flag", stage.run("run", "-c", str(path), "--hold", "soon"), (64, 78), "hold", "soon")
    says(stage, "an unknown command", stage.run("frobnicate"), (64,), "frobnicate")
    says(stage, "a bad variable", stage.run("run", "-c", str(path), env={"DELAYBRIDGE_HOLD": "soon"}), (78,),
         "DELAYBRIDGE_HOLD", "soon")
    says(stage, "an unknown variable", stage.run("check", "--timeout", "1s", "-c", str(path), env={"DELAYBRIDGE_HOLDS": "1s"}),
         (69,), "DELAYBRIDGE_HOLDS: unknown, ignored")
    return f"{len(cases) + 5} configurations refused, each with its sentence"


def unreachable(stage: Stage) -> str:
    """No broker, and a broker that refuses the login."""
    path = stage.config()
    start = time.monotonic()
    says(stage, "check without a broker", stage.run("check", "-c", str(path)), (69,), "127.0.0.1:1")
    took = time.monotonic() - start
    waiting = Bridge(stage.binary, path, "waiting").start()
    time.sleep(12)
    require(waiting.running(), "run must wait for an unreachable Kafka, and ended:\n" + waiting.tail())
    require(waiting.log.stat().st_size > 0, "run waits for an unreachable Kafka without a message")
    begun = time.monotonic()
    require(waiting.stop() == 0, "SIGTERM does not end a bridge that waits for Kafka")
    ended = time.monotonic() - begun

    kafka = Kafka(stage.folder)
    port = kafka.port
    kafka.props = (
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 100},SASL://127.0.0.1:{port + 1}",
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{port + 1}",
        "sasl.enabled.mechanisms=PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule "
        'required user_bridge="right";')
    stage.kafka = kafka.start()

    def login(password: str, name: str) -> Path:
        return stage.config(name, kafka={
            "bootstrap.servers": f"127.0.0.1:{port + 1}", "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "PLAIN", "sasl.username": "bridge", "sasl.password": password})

    stage.apply(login("right", "right.yaml"))
    wrong = stage.run("run", "-c", str(login("wrong", "wrong.yaml")))
    says(stage, "wrong credentials", wrong, (78,))
    require("uthentication" in wrong.stderr or "redential" in wrong.stderr,
            "wrong credentials: no message names them:\n" + wrong.stderr[-800:])
    require("wrong" not in wrong.stderr.replace("wrong.yaml", "").replace("wrong credentials", ""),
            "the password is in the log")
    require_prompt(took < 20 and ended < 5, f"check took {took:.0f} s to give up, and run {ended:.0f} s to end")
    return f"check gave up after {took:.0f}s, run waited, wrong credentials were refused"


def bad_topics(stage: Stage) -> str:
    """Topics that could lose waiting records: the bridge refuses to start, and the command that it names fixes them."""
    stage.use_levels()  # records wait in the level that is removed
    path = stage.ready()
    says(stage, "check on good topics", stage.run("check", "-c", str(path), "--timeout", "30s"), (0,))  # creates the topic of the groups
    fixed = (("a level with finite retention", "schedule.5s", {"retention_ms": "604800000"}, "retention"),
             ("a level with a size limit", "schedule.5s", {"retention_bytes": "1000000000"}, "retention"),
             ("a level with the broker's timestamps", "schedule.1m",
              {"message_timestamp_type": "LogAppendTime"}, "LogAppendTime"),
             ("a compacted level", "schedule.10s", {"cleanup_policy": "compact"}, "cleanup"),
             ("a compacted schedule topic", "schedule", {"cleanup_policy": "compact,delete"}, "cleanup"),
             ("compacted cancels", "schedule.cancelled", {"cleanup_policy": "compact"}, "cleanup"),
             ("cancels with finite retention", "schedule.cancelled", {"retention_ms": "604800000"}, "retention"),
             ("cancels with a size limit", "schedule.cancelled", {"retention_bytes": "1000000000"}, "retention"),
             ("a compacted dead-letter topic", "schedule.dead-letter", {"cleanup_policy": "compact"}, "cleanup"))
    for what, topic, settings, word in fixed:
        stage.admin.set(topic, **settings)
        says(stage, f"{what}: check", stage.run("check", "-c", str(path)), (78,), topic, word)
        says(stage, f"{what}: run", stage.run("run", "-c", str(path)), (78,), topic, "topics apply")
        says(stage, f"{what}: plan", stage.run("topics", "plan", "-c", str(path)), (78,), topic)
        stage.apply(path)
        says(stage, f"{what}: check after apply", stage.run("check", "-c", str(path)), (0,))
    faults = (("a short retention of requests", "schedule", {"retention_ms": "60000"}, "retention.ms=60000"),
              ("a target that refuses old timestamps", "e2e.a", {"message_timestamp_before_max_ms": "1000"},
               "message.timestamp.before.max.ms=1000"),
              ("more in-sync replicas than replicas", "schedule.5s", {"min_insync_replicas": "2"},
               "min.insync.replicas=2"))
    for what, topic, settings, word in faults:
        stage.admin.set(topic, **settings)
        says(stage, f"{what}: check", stage.run("check", "-c", str(path)), (78,), "fault: ", topic, word)
        starts_with(stage, path, word)
        if topic == "e2e.a":  # not a topic of the bridge, so apply does not change it
            stage.admin.set(topic, message_timestamp_before_max_ms="9223372036854775807")
        stage.apply(path)
        says(stage, f"{what}: check after the fix", stage.run("check", "-c", str(path)), (0,))
    absent = stage.config("absent.yaml", targets=["e2e.*", "payments.missing"], default_target="e2e.missing")
    says(stage, "targets that do not exist: check", stage.run("check", "-c", str(absent)), (78,),
         "the default target e2e.missing does not exist", "target payments.missing does not exist")
    starts_with(stage, absent, "e2e.missing does not exist")

    stage.admin.delete("schedule.3m")
    for command in ("run", "check"):
        says(stage, f"a level without a topic: {command}", stage.run(command, "-c", str(path)), (78,), "schedule.3m", "topics apply")
    stage.apply(path)

    for exactly_once in False, True:
        level_removed(stage, exactly_once)

    stage.admin.grow("schedule.2m", LANES + 1)
    says(stage, "a level with other partitions: run", stage.run("run", "-c", str(path)), (78,), "schedule.2m", "9")
    says(stage, "a level with other partitions: check", stage.run("check", "-c", str(path)), (78,), "schedule.2m")
    stage.admin.grow("schedule", LANES + 1)
    says(stage, "more lanes than partitions of levels: check", stage.run("check", "-c", str(path)), (78,), "schedule.3m")
    return f"{len(fixed)} kinds of settings refused and fixed, {len(faults)} faults found, 3 refused by apply; " \
           f"a level with {REMOVED} records drained and removed, in each mode"


def starts_with(stage: Stage, path: Path, words: str) -> None:
    """Checks that a fault that check reports does not stop run from starting, and is in its log and its metrics."""
    bridge = stage.bridge(path, "faulty", env={"DELAYBRIDGE_LISTEN": f"127.0.0.1:{stage.spare_port}"})
    will_say(bridge, words)
    names = [("delaybridge_topic_findings", f'kind="{kind}"') for kind in ("fault", "refuse")]
    watch = Watch(stage.spare_port)
    metrics = until("the metrics have findings", lambda: (now := watch.metrics()).keys() >= set(names) and now)
    faults, refusals = (metrics[name] for name in names)
    require(faults > 0 and refusals == 0, f"the metrics have {faults:.0f} faults and {refusals:.0f} refusals")
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())


REMOVED = 200  # records that wait in the removed level


def level_removed(stage: Stage, exactly_once: bool) -> None:
    """A level with records is removed: refused. As a retired level it delivers all, and can then be removed."""
    stage.exactly_once = exactly_once
    mode, others = "exactly" if exactly_once else "at-least", {"levels": ["1s", "5s", "30s", "1m"]}
    path = stage.config(f"{mode}.yaml")
    bridge, generator = stage.bridge(path, mode), stage.generator(1000)

    def send(count: int, wait_ms: int) -> None:
        for _ in range(count):
            request = generator.request(now_ms(), wait_ms=wait_ms)
            request.timestamp_ms = None  # an older timestamp would change the level
            stage.sender.send(request)
        stage.sender.flush()

    end = end_of(stage, "schedule.10s")
    send(REMOVED, 14_000)
    until(f"{REMOVED} records in schedule.10s", lambda: taken(stage, path) and
                     end_of(stage, "schedule.10s") >= end + REMOVED)
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    without = stage.config(f"{mode}-without.yaml", **others)
    says(stage, "run starts although a removed level has records", stage.run("run", "-c", str(without)), (78,),
         "schedule.10s", "retired_levels")
    bridge = stage.bridge(stage.config(f"{mode}-retired.yaml", **others, retired_levels=["10s"]), f"{mode}-retired")
    judge(stage.verify())
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    undecided_holds(stage, without)
    says(stage, f"a level that was drained {mode}: check", stage.run("check", "-c", str(without)), (0,),
         "nothing waits in topic schedule.10s")
    bridge = stage.bridge(without, f"{mode}-without")
    send(50, 2000)
    judge(stage.verify())
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())


def undecided_holds(stage: Stage, without: Path) -> None:
    """Checks that an open transaction in a level keeps it: its records may still be committed."""
    writer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "transactional.id": "undecided", "log_level": 0})
    writer.init_transactions(30)
    writer.begin_transaction()
    writer.produce("schedule.10s", value=b"undecided", partition=0)
    writer.flush(30)
    says(stage, "a level in which a transaction is open", stage.run("run", "-c", str(without)), (78,),
         "schedule.10s holds up to 1 record but")
    writer.abort_transaction(30)


def taken(stage: Stage, path: Path) -> bool:
    """Returns whether all requests have left the schedule topic."""
    view = json.loads(stage.run("levels", "-c", str(path), "-o", "json").stdout)
    return view["backlog"] == view["in_memory"] == 0


def end_of(stage: Stage, topic: str) -> int:
    """Returns the sum of the end offsets of all lanes."""
    return sum(stage.admin.offsets([(topic, lane) for lane in range(LANES)], OffsetSpec.latest()).values())


def bad_records(stage: Stage) -> str:
    """Foreign and damaged records on the topics of the bridge, requests as large as the broker accepts, and bad cancels."""
    stage.use_levels()  # the envelope of a record that waits is damaged
    path = stage.ready()
    bridge = stage.bridge(path)
    generator = stage.generator(5000)
    waiting = generator.request(now_ms(), wait_ms=31_000, key=b"waits")
    waiting.timestamp_ms = None
    stage.sender.send(waiting)
    stage.sender.flush()
    envelope = first_of(stage.kafka.bootstrap, "schedule.30s", waiting.partition)
    foreign = [b"", b"x", b"not an envelope", b"\x00" * 200, b"DLBE", None, envelope[:-1], envelope + b"\x00",
               envelope[:40], flipped(envelope, len(envelope) - 1), flipped(envelope, 20), b"\xff" * 100_000]
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0})
    for n, value in enumerate(foreign):
        for topic in ("schedule.1s", "schedule.30s"):
            producer.produce(topic, value=value, key=b"foreign", partition=n % LANES, headers=[("h", b"1")])
    require_harness(producer.flush(30) == 0, "the foreign records were not written")

    big, unsure = [], []
    for size, target in ((900_000, "e2e.a"), (500_000, "e2e.b"), (1_040_000, "e2e.a"), (1_047_900, "e2e.a")):
        request = generator.request(now_ms(), wait_ms=1500, key=b"big", value=b"v", target=target,
                                    headers=[("huge", b"h" * size)])
        (unsure if size > 1_000_000 else big).append(request)
    big.append(generator.request(now_ms(), wait_ms=500, key=b"many", value=b"v", target="e2e.a",
                                 headers=[("n%d" % n, None if n % 7 == 0 else b"v%d" % n) for n in range(8000)]))
    big.append(generator.request(now_ms(), wait_ms=0, key=b"k" * 500_000, value=b"v", target="e2e.c", headers=[]))
    big.append(generator.request(now_ms(), wait_ms=2500, key=b"bulk", value=b"\x00" * 900_000, target="e2e.a",
                                 headers=[]))
    for request in big + unsure:
        stage.sender.send(request)
        stage.sender.flush()
    stage.sender.send_paced(lambda n, now: generator.request(now), 400, 200)
    # S may accept more than the target does: the request is then dead-lettered whole, as too_large.
    own = [r for r in stage.sender.journal if r not in unsure]
    stage.collector.wait_for(stage.sender.journal, stage.schedule, 90)
    dead = stage.collector.of("schedule.dead-letter")
    refused = [s for s in dead if s.header("dlb-error") == b"too_large"]
    strangers = [s for s in dead if s.header("dlb-error") == b"not_ours"]
    stage.collector.seen = [s for s in stage.collector.seen if s not in strangers and s not in refused]
    delivered = [s for s in stage.collector.seen if any(n == "huge" and len(v) > 1_000_000 for n, v in s.headers)]
    stage.collector.seen = [s for s in stage.collector.seen if s not in delivered]
    line = judge(stage.verify(own))
    require(len(refused) + len(delivered) == len(unsure),
            f"of {len(unsure)} that are too large for the target, {len(refused)} are too_large and "
            f"{len(delivered)} delivered")
    require(all(s.value == b"v" and s.key == b"big" for s in refused), "a too_large one lost its key or value")
    require(len(strangers) == 2 * len(foreign), f"{len(strangers)} of {2 * len(foreign)} foreign records are not_ours")
    require(sorted(s.value or b"" for s in strangers) == sorted(2 * [v or b"" for v in foreign]),
            "the foreign records are changed in the dead-letter topic")
    require(all((s.header("dlb-reason") or b"") and ("h", b"1") in s.headers for s in strangers),
            "a foreign record's dead letter has no reason or lost its header")
    require(bridge.stop() == 0, "the bridge ended:\n" + bridge.tail())
    return f"{line} not_ours={len(strangers)} too_large={len(refused)} {bad_cancels(stage)}"


def flipped(data: bytes, at: int) -> bytes:
    """Returns the data with one bit of one byte flipped."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def first_of(bootstrap: str, topic: str, partition: int) -> bytes:
    """Returns the value of the first record of a partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "e2e-peek", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, 0)])
    message = consumer.poll(20)
    consumer.close()
    require(message is not None and message.error() is None, f"no record is in {topic}/{partition}")
    return message.value()


def lost_offsets(stage: Stage) -> str:
    """The group has lost its offsets, with waiting records and with empty levels: exactly-once refuses to start."""
    stage.exactly_once = True
    stage.use_levels()  # all requests wait in levels
    config, generator = stage.ready(), stage.generator(1000)
    bridge = stage.bridge(config)
    for _ in range(200):
        stage.sender.send(generator.request(now_ms(), wait_ms=25_000))
    stage.sender.flush()
    until("all requests in levels", lambda: taken(stage, config))
    require(bridge.stop() == 0, "SIGTERM did not end the bridge cleanly:\n" + bridge.tail())
    stage.admin.forget_group(stage.group)
    will_refuse(stage, config, "refused")
    again = stage.bridge(stage.config("again.yaml", lost_offsets="redeliver"), "again")
    will_say(again, "committed offsets are lost")
    report = stage.verify(timeout=60)
    require(report.faults["lost"] == 0 and report.faults["early"] == 0, report.line())
    require(again.stop() == 0, "SIGTERM did not end the bridge cleanly:\n" + again.tail())
    for topic in level_topics(stage.schedule):
        stage.admin.delete_up_to_end(topic)
    stage.admin.forget_group(stage.group)
    will_refuse(stage, config, "refused-later")
    return "refused with 70, redelivered, and with empty levels refused again | " + report.line()


def will_refuse(stage: Stage, config, name: str) -> None:
    refused = Bridge(stage.binary, config, name).start()
    code = refused.wait(60)
    require(code == 70 and "refusing exactly-once" in refused.tail(),
            f"the bridge ended with {code}:\n{refused.tail()}")


def full_disk(stage: Stage) -> str:
    """The broker dies of a full disk, gets space and starts again: nothing is lost."""
    disk = stage.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)],
                             capture_output=True, text=True, check=False) if shutil.which("mount") else None
    if mounted is None or mounted.returncode:
        raise Skip(f"a small disk cannot be mounted here: {mounted.stderr.strip() if mounted else 'no mount'}")
    try:
        return on_full_disk(stage, disk)
    finally:
        stage.close()
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


def on_full_disk(stage: Stage, disk: Path) -> str:
    stage.broker(data=disk / "data", props=("log.segment.bytes=4194304", "log.index.size.max.bytes=4096",
                                            "offsets.topic.segment.bytes=1048576",
                                            "metadata.log.segment.bytes=8388608"))
    max_ms = 30_000
    stage.hold = stage.drawn_hold((1000, 5000))  # the broker ends with its disk, before records in levels could be counted
    path = stage.ready()
    bridge = stage.bridge(path)
    generator = stage.generator(max_ms, big=2000)
    sending = stage.background(lambda n, now: generator.request(now), 2000, 100)
    time.sleep(5)
    stage.admin.create("filler", 1)
    noise = random.Random(stage.seed)
    filler = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0, "message.timeout.ms": 10_000, "linger.ms": 5})
    start = time.monotonic()
    while stage.kafka.running():
        require_harness(time.monotonic() - start < 120, "the disk is full, but the broker is still running")
        for _ in range(20):
            try:
                filler.produce("filler", value=noise.randbytes(100_000))
            except (BufferError, KafkaException):
                pass
        filler.poll(0.01)
    time.sleep(5)
    require(bridge.running(), "the broker died, and the bridge ended:\n" + bridge.tail())
    for segment in (disk / "data").glob("broker-1/filler-0/*"):
        segment.unlink()
    subprocess.run(["mount", "-o", "remount,size=256m", str(disk)], check=True)
    stage.kafka.call("restart", "1")
    sending.finish()
    line = judge(stage.verify(timeout=120), None)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return line


def deleted_unread(stage: Stage) -> str:
    """Records that were deleted before the bridge read them: logged as an error, and all later ones come."""
    config = stage.ready()
    generator = stage.generator(1500)

    def send(count: int) -> list[Request]:
        first = len(stage.sender.journal)
        for _ in range(count):
            stage.sender.send(generator.request(now_ms()))
        stage.sender.flush()
        return stage.sender.journal[first:]

    bridge = stage.bridge(config)
    before = send(200)
    judge(stage.verify(before))
    require(bridge.stop() == 0, "the bridge did not end with 0")
    unread = send(200)
    stage.admin.delete_up_to_end(stage.schedule)
    after = send(200)
    bridge = stage.bridge(config, "second")
    after += send(200)
    report = stage.verify(before + after)
    line = judge(report)
    require("deleted before they were read" in bridge.tail(200), "the log does not report the lost requests")
    return f"{line} deleted={len(unread)}"


SCENARIOS = {**{f.__name__: f for f in (bad_config, unreachable, bad_topics, bad_records, deleted_unread, lost_offsets)},
             **both_modes(full_disk)}
