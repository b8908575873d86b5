# SPDX-License-Identifier: Apache-2.0
"""Redis: a sorted set that its client polls, with an append-only file."""
from __future__ import annotations

from peers.peer import Server, ThroughClient
from processes import reserve_ports


class Redis(ThroughClient):
    name, kind, strong = "Redis, sorted set polled at 100 ms, append-only file", "redis", True

    def launch(self) -> str:
        port, home = reserve_ports(), self.folder / "redis"
        home.mkdir()
        self.servers = [Server(["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(home), "--appendonly",
                                "yes"], home / "log").start()]
        self.servers[0].await_port(port)
        return str(port)
