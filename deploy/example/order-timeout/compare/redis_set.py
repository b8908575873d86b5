# SPDX-License-Identifier: Apache-2.0
"""A sorted set in Redis, polled each 100 ms. A poller claims due orders, so that two pollers do not handle one order. A payment removes the order.

  redis_set.py relay | poll"""
import os
import sys
import time

import redis

from common import connect, handle, relay

SET, INTERVAL_S, BATCH = "timeouts", 0.1, 100
# Reads and removes in one step.
CLAIM = """
local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'limit', 0, ARGV[2])
if #due > 0 then redis.call('zrem', KEYS[1], unpack(due)) end
return due"""


def send(rows):
    pipe = STORE.pipeline()
    for order, op, deadline in rows:
        if op == "cancel":
            pipe.zrem(SET, order)
        else:
            pipe.zadd(SET, {order: deadline})
    pipe.execute()


def poll():
    with connect() as database:
        while True:
            due = STORE.eval(CLAIM, 1, SET, int(time.time() * 1000), BATCH)
            for order in due:
                handle(database, int(order))  # a kill before this line loses the orders that were claimed
            if len(due) < BATCH:
                time.sleep(INTERVAL_S)


def patient(work):
    """Runs work again when Redis is away."""
    while True:
        try:
            work()
        except redis.ConnectionError:
            time.sleep(0.1)


STORE = redis.Redis(port=int(os.environ["REDIS_PORT"]))
patient(poll if sys.argv[1] == "poll" else lambda: relay(send))
