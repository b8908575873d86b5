# SPDX-License-Identifier: Apache-2.0
"""The parts that all ways share: the outbox is read as by relay.py, and an order is closed as by consumer.py."""
import os
import time
import uuid

import psycopg

from orders import close_order


def connect():
    return psycopg.connect(os.environ["DATABASE"], autocommit=True)


def relay(send):
    """Calls send with the next rows (order, op, deadline in epoch ms) and then deletes them."""
    with connect() as database:
        while True:
            rows = database.execute("select id, replace(key, 'order-', '')::bigint, op, deliver_at from outbox"
                                    " order by id limit 500").fetchall()
            if not rows:
                time.sleep(0.05)
                continue
            send([row[1:] for row in rows])
            database.execute("delete from outbox where id = any(%s)", ([row[0] for row in rows],))


def handle(database, order):
    """Closes an unpaid order. Each call leaves a row, so that a second call for an order is seen."""
    with database.transaction():
        database.execute("insert into done (source, order_id) values (%s, %s)", (str(uuid.uuid4()), order))
        close_order(database, order)
