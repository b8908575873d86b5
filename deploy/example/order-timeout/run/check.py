# SPDX-License-Identifier: Apache-2.0
"""The check at the end of a run: check.sql and cancels.sql find wrong rows, figures.sql and the target topic give the
figures."""
from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import psycopg
from confluent_kafka import Consumer, KafkaError, Message
from psycopg.rows import dict_row

HERE = Path(__file__).resolve().parent
ROWS_SHOWN = 10


def queries(file: str = "check.sql") -> list[tuple[str, str]]:
    """Returns the rules of a file, each with its query."""
    parts = (HERE / file).read_text().split("\n\n")[1:]
    return [(part.split("\n", 1)[0].removeprefix("-- "), part.split("\n", 1)[1]) for part in parts]


def keep_receipts(database: psycopg.Connection, receipts: set[int]) -> None:
    database.execute("create temp table receipts (order_id bigint primary key)")
    with database.cursor().copy("copy receipts from stdin") as copy:
        for order in receipts:
            copy.write_row((order,))


def keep_cancels(database: psycopg.Connection, bootstrap: str, topic: str, outage: tuple[datetime, datetime]) -> None:
    """Copies the cancels of the schedule topic into a table. outage: the kill of the relay, and its restart. The relay
    works again when it stores its next record."""
    cancels: list[tuple[int, datetime]] = []
    back = outage[1]
    for message in records(bootstrap, topic):
        stored = datetime.fromtimestamp(message.timestamp()[1] / 1000, timezone.utc)
        if stored > outage[1]:
            back = stored if back == outage[1] else min(back, stored)
        if dict(message.headers()).get("dlb-op") == b"cancel":
            cancels.append((int(message.key().removeprefix(b"order-")), stored))
    database.execute("create temp table cancels (order_id bigint not null, stored_at timestamptz not null)")
    with database.cursor().copy("copy cancels from stdin") as copy:
        for row in cancels:
            copy.write_row(row)
    database.execute("create temp table outage (killed_at timestamptz, back_at timestamptz)")
    database.execute("insert into outage values (%s, %s)", (outage[0], back))


def broken_rules(database: psycopg.Connection) -> dict[str, int]:
    """Returns the broken rules, each with the number of its wrong rows."""
    counts = {rule: len(database.execute(query).fetchall()) for rule, query in queries()}
    return {rule: rows for rule, rows in counts.items() if rows}


def wrong_rows(database: psycopg.Connection, file: str) -> list[str]:
    """Prints a line for each rule of a file, and the rows that break it. Returns the broken rules."""
    broken = []
    for rule, query in queries(file):
        cursor = database.execute(query)
        rows = cursor.fetchall()
        print(f"{'FAILED' if rows else 'ok':7} {rule}")
        if rows:
            broken.append(rule)
            print("        " + " | ".join(column.name for column in cursor.description))
            for row in rows[:ROWS_SHOWN]:
                print("        " + " | ".join(str(value) for value in row))
            if len(rows) > ROWS_SHOWN:
                print(f"        and {len(rows) - ROWS_SHOWN} more")
    return broken


def figures(database: psycopg.Connection) -> dict:
    return database.cursor(row_factory=dict_row).execute((HERE / "figures.sql").read_text()).fetchone()


def records(bootstrap: str, topic: str) -> Iterator[Message]:
    """Yields the records that the topic holds."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, "isolation.level": "read_committed",
                         "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.subscribe([topic])
    ended: set[int] = set()
    while len(ended) < len(partitions):
        message = consumer.poll(10)
        if message is None:
            raise RuntimeError(f"{topic} cannot be read to its end")
        if not message.error():
            yield message
        elif message.error().code() == KafkaError._PARTITION_EOF:  # pylint: disable=protected-access
            ended.add(message.partition())
    consumer.close()


def deliveries(bootstrap: str, topic: str) -> tuple[int, int]:
    """Returns how many deliveries the topic holds, and how many of them are copies."""
    sources = [dict(message.headers())["dlb-source"] for message in records(bootstrap, topic)]
    return len(sources), len(sources) - len(set(sources))
