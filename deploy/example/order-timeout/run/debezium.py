# SPDX-License-Identifier: Apache-2.0
"""Debezium in place of the relay: Kafka Connect with debezium/outbox-router.json. Only its addresses and the name of its
slot are replaced."""
from __future__ import annotations

import json
import threading
from pathlib import Path

import psycopg

from servers import Kafka, reserve_ports
from shop import HERE, START_S, Shop

CLEAN_S = 1.0


def add_debezium(shop: Shop, kafka: Kafka, url: str, jars: Path) -> None:
    """Starts Connect as the program relay, and waits until it reads the outbox."""
    worker, connector = shop.folder / "worker.properties", shop.folder / "outbox-router.json"
    worker.write_text("\n".join((
        f"bootstrap.servers={kafka.bootstrap}", f"listeners=HTTP://127.0.0.1:{reserve_ports()}",
        f"offset.storage.file.filename={shop.folder / 'offsets'}", "offset.flush.interval.ms=1000",
        "key.converter=org.apache.kafka.connect.storage.StringConverter",
        "value.converter=org.apache.kafka.connect.storage.StringConverter")) + "\n")
    settings = json.loads((HERE / "debezium" / "outbox-router.json").read_text())
    host, _, rest = url.split("@")[1].partition(":")
    port, _, name = rest.partition("/")
    settings["config"] |= {"database.hostname": host, "database.port": port, "database.dbname": name,
                           "slot.name": f"orders_outbox_{name}"}  # slots belong to the server, not to a database
    connector.write_text(json.dumps(settings, indent=2))
    shop.add("relay", ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*",
                       "org.apache.kafka.connect.cli.ConnectStandalone", str(worker), str(connector)], {})
    await_slot(shop, url)


def await_slot(shop: Shop, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as database:
        for _ in range(10 * START_S):
            if database.execute("select 1 from pg_replication_slots where active").fetchone():
                return
            shop.check_alive()
            database.execute("select pg_sleep(0.1)")
    raise RuntimeError(f"Debezium does not read the outbox, logs are in {shop.folder}")


class Cleaner:
    """Empties the outbox: Debezium reads the rows from the log of the database, where they remain."""

    def __init__(self, url: str):
        self.url, self.ended = url, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as database:
            while not self.ended.wait(CLEAN_S):
                database.execute("delete from outbox")

    def stop(self) -> None:
        self.ended.set()
        self.thread.join()
