# SPDX-License-Identifier: Apache-2.0
"""The archive of the brokers' classes, from which Java starts a broker in half the time. It is written once, at the end
of a broker that has done a little of each kind of work."""
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from processes import CACHE, KAFKA, Kafka

# A broker of a scenario lives for a minute: Java's second compiler costs more than it saves.
SHORT_LIVED = "-Xms256m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
TOPIC, RECORDS, TIMEOUT_S = "archive", 100, 30


def archive_file() -> Path:
    return Path(subprocess.run([str(KAFKA), "archive"], capture_output=True, text=True, check=True).stdout.strip())


def write(bootstrap: str) -> None:
    """Writes records to a topic in a transaction."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, 4, 1)]).values():
        created.result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": TOPIC, "compression.type": "lz4",
                         "log_level": 0})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for n in range(RECORDS):
        producer.produce(TOPIC, b"value", b"%d" % n)
    producer.commit_transaction(TIMEOUT_S)


def read(bootstrap: str) -> None:
    """Reads these records as a member of a group that commits."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": TOPIC, "auto.offset.reset": "earliest",
                         "log_level": 0})
    consumer.subscribe([TOPIC])
    if consumer.consume(RECORDS, TIMEOUT_S):
        consumer.commit(asynchronous=False)
    consumer.close()


def make_archive() -> None:
    """Writes the archive. Without it, brokers only start more slowly."""
    file = archive_file()
    if file.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    before = os.environ.get("KAFKA_JVM")
    os.environ["KAFKA_JVM"] = f"{before or SHORT_LIVED} -XX:ArchiveClassesAtExit={part}"
    try:
        with tempfile.TemporaryDirectory(prefix="delaybridge-archive.") as folder:
            kafka = Kafka(Path(folder)).start()
            try:
                write(kafka.bootstrap)
                read(kafka.bootstrap)
            finally:
                kafka.stop()
        part.rename(file)
    except (RuntimeError, KafkaException, OSError) as problem:
        print(f"e2e: brokers start without an archive of their classes: {problem}", flush=True)
    finally:
        os.environ.pop("KAFKA_JVM")
        if before is not None:
            os.environ["KAFKA_JVM"] = before
