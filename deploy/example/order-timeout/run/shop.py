# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the programs of one run."""
from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psycopg
from confluent_kafka.admin import AdminClient, NewTopic

from customers import PRODUCTS, STOCK
from programs import Program
from servers import Kafka, reserve_ports

HERE = Path(__file__).resolve().parents[1]
SCHEDULE, TARGET, PARTITIONS = "schedule", "orders.timeout", 4
START_S = 60


def fill(database: psycopg.Connection) -> None:
    """Fills the stock."""
    for product in PRODUCTS:
        database.execute("insert into stock values (%s, %s, %s)", (product, STOCK, STOCK))


class Shop:
    def __init__(self, folder: Path, binary: Path, code: Path | None):
        """code: the folder of the Python programs. None: those in Java."""
        self.folder, self.binary, self.code = folder, binary.resolve(), code
        self.programs: dict[str, Program] = {}
        self.metrics_port = reserve_ports()

    def add(self, name: str, command: list[str], env: dict[str, str]) -> Program:
        self.programs[name] = Program(name, command, self.folder, env)
        return self.programs[name].start()

    def add_program(self, name: str, env: dict[str, str]) -> Program:
        """Starts service, relay or consumer."""
        return self.add(name, [sys.executable, str(self.code / f"{name}.py")] if self.code else java(name), env)

    def add_service(self, url: str, timeout: float, name: str = "service") -> int:
        """Starts the service and waits until it answers. Returns its port."""
        port = reserve_ports()
        command = [sys.executable, str(self.code / "service.py")] if self.code else java("service")
        self.add(name, command, {**shop_env(url, timeout), "PORT": str(port)})
        self.await_http(name, port, "/orders/0")
        return port

    def add_bridge(self, kafka: Kafka, mode: str) -> None:
        """Makes the topics, starts the bridge and waits until it is ready."""
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(TARGET, PARTITIONS, 1)])[TARGET].result(20)
        config = ["-c", str(HERE / "delaybridge.yaml")]
        bridge = Program("bridge", [str(self.binary), "run", *config], self.folder,
                         {"DELAYBRIDGE_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap, "DELAYBRIDGE_DELIVERY": mode,
                          "DELAYBRIDGE_LISTEN": f"127.0.0.1:{self.metrics_port}"})
        done = subprocess.run([str(self.binary), "topics", "apply", *config], env=bridge.env, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"topics apply ended with {done.returncode}: {done.stderr}")
        self.programs["bridge"] = bridge.start()
        self.await_http("bridge", self.metrics_port, "/readyz")

    def await_http(self, name: str, port: int, path: str) -> None:
        """Waits until a program answers. An order that does not exist is an answer too."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
                return
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return
            except OSError:
                pass
            self.check_alive()
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not answer on port {port}, its log ends with:\n{self.programs[name].tail()}")

    def check_alive(self) -> None:
        for program in self.programs.values():
            if not program.alive():
                raise RuntimeError(f"{program.name} ended:\n{program.tail()}")

    def stop(self) -> None:
        for program in self.programs.values():
            program.stop()


def shop_env(url: str, timeout: float, kafka: Kafka | None = None) -> dict[str, str]:
    """Returns the environment of the programs in both languages."""
    user, address = url.removeprefix("postgresql://").split("@")
    return {"DATABASE": url, "JDBC_URL": f"jdbc:postgresql://{address}", "JDBC_USER": user,
            "PAYMENT_SECONDS": str(timeout), "PAYMENT_TIME": f"PT{timeout}S", **({"KAFKA": kafka.bootstrap} if kafka else {"KAFKA": "none:1"})}


def java(name: str) -> list[str]:
    [jar] = (HERE / "java" / "target").glob("*.jar")
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(jar),
            f"--spring.profiles.active={name}"]
