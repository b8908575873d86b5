# SPDX-License-Identifier: Apache-2.0
"""The check at the end of a run: check.sql finds wrong rows, figures.sql and the target topic give the figures."""
from __future__ import annotations

from pathlib import Path

import psycopg
from confluent_kafka import Consumer, KafkaError
from psycopg.rows import dict_row

HERE = Path(__file__).resolve().parent
ROWS_SHOWN = 10
# A cancel in time wins, as long as it reaches the bridge a second before the due time. While a relay is dead it may not.
CANCELLED_SHARE = 0.5


def queries() -> list[tuple[str, str]]:
    """Returns the rules of check.sql, each with its query."""
    parts = (HERE / "check.sql").read_text().split("\n\n")[1:]
    return [(part.split("\n", 1)[0].removeprefix("-- "), part.split("\n", 1)[1]) for part in parts]


def keep_receipts(database: psycopg.Connection, receipts: set[int]) -> None:
    database.execute("create temp table receipts (order_id bigint primary key)")
    with database.cursor().copy("copy receipts from stdin") as copy:
        for order in receipts:
            copy.write_row((order,))


def broken_rules(database: psycopg.Connection) -> dict[str, int]:
    """Returns the broken rules, each with the number of its wrong rows."""
    counts = {rule: len(database.execute(query).fetchall()) for rule, query in queries()}
    return {rule: rows for rule, rows in counts.items() if rows}


def wrong_rows(database: psycopg.Connection) -> list[str]:
    """Prints a line for each rule, and the rows that break it. Returns the broken rules."""
    broken = []
    for rule, query in queries():
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


def deliveries(bootstrap: str, topic: str) -> tuple[int, int]:
    """Returns how many deliveries the topic holds, and how many of them are copies."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, "isolation.level": "read_committed",
                         "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.subscribe([topic])
    sources, records, ended = set(), 0, set()
    while len(ended) < len(partitions):
        message = consumer.poll(10)
        if message is None:
            raise RuntimeError(f"{topic} cannot be read to its end")
        if not message.error():
            records += 1
            sources.add(dict(message.headers())["dlb-source"])
        elif message.error().code() == KafkaError._PARTITION_EOF:  # pylint: disable=protected-access
            ended.add(message.partition())
    consumer.close()
    return records, records - len(sources)


def cancelled_enough(counted: dict) -> bool:
    return counted["cancelled"] >= CANCELLED_SHARE * counted["paid_in_time"]
