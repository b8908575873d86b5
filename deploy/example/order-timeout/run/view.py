# SPDX-License-Identifier: Apache-2.0
"""The live view: one line a second, and a line for each kill."""
from __future__ import annotations

import re
import threading
import time
import urllib.request

import psycopg

NUMBERS = """
select count(*) filter (where state = 'UNPAID'), count(*) filter (where state = 'PAID'),
       count(*) filter (where state = 'CLOSED'), (select count(*) from outbox),
       count(*) filter (where state = 'PAID' and deadline < clock_timestamp() and id not in (select order_id from done)),
       (select count(*) from done),
       (select percentile_cont(0.5) within group (order by late) from recent),
       (select max(late) from recent)
from orders"""
RECENT = """
with recent as (
    select extract(epoch from d.handled_at - o.deadline) as late
    from done d join orders o on o.id = d.order_id where d.handled_at > clock_timestamp() - interval '1 second'
)"""
PENDING = re.compile(rb"^delaybridge_level_pending_records\{[^}]*\} (\S+)", re.M)
HEAD = "  time    unpaid   paid  closed    outbox   waiting  cancelled  delivered    late: p50      max"


def seconds(late: float | None) -> str:
    if late is None:
        return "-"
    return f"{1000 * late:.0f} ms" if late < 1 else f"{late:.1f} s"


class View:
    def __init__(self, database: str, metrics_port: int):
        self.database, self.metrics_port = database, metrics_port
        self.start, self.ended = time.monotonic(), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> "View":
        print(HEAD, flush=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def event(self, text: str) -> None:
        print(f"{time.monotonic() - self.start:5.1f}s  --- {text}", flush=True)

    def run(self) -> None:
        with psycopg.connect(self.database, autocommit=True) as database:
            while not self.ended.wait(1):
                self.line(database.execute(RECENT + NUMBERS).fetchone())

    def line(self, row: tuple) -> None:
        unpaid, paid, closed, outbox, cancelled, delivered, p50, longest = row
        waiting = self.waiting(unpaid)
        print(f"{time.monotonic() - self.start:5.1f}s  {unpaid:7} {paid:6} {closed:7}   {outbox:7}   {waiting:>7}  "
              f"{cancelled:>9}  {delivered:9}  {seconds(p50):>11}  {seconds(longest):>7}", flush=True)

    def waiting(self, unpaid: int) -> str:
        """Returns how many records the bridge keeps. It counts them once a second: right after its start it says 0."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=1) as page:
                kept = sum(map(float, PENDING.findall(page.read())))
        except OSError:
            return "-"
        return "-" if kept == 0 and unpaid else f"{kept:.0f}"
