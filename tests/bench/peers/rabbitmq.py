# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ: messages with a TTL in a queue without consumers, whose dead-letter exchange moves expired ones on."""
from __future__ import annotations

from pathlib import Path

from peers.peer import Server, ThroughClient
from processes import reserve_ports

SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"


class RabbitMQ(ThroughClient):
    def __init__(self, folder: Path, queues: str):
        super().__init__(folder)
        self.kind, self.name = queues, f"RabbitMQ, TTL and dead-letter exchange, {queues} queues"
        self.names: Server | None = None

    def launch(self) -> str:
        port, home = reserve_ports(), self.folder / self.kind
        home.mkdir()
        env = {"HOME": str(home), "ERL_EPMD_PORT": str(port + 1), "ERL_EPMD_ADDRESS": "127.0.0.1",
               "RABBITMQ_NODENAME": "bench@localhost", "RABBITMQ_NODE_PORT": str(port), "RABBITMQ_DIST_PORT": str(port + 2),
               "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_MNESIA_BASE": str(home), "RABBITMQ_LOG_BASE": str(home),
               "RABBITMQ_PID_FILE": str(home / "pid"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
               "RABBITMQ_CONF_ENV_FILE": "/dev/null", "RABBITMQ_CONFIG_FILE": str(home / "none")}
        self.names = Server(["epmd", "-port", str(port + 1)], home / "epmd.log", env).start()  # the directory of Erlang nodes
        self.names.await_port(port + 1)
        self.servers = [Server([SERVER], home / "log", env).start()]
        self.servers[0].await_("start", lambda: "completed with" in self.servers[0].tail())
        return str(port)

    def stop(self) -> None:
        super().stop()
        if self.names is not None:
            self.names.kill()
