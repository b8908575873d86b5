# SPDX-License-Identifier: Apache-2.0
"""The table "What differs from production" of docs/testing-your-application.md."""
from __future__ import annotations

import re
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from client import now_ms
from dev_mode import MINUTE_MS, TARGET, Dev
from stage import Stage, require

KEPT = 5 << 20  # bytes of a partition
VALUE = bytes(16 << 10)


def transactions(dev: Dev) -> None:
    """Transactions are accepted. Records of an aborted one are visible to all, and its requests are delivered."""
    producer = Producer({"bootstrap.servers": dev.servers, "transactional.id": "app"})
    producer.init_transactions(10)
    for key, end in (("committed", producer.commit_transaction), ("aborted", producer.abort_transaction)):
        producer.begin_transaction()
        sent = now_ms()
        producer.produce("schedule", "", key, headers={"dlb-delay": "15m", "dlb-target": TARGET}, timestamp=sent)
        require(producer.flush(10) == 0, f"the {key} request is not stored")
        end(10)
        ahead_ms = dev.clock()["ahead_ms"]
        dev.clock("15m")
        dev.arrives(key, sent + ahead_ms + 15 * MINUTE_MS)


def retention(dev: Dev) -> int:
    """A partition keeps its newest 5 MiB. Returns the bytes that it has kept."""
    producer = Producer({"bootstrap.servers": dev.servers})
    count = 2 * KEPT // len(VALUE)
    for n in range(count):
        producer.produce("app.large", VALUE, partition=0)
        if n % 16 == 15:
            require(producer.flush(10) == 0, "large records are not stored")
    low, high = dev.consumer.get_watermark_offsets(TopicPartition("app.large", 0), timeout=10)
    kept = (high - low) * len(VALUE)
    require(high == count and 0.8 * KEPT < kept <= KEPT, f"{kept} bytes kept, offsets {low} to {high} of {count}")
    return kept


def first_join(dev: Dev, library: str) -> float:
    """A consumer's first join of a group takes three seconds with librdkafka 2.0, and less with newer ones. Returns the
    seconds."""
    consumer = Consumer({"bootstrap.servers": dev.servers, "group.id": "first", "auto.offset.reset": "earliest"})
    begun = time.monotonic()
    consumer.subscribe([TARGET])
    while not consumer.assignment():
        consumer.poll(0.1)
        require(time.monotonic() < begun + 15, "the consumer did not join its group")
    took = time.monotonic() - begun
    consumer.close()
    require((took >= 2.5) == library.startswith("2.0."), f"the first join took {took:.1f} s with librdkafka {library}")
    return took


def admin_clients(dev: Dev) -> None:
    """Admin clients create and list topics. Any other request of them fails."""
    admin = AdminClient({"bootstrap.servers": dev.servers})
    admin.create_topics([NewTopic("app.created", num_partitions=3, replication_factor=1)])["app.created"].result(10)
    topics = admin.list_topics(timeout=10).topics
    require(len(topics["app.created"].partitions) == 3, f"{topics['app.created'].partitions}")
    try:
        [asked] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, "app.created")], request_timeout=5).values()
        require(False, f"settings are described: {asked.result(10)}")
    except KafkaException:
        pass


def dev_differs(stage: Stage) -> str:
    """delaybridge dev differs from a real Kafka as its page says: transactions, retention, joins, admin clients."""
    library = re.search(r"librdkafka (\S+?),?\s", stage.run_with(stage.binary, "version").stdout)[1]
    dev = Dev(stage.binary, stage.folder / "dev.log")
    try:
        dev.read()
        transactions(dev)
        kept = retention(dev)
        took = first_join(dev, library)
        admin_clients(dev)
    finally:
        code = dev.end()
    require(code == 0, f"dev ended with {code}")
    return f"an aborted request was delivered, {kept >> 10} KiB kept, first join {took:.1f} s with librdkafka {library}"


SCENARIOS = {"dev_differs": dev_differs}
