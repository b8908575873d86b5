# SPDX-License-Identifier: Apache-2.0
"""Lateness of deliveries while clients call the admin API."""
from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import threading
from multiprocessing.connection import Connection

from lateness import Bridged
from place import Place, now_ms
from processes import reserve_ports
from table import Row

TOKEN = "0123456789abcdef"
CLIENTS, EVERY_S = 10, 1.0
READS = ("status", "levels", "lanes", "forecast", "targets", "forecast/deliveries", "history", "config", "jobs")
MOST = {"called": 1.2, "searched": 2.0}  # times the p99 without clients
LOWEST = 19  # priority of the clients, which usually run on another machine


class Client(threading.Thread):
    """An operator's page that calls each route once a second, or a program that searches without a pause."""

    def __init__(self, port: int, searches: bool):
        super().__init__(daemon=True)
        self.searches, self.stopping, self.answered = searches, threading.Event(), 0
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.start()

    def call(self, method: str, route: str, body: dict | None = None) -> None:
        """Calls on the connection of the last call, as a browser does."""
        try:
            self.connection.request(method, f"/api/v1/{route}", None if body is None else json.dumps(body),
                                    {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
            answer = self.connection.getresponse()
            answer.read()
            self.answered += answer.status in (200, 202)
        except (OSError, http.client.HTTPException):
            self.connection.close()  # not started yet, or ended: the next call connects

    def run(self) -> None:
        while not self.stopping.is_set():
            if self.searches:
                self.call("POST", "find?wait_ms=5000", {"id": "of no request"})
                self.stopping.wait(0.1)
                continue
            for route in READS:
                self.call("GET", route)
                self.stopping.wait(EVERY_S / (len(READS) + 1))
            self.call("POST", "send", {"requests": [{"delay": "30m", "target": "bench.later", "value": "x"}]})
            self.stopping.wait(EVERY_S / (len(READS) + 1))


def call_until_stopped(port: int, searchers: int, parent: Connection) -> None:
    """Runs clients in a process of their own until the parent says stop. Sends the number of their answers."""
    os.nice(LOWEST)
    clients = [Client(port, number >= CLIENTS) for number in range(CLIENTS + searchers)]
    parent.recv()
    for client in clients:
        client.stopping.set()
    for client in clients:
        client.join(40)
    parent.send(sum(client.answered for client in clients))


def calling(port: int, searchers: int) -> Connection:
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.Process(target=call_until_stopped, args=(port, searchers, theirs), daemon=True).start()
    return ours


def played(place: Place, rate: int, seconds: int, kind: str, waiting: int) -> dict:
    token = place.folder / "token"
    token.write_text(TOKEN)
    port = reserve_ports()
    bridged = Bridged(place, rate, 1000, 1500, seconds, admin=f"127.0.0.1:{port}", admin_token={"file": str(token)})
    stamp = now_ms()
    place.load(topic=f"{bridged.stream.load['topic']}.1h", kind="envelope", count=waiting, stamp=stamp,
               due=stamp + 3_600_000, target="bench.target")
    place.rest(2)
    clients = None if kind == "alone" else calling(port, 2 if kind == "searched" else 0)
    result = bridged.start().result()
    result["answered"] = 0
    if clients is not None:
        clients.send("stop")
        result["answered"] = clients.recv()
    place.rest()
    return result


def called(place: Place, rate: int = 5000, seconds: int = 8, waiting: int = 500_000) -> list[Row]:
    """Deliveries while ten clients call each route of the admin API, without searches and with two endless ones."""
    seen = place.in_turns(**{kind: lambda kind=kind: played(place, rate, seconds, kind, waiting)
                             for kind in ("alone", "called", "searched")})
    alone, rows = seen["alone"], []
    for kind, most in MOST.items():
        one = seen[kind]
        ratio = one["p99"] / alone["p99"]
        words = "called by ten clients" if kind == "called" else "and two searches without an end"
        rows.append(Row(f"admin API {words} / not called, at {rate:,}/s: ms late, p99",
                        f"{ratio:.2f} ({one['p99']:.1f} / {alone['p99']:.1f}; {one['answered']} answers)", f"≤ {most}",
                        ratio <= most, ratio, one["complete"] and alone["complete"] and one["answered"] > 0))
    return rows
