# SPDX-License-Identifier: Apache-2.0
"""The timeout consumer: closes orders that are still unpaid. First the transaction, then the offset."""
import json
import os

import psycopg
from confluent_kafka import Consumer

from orders import TARGET, close_order

CONSUMER = Consumer({"bootstrap.servers": os.environ["KAFKA"],
                     "group.id": "orders", "group.instance.id": "orders-1",
                     "auto.offset.reset": "earliest",
                     "isolation.level": "read_committed",      # for a bridge with delivery: exactly-once
                     "enable.auto.offset.store": False})       # store_offsets below, committed each 5 seconds


def handle(database, message):
    headers = dict(message.headers())
    order = json.loads(message.value())["order"]
    with database.transaction():
        new = database.execute("insert into done (source, order_id) values (%s, %s) on conflict do nothing",
                               (headers["dlb-source"].decode(), order)).rowcount
        if new:                                                # else a copy: after a crash a record may come twice
            close_order(database, order)


with psycopg.connect(os.environ["DATABASE"], autocommit=True) as database:
    CONSUMER.subscribe([TARGET])
    while True:
        message = CONSUMER.poll(1)
        if message is None:
            continue
        if message.error():
            print(message.error())                             # the client tries again by itself
            continue
        handle(database, message)
        CONSUMER.store_offsets(message)
