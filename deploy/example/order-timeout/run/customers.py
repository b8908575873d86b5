# SPDX-License-Identifier: Apache-2.0
"""The customers: they create orders, and pay them early, at the deadline, too late or never. They keep a receipt of each
payment that the shop accepted."""
from __future__ import annotations

import heapq
import http.client
import itertools
import json
import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

PRODUCTS = [f"product-{n}" for n in range(10)]
STOCK = 100_000
THREADS = 12


class Customers:
    def __init__(self, services: list[tuple[int, float]], orders: int, seconds: float, seed: int):
        """Creates the orders evenly within seconds. services: port of a service, and the timeout of its orders. Of two
        services the second one gets some of the orders that are never paid."""
        self.services, self.orders, self.seconds = services, orders, seconds
        self.dice = random.Random(seed)
        self.receipts: set[int] = set()
        self.created: list[int] = []
        self.refused = 0                       # payments of closed orders
        self.faults: list[str] = []
        self.plan: list = []                   # a heap of (time, number, action, order)
        self.number = itertools.count()
        self.lock = threading.Lock()
        self.leaving = threading.Event()
        self.connection = threading.local()

    def run(self) -> None:
        """Returns when the last customer has left, or after leave."""
        start = time.monotonic()
        for n in range(self.orders):
            self.add(start + n * self.seconds / self.orders, self.create, n)
        with ThreadPoolExecutor(THREADS) as pool:
            pending: set[Future] = set()
            while (self.plan or pending) and not self.leaving.is_set():
                pending = {future for future in pending if not future.done()}
                with self.lock:
                    due = self.plan and self.plan[0][0] <= time.monotonic()
                    action = heapq.heappop(self.plan)[2:] if due else None
                if action:
                    pending.add(pool.submit(self.act, *action))
                else:
                    time.sleep(0.002)

    def leave(self) -> None:
        self.leaving.set()

    def act(self, action, argument: int) -> None:
        try:
            action(argument)
        except Exception as error:  # pylint: disable=broad-except
            self.faults.append(f"{action.__name__}({argument}): {error!r}")

    def add(self, at: float, action, argument: int) -> None:
        with self.lock:
            heapq.heappush(self.plan, (at, next(self.number), action, argument))

    def create(self, n: int) -> None:
        port, timeout = self.services[-1 if n % 20 == 8 else 0]
        status, body = self.call("POST", "/orders", {"product": self.dice.choice(PRODUCTS), "quantity": 1 + n % 3}, port)
        if status != 201:
            raise RuntimeError(f"{status} {body}")
        order, deadline = body["order"], time.monotonic() + timeout
        self.created.append(order)
        match n % 10:
            case 0 | 1 | 2 | 3 | 4:            # early
                self.add(deadline - self.dice.uniform(0.25, 0.95) * timeout, self.pay, order)
            case 5:                            # at the deadline
                self.add(deadline + self.dice.uniform(-0.02, 0.02), self.pay, order)
            case 6:                            # after it
                self.add(deadline + self.dice.uniform(0.5, 1.5), self.pay, order)
            case 7:                            # opens the order after the deadline, and does not pay
                self.add(deadline + self.dice.uniform(0, 1), self.open, order)

    def pay(self, order: int) -> None:
        status, _ = self.call("POST", f"/orders/{order}/payment")
        if status == 200:
            self.receipts.add(order)
        elif status == 409:
            self.refused += 1
        else:
            raise RuntimeError(str(status))

    def open(self, order: int) -> None:
        status, body = self.call("GET", f"/orders/{order}")
        if status != 200 or body["state"] != "CLOSED":
            raise RuntimeError(f"{status} {body}, expected CLOSED")

    def call(self, method: str, path: str, body: dict | None = None, port: int | None = None) -> tuple[int, dict]:
        port = port or self.services[0][0]
        opened = self.connection.__dict__  # of this thread
        connection = opened.setdefault(str(port), http.client.HTTPConnection("127.0.0.1", port, timeout=20))
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read() or "{}")
