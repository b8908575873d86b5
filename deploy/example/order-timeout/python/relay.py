# SPDX-License-Identifier: Apache-2.0
"""The outbox relay: sends the rows of the outbox to the bridge in the order of their ids, then deletes them. After a
crash it sends some rows again. The consumer does not mind: see close_order."""
import os
import time

import psycopg
from confluent_kafka import Producer

PRODUCER = Producer({"bootstrap.servers": os.environ["KAFKA"],
                     "enable.idempotence": True,               # keeps the order of a partition, also after retries
                     "partitioner": "murmur2_random"})         # Java's: a cancel must meet its order's lane


def headers_of(op, target, deliver_at):
    if op == "cancel":
        return [("dlb-op", "cancel")]
    return [("dlb-target", target), ("dlb-deliver-at", str(deliver_at))]


def delivered(error, _message):
    if error:
        raise RuntimeError(f"outbox row not sent: {error}")    # raised by flush: the rows stay, a restart sends them


with psycopg.connect(os.environ["DATABASE"], autocommit=True) as database:
    database.execute("select pg_advisory_lock(1)")             # a second relay waits: two would mix up the order
    while True:
        rows = database.execute("select id, key, payload, op, target, deliver_at from outbox"
                                " order by id limit 500").fetchall()
        for _, key, payload, *header in rows:
            PRODUCER.produce("schedule", key=key, value=payload, headers=headers_of(*header), on_delivery=delivered)
        PRODUCER.flush()
        if rows:
            database.execute("delete from outbox where id = any(%s)", ([row[0] for row in rows],))
        else:
            time.sleep(0.05)
