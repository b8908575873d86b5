# SPDX-License-Identifier: Apache-2.0
"""Scan of the order table: each second each shard reads the expired orders, 100 at a time. No outbox is needed.

  scan.py SHARD SHARDS"""
import sys
import time

from common import connect, handle

INTERVAL_S, BATCH = 1, 100
EXPIRED = """
select id from orders
where state = 'UNPAID' and deadline <= clock_timestamp() and id %% %s = %s
order by deadline limit %s"""

shard, shards = map(int, sys.argv[1:])
with connect() as database:
    database.execute("create index if not exists unpaid on orders (deadline) where state = 'UNPAID'")
    while True:
        orders = [row[0] for row in database.execute(EXPIRED, (shards, shard, BATCH))]
        for order in orders:
            handle(database, order)
        if len(orders) < BATCH:
            time.sleep(INTERVAL_S)
