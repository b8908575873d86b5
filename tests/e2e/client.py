# SPDX-License-Identifier: Apache-2.0
"""The producers and consumers of the tests."""
from __future__ import annotations

import contextlib
import ctypes
import logging
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (AclBinding, AclOperation, AclPermissionType, AdminClient, AlterConfigOpType,
                                   ConfigEntry, ConfigResource, NewPartitions, NewTopic, OffsetSpec,
                                   ResourcePatternType, ResourceType)

import groups
from contract import Request, Seen
from processes import HarnessError


def now_ms() -> int:
    return time.time_ns() // 1_000_000


# After these errors the broker has not stored the record. After any other error it may have stored it. For instance,
# a leader that resigns while it waits for its followers answers that it is no leader, and they may have the record.
CERTAIN = (KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD,
           KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART)
# The client, not the broker, gave the request up, or the client is about to fail.
GIVEN_UP = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._FATAL,
            KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, KafkaError.UNKNOWN_PRODUCER_ID)
FLUSH_S, ANSWER_S = 120, 30
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def answers(futures: dict) -> list:
    """Waits for the answers of brokers to requests of an admin client."""
    try:
        return [future.result(ANSWER_S) for future in futures.values()]
    except TimeoutError as problem:
        raise HarnessError(f"the brokers do not answer an admin client within {ANSWER_S} s") from problem


def record_at(bootstrap: str, topic: str, partition: int, offset: int):
    """Returns the record at this offset, or None."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "e2e-peek", "auto.offset.reset": "error",
                         "log_level": 0})
    consumer.assign([TopicPartition(topic, partition, offset)])
    message = consumer.poll(20)
    consumer.close()
    return message if message is not None and message.error() is None and message.offset() == offset else None


def plant_fatal_error(producer: Producer) -> None:
    """Causes the fatal error of a producer whose broker answers OUT_OF_ORDER_SEQUENCE_NUMBER."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        library = next(line.split()[-1] for line in maps if "librdkafka" in line)
    plant = ctypes.CDLL(library).rd_kafka_test_fatal_error
    plant.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    client = ctypes.c_void_p.from_address(id(producer) + object.__basicsize__)  # the first member of the Python object
    plant(client, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, b"planted")


class Sender:
    """Writes requests at a steady rate and keeps the journal: acknowledged requests, refused ones, and unsure ones,
    which may have been written. With patience_ms it gives up requests after that time and continues. It then sends
    each request only once, since a client that repeats requests may write some twice. After a fatal error of its client
    another client continues."""

    def __init__(self, bootstrap: str, topic: str, patience_ms: int | None = None, codec: str = "none"):
        self.topic = topic
        self.journal: list[Request] = []
        self.unsure: list[Request] = []
        self.refused: list[Request] = []
        self.placeless: list[Request] = []
        self.failed: list[str] = []
        self.replaced = 0  # clients
        self.patient = patience_ms is None
        once = {} if self.patient else {"enable.idempotence": False, "message.send.max.retries": 0}
        self.settings = {
            "bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2, "log_level": 0,
            "partitioner": "murmur2_random", "message.max.bytes": 50_000_000, "compression.type": codec,
            "message.timeout.ms": patience_ms or 300_000, "reconnect.backoff.max.ms": 1000,
            "socket.timeout.ms": 10_000,
            **once}
        self.producer = Producer(self.settings)

    def send(self, request: Request, topic: str | None = None) -> None:
        def acknowledged(error, message):
            # A batch that a broker already had is acknowledged with another time.
            request.stamped_ms = stamp_ms
            if error is not None and self.patient and error.code() not in GIVEN_UP:
                self.failed.append(f"{request.kind}: {error}")
            if error is not None:
                (self.refused if error.code() in CERTAIN else self.unsure).append(request)
                return
            if message.offset() is None:  # an earlier try stored it, and the broker does not name the offset
                self.placeless.append(request)
                return
            request.partition, request.offset = message.partition(), message.offset()
            request.acked_at = time.time()
            self.journal.append(request)

        request.sent_ms = now_ms()
        stamp_ms = request.sent_ms if request.timestamp_ms is None else request.timestamp_ms
        while True:
            try:
                self.producer.produce(topic or self.topic, value=request.value, key=request.key,
                                      headers=request.headers, on_delivery=acknowledged, timestamp=stamp_ms)
                break
            except BufferError:
                self.poll(0.1)
            except KafkaException as problem:
                self.replace(problem)
        self.poll(0)

    def poll(self, seconds: float) -> None:
        try:
            self.producer.poll(seconds)
        except KafkaException as problem:
            self.replace(problem)

    def replace(self, problem: KafkaException) -> None:
        """Continues with a new client after a fatal error. The requests in flight are unsure."""
        error = problem.args[0]
        if not error.fatal() and error.code() != KafkaError._FATAL:
            raise problem
        print(f"e2e: the sender's client failed: another one continues: {error}", file=sys.stderr)
        old, self.producer = self.producer, Producer(self.settings)
        self.replaced += 1
        old.purge()
        while len(old):
            with contextlib.suppress(KafkaException):  # the fatal error once more
                old.poll(0.1)

    def send_paced(self, make, count: int, rate: float, stop=lambda: False) -> None:
        """Sends count requests, rate a second. make(n, now_ms) returns each request."""
        start = time.monotonic()
        for n in range(count):
            if stop():
                break
            ahead = start + n / rate - time.monotonic()
            while ahead > 0:
                self.poll(min(ahead, 0.01))
                ahead = start + n / rate - time.monotonic()
            self.send(make(n, now_ms()))
        self.flush()

    def join(self, other: "Sender") -> None:
        """Adds the requests of another sender, so that they are judged together."""
        self.journal += other.journal
        self.unsure += other.unsure
        self.refused += other.refused
        self.placeless += other.placeless
        self.replaced += other.replaced

    def flush(self) -> None:
        """Waits until every request is acknowledged or failed. After FLUSH_S the client is given up, and its requests are
        unsure. (Seen once: a broker was back after 9 s, and served no request of this client for two minutes.)"""
        deadline = time.monotonic() + FLUSH_S
        while (left := len(self.producer)) and time.monotonic() < deadline:
            self.poll(0.1)  # flush would call back while the exception of a fatal error is set
        if left:
            print(f"given up: a sender that had {left} requests unacknowledged for {FLUSH_S} s", file=sys.stderr)
            self.producer.purge()
            self.producer.flush(FLUSH_S)
        if self.failed or left > len(self.journal):
            raise HarnessError(f"{left} requests unacknowledged, failed: {self.failed[:3]}")


class Intruder:
    """A consumer that joins the group with the group.instance.id of a bridge."""

    def __init__(self, bootstrap: str, group: str, topic: str, instance: str):
        silent = logging.getLogger("intruder")  # it is fenced on purpose
        silent.disabled = True
        self.consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": group, "group.instance.id": instance, "log_level": 0,
            "partition.assignment.strategy": "range", "session.timeout.ms": 6000, "enable.auto.commit": False,
            "heartbeat.interval.ms": 100}, logger=silent)
        self.consumer.subscribe([topic])

    def fenced(self, timeout: float) -> bool:
        """Waits until the group has fenced it. Returns whether it did."""
        deadline, out = time.monotonic() + timeout, False
        while not out and time.monotonic() < deadline:
            message = self.consumer.poll(0.1)
            # pylint: disable-next=protected-access
            out = message is not None and message.error() is not None and message.error().code() == KafkaError._FATAL
        self.consumer.close()
        return out


STUCK_S = 30  # without a record while requests are due
KNOWN_S = 20  # until every broker knows a new topic


class Collector(threading.Thread):
    """Reads whole topics from their beginning, live. Each record has the time at which it was received."""

    def __init__(self, bootstrap: str, topics: list[str]):
        super().__init__(daemon=True)
        self.bootstrap = bootstrap
        self.consumer = self.client()
        self.seen: list[Seen] = []
        self.sources: set[bytes | None] = set()
        self.problems: list[str] = []
        self.forgiven: set[str] = set()  # topics that may be deleted
        self.wanted: list[str] = list(topics)
        self.ending, self.stuck = threading.Event(), threading.Event()
        self.partitions: dict[str, int] = {}
        self.next: dict[tuple[str, int], int] = {}

    def client(self) -> Consumer:
        return Consumer({
            "bootstrap.servers": self.bootstrap, "group.id": "e2e-reader", "enable.auto.commit": False,
            "log_level": 0,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed", "fetch.wait.max.ms": 20,
            "socket.timeout.ms": 10_000,
            "allow.auto.create.topics": False, "fetch.message.max.bytes": 70_000_000,
            "receive.message.max.bytes": 200_000_000})

    def add(self, topic: str) -> None:
        self.wanted.append(topic)

    def assign_new(self) -> None:
        while self.wanted:
            topic = self.wanted.pop()
            found = self.described(topic)
            if topic in self.partitions:  # recreated
                self.consumer.incremental_unassign([TopicPartition(topic, p) for p in found.partitions])
                self.next = {place: offset for place, offset in self.next.items() if place[0] != topic}
            self.partitions[topic] = len(found.partitions)
            self.consumer.incremental_assign([TopicPartition(topic, p, 0) for p in found.partitions])

    def described(self, topic: str):
        """Describes a topic. Waits, since not every broker knows a new topic at once."""
        deadline = time.monotonic() + KNOWN_S
        while True:
            found = self.consumer.list_topics(topic, timeout=10).topics[topic]
            if found.error is None and found.partitions:
                return found
            if time.monotonic() > deadline:
                raise KafkaException(found.error)
            time.sleep(0.2)

    def reopen(self) -> None:
        """Continues with a new client at the same offsets. After a broker outage the old client may never fetch again."""
        self.stuck.clear()
        print("e2e: the reader's client stalled: another one continues", file=sys.stderr)
        self.consumer.close()
        self.consumer = self.client()
        self.consumer.assign([TopicPartition(topic, p, self.next.get((topic, p), 0))
                              for topic, count in self.partitions.items() for p in range(count)])

    def run(self) -> None:
        try:
            self.consumer.assign([])
            while not self.ending.is_set():
                self.assign_new()
                if self.stuck.is_set():
                    self.reopen()
                self.take_some()
        except Exception as problem:  # pylint: disable=broad-except
            self.problems.append(repr(problem))
        finally:
            self.consumer.close()

    def take_some(self) -> None:
        """Takes all fetched records as soon as the first one is there, so that each has the time of its receipt."""
        first = self.consumer.poll(0.05)
        if first is None:
            return
        self.take(first)
        for message in self.consumer.consume(500, timeout=0):
            self.take(message)

    def take(self, message) -> None:
        error = message.error()
        if error is not None:
            if error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT,
                                    KafkaError._PARTITION_EOF, KafkaError._TIMED_OUT) \
                    and message.topic() not in self.forgiven:
                self.problems.append(str(error))
            return
        seen = Seen(message.topic(), message.partition(), message.offset(), message.timestamp()[1],
                    message.key(), message.value(), list(message.headers() or []), time.time() * 1000)
        self.seen.append(seen)
        self.next[message.topic(), message.partition()] = message.offset() + 1
        self.sources.add(seen.header("dlb-source"))

    def of(self, *topics: str) -> list[Seen]:
        return [s for s in self.seen if s.topic in topics]

    def missing(self, journal: list[Request], schedule: str) -> list[Request]:
        return [r for r in journal
                if f"{schedule}/{r.partition}/{r.offset}".encode() not in self.sources]

    def wait_for(self, journal: list[Request], schedule: str, timeout: float, grace: float = 1.0) -> int:
        """Waits until every request has come out, and a little longer for records that should not come. Returns the
        number of missing requests."""
        deadline = time.monotonic() + timeout
        moved, seen = time.monotonic(), 0
        while missing := self.missing(journal, schedule):
            if time.monotonic() > deadline or self.problems:
                break
            latest = max(r.due for r in missing)
            if seen != len(self.seen) or now_ms() < min(r.due for r in missing):
                moved, seen = time.monotonic(), len(self.seen)
            elif time.monotonic() > moved + STUCK_S:
                moved = time.monotonic()
                self.stuck.set()
            time.sleep(min(0.5, max(0.1, (latest - now_ms()) / 1000 / 4)))
        time.sleep(grace)
        if self.problems:
            raise HarnessError(f"the reader failed: {self.problems[:3]}")
        return len(missing)

    def catch_up(self, timeout: float) -> bool:
        """Waits until it has read all present records of the topics. Works only without transactions on them."""
        admin = Admin(self.bootstrap)
        places = [(topic, p) for topic, count in self.partitions.items() for p in range(count)]
        starts, ends = admin.offsets(places, OffsetSpec.earliest()), admin.offsets(places, OffsetSpec.latest())
        ends = {place: end for place, end in ends.items() if end > starts[place]}
        for _ in range(2):
            deadline = time.monotonic() + timeout / 2
            while time.monotonic() < deadline:
                if all(self.next.get(place, 0) >= end for place, end in ends.items()):
                    return True
                time.sleep(0.2)
            self.stuck.set()
        return False

    def end(self) -> None:
        self.ending.set()
        self.join(20)


class Admin:
    # Kept until the end: freeing an admin client whose broker is gone may wait indefinitely.
    kept: list["Admin"] = []

    def __init__(self, bootstrap: str, copies: int = 1):
        Admin.kept.append(self)
        self.copies = copies
        self.bootstrap = bootstrap
        self.client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, topic: str, partitions: int, on: list[int] | None = None, **config: str) -> None:
        """Creates a topic. on: the brokers that get all its partitions. None: the controller chooses."""
        config = {name.replace("_", "."): value for name, value in config.items()}
        places = {"replica_assignment": [on] * partitions} if on else {"replication_factor": self.copies}
        answers(self.client.create_topics([NewTopic(topic, num_partitions=partitions, config=config, **places)]))
        self.wait(topic, lambda: topic in self.topics())

    def create_placed(self, topic: str, places: list[list[int]]) -> None:
        """Creates a topic with the given brokers for each partition."""
        wanted = NewTopic(topic, num_partitions=len(places), replica_assignment=places)
        answers(self.client.create_topics([wanted]))
        self.wait(topic, lambda: topic in self.topics())

    def leader(self, topic: str, partition: int) -> int:
        return self.client.list_topics(topic, timeout=10).topics[topic].partitions[partition].leader

    @staticmethod
    def wait(what: str, seen, timeout: float = 40) -> None:
        """Waits until brokers know a change, which they do only after the controller has confirmed it."""
        deadline = time.monotonic() + timeout
        while not seen():
            if time.monotonic() > deadline:
                raise HarnessError(f"{what} is not visible after {timeout} s")
            time.sleep(0.1)

    def forbid_writing(self, topic: str) -> None:
        """Allows all users to read and describe the topic. A broker then denies all other operations."""
        rights = [AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*",
                             operation, AclPermissionType.ALLOW)
                  for operation in (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)]
        answers(self.client.create_acls(rights))

    def grow(self, topic: str, partitions: int) -> None:
        answers(self.client.create_partitions([NewPartitions(topic, partitions)]))
        self.wait(f"{topic} with {partitions} partitions", lambda: self.topics().get(topic) == partitions)

    def delete(self, topic: str) -> None:
        answers(self.client.delete_topics([topic]))
        self.wait(f"{topic} deleted", lambda: topic not in self.topics())

    def set(self, topic: str, **config: str) -> None:
        config = {name.replace("_", "."): value for name, value in config.items()}
        entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                   for name, value in config.items()]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        answers(self.client.incremental_alter_configs([resource]))

        def seen() -> bool:
            asked = self.client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)])
            [have] = answers(asked)
            return all(have[name].value == value for name, value in config.items())
        self.wait(f"{topic} with {config}", seen)

    def delete_up_to_end(self, topic: str) -> None:
        """Deletes all records, as retention would: the log then starts at its end."""
        ends = [TopicPartition(topic, n, -1) for n in range(self.topics()[topic])]
        answers(self.client.delete_records(ends))

    def offsets(self, places: list[tuple[str, int]], which: OffsetSpec) -> dict[tuple[str, int], int]:
        found = self.client.list_offsets({TopicPartition(*place): which for place in places}, request_timeout=20)
        return {(place.topic, place.partition): info.offset for place, info in zip(found, answers(found))}

    def topics(self) -> dict[str, int]:
        """Lists all topics. A request by name could create one."""
        found = self.client.list_topics(timeout=20).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def described(self, schedule: str) -> dict[str, int]:
        """Returns the replicas of each partition of the schedule topic and the topics named after it, as this broker shows
        them."""
        found = self.client.list_topics(timeout=20).topics
        return {name: min(len(p.replicas) for p in topic.partitions.values()) for name, topic in found.items()
                if name == schedule or name.startswith(f"{schedule}.")}

    def forget_group(self, group: str) -> None:
        """Deletes the group, which must have no member."""
        answers(self.client.delete_consumer_groups([group]))

    def instance_ids(self, group: str) -> list[str]:
        """Returns the group.instance.id of each static member."""
        [described] = answers(self.client.describe_consumer_groups([group]))
        return [member.group_instance_id for member in described.members]

    def wait_members(self, group: str, count: int, timeout: float = 40) -> bool:
        """Waits until so many members share the lanes and each has some."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            lanes = list(groups.members(self.bootstrap, group).values())
            if len(lanes) == count and all(lanes):
                return True
            time.sleep(0.1)
        return False
