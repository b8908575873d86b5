# SPDX-License-Identifier: Apache-2.0
"""The four things that happen to an order. Each is one short transaction."""
import json
import os
from datetime import timedelta

TIMEOUT = timedelta(seconds=float(os.environ.get("PAYMENT_SECONDS", "900")))
TARGET = "orders.timeout"


class SoldOut(Exception):
    """There is not enough stock."""


def create_order(database, product, quantity):
    """Reserves stock and schedules the timeout. Returns the number of the order."""
    with database.transaction():
        if not database.execute("update stock set available = available - %s where product = %s and available >= %s",
                                (quantity, product, quantity)).rowcount:
            raise SoldOut(product)
        order, deadline = database.execute(
            "insert into orders (product, quantity, deadline)"
            " values (%s, %s, date_trunc('milliseconds', clock_timestamp()) + %s)"
            " returning id, (extract(epoch from deadline) * 1000)::bigint",
            (product, quantity, TIMEOUT)).fetchone()
        database.execute("insert into outbox (key, op, target, deliver_at, payload) values (%s, 'schedule', %s, %s, %s)",
                         (f"order-{order}", TARGET, deadline, json.dumps({"order": order})))
        return order


def pay_order(database, order):
    """Takes the payment and cancels the timeout. Returns whether the order was still unpaid."""
    with database.transaction():
        if not database.execute("update orders set state = 'PAID', paid_at = clock_timestamp()"
                                " where id = %s and state = 'UNPAID'", (order,)).rowcount:
            return False
        database.execute("insert into outbox (key, op) values (%s, 'cancel')", (f"order-{order}",))
        return True


def close_order(database, order):
    """Closes the order if it is unpaid, and returns its stock. The caller owns the transaction. `state = 'UNPAID'` is
    the guard: a payment and a timeout compete for this row, and one of them finds it unpaid."""
    closed = database.execute("update orders set state = 'CLOSED', closed_at = clock_timestamp()"
                              " where id = %s and state = 'UNPAID' returning product, quantity", (order,)).fetchone()
    if closed:
        product, quantity = closed
        database.execute("update stock set available = available + %s where product = %s", (quantity, product))


def open_order(database, order):
    """Returns the state of the order, or None. The passive check: an unpaid order past its deadline is closed here if
    its timeout is late."""
    with database.transaction():
        found = database.execute("select deadline <= clock_timestamp() from orders where id = %s", (order,)).fetchone()
        if not found:
            return None
        if found[0]:
            close_order(database, order)
        return database.execute("select state from orders where id = %s", (order,)).fetchone()[0]
