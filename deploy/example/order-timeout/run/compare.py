#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same orders through the ways in which people time orders out today, and prints one table."""
from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable

import psycopg

import check
from customers import Customers
from programs import Program
from servers import ROOT, Kafka, Postgres, reserve_ports
from shop import HERE, TARGET, Shop, fill, shop_env
from view import seconds

WAYS_FOLDER = HERE / "compare"
RESULTS, HEADING = WAYS_FOLDER / "RESULTS.md", "## A run\n"
KILLS, DOWN_S = 3, 1.0
PATIENCE_S = 6     # without a change after the last deadline: orders that are unpaid then are lost
AT_REST_S = 3.0
LONG = 3           # with mixed times, one order in twenty has so many times the timeout
LOAD = """
select coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0) from pg_stat_statements
where userid = 'timeouts'::regrole and dbid = (select oid from pg_database where datname = current_database())"""

CALM = """
select percentile_cont(0.5) within group (order by late), percentile_cont(0.99) within group (order by late)
from (select extract(epoch from d.handled_at - o.deadline) as late from done d join orders o on o.id = d.order_id
      where o.deadline < %s - interval '1 second') as before"""


@dataclass
class Stage:
    """One run of one way."""
    folder: Path
    options: argparse.Namespace
    shop: Shop
    url: str                       # of the shop's user
    env: dict[str, str]            # of the programs under comparison, whose database user is timeouts
    ends: list[Callable] = field(default_factory=list)
    kafka: Kafka | None = None

    def python(self, name: str, script: str, *args: str) -> None:
        path = os.pathsep.join((str(HERE / "python"), str(WAYS_FOLDER)))
        self.shop.add(name, [sys.executable, str(WAYS_FOLDER / script), *args], {**self.env, "PYTHONPATH": path})


def start_delaybridge(stage: Stage) -> None:
    stage.kafka = Kafka(stage.folder / "kafka")
    stage.ends.append(stage.kafka.drop)
    stage.env["KAFKA"] = stage.kafka.bootstrap
    stage.shop.add_bridge(stage.kafka, "at-least-once")
    for name in ("relay", "consumer"):
        stage.shop.add_program(name, stage.env)


def start_scan(stage: Stage) -> None:
    with psycopg.connect(stage.url, autocommit=True) as database:
        database.execute("create rule unused as on insert to outbox do instead nothing")
    for shard in range(2):
        stage.python(f"scan-{shard}", "scan.py", str(shard), "2")


def start_redis(stage: Stage) -> None:
    stage.env["REDIS_PORT"] = str(reserve_ports())
    stage.shop.add("redis", ["redis-server", "--bind", "127.0.0.1", "--port", stage.env["REDIS_PORT"],
                             "--dir", str(stage.folder)], {})
    stage.python("relay", "redis_set.py", "relay")
    stage.python("poll", "redis_set.py", "poll")


def start_rabbitmq(stage: Stage) -> None:
    port, epmd, home = reserve_ports(), reserve_ports(), stage.folder / "rabbitmq"
    home.mkdir()
    env = {"HOME": str(home), "ERL_EPMD_PORT": str(epmd), "ERL_EPMD_ADDRESS": "127.0.0.1",
           "RABBITMQ_NODENAME": "shop@localhost", "RABBITMQ_NODE_PORT": str(port), "RABBITMQ_DIST_PORT": str(reserve_ports()),
           "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_MNESIA_BASE": str(home), "RABBITMQ_LOG_BASE": str(home),
           "RABBITMQ_PID_FILE": str(home / "pid"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
           "RABBITMQ_CONF_ENV_FILE": "/dev/null", "RABBITMQ_CONFIG_FILE": str(home / "none")}
    stage.shop.add("epmd", ["epmd", "-port", str(epmd)], env)
    stage.shop.add("rabbitmq", ["/usr/lib/rabbitmq/bin/rabbitmq-server"], env)
    await_log(stage.shop.programs["rabbitmq"], "completed with")
    stage.env["AMQP_PORT"] = str(port)
    stage.python("relay", "rabbitmq_ttl.py", "relay")
    stage.python("consume", "rabbitmq_ttl.py", "consume")


def start_in_process(stage: Stage) -> None:
    subprocess.run(["javac", "-d", str(stage.folder), str(WAYS_FOLDER / "InProcess.java")], check=True)
    [jdbc] = stage.options.jdbc.glob("postgresql-*.jar")
    stage.shop.add("timers", ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                              "-cp", f"{stage.folder}:{jdbc}", "InProcess"], stage.env)


def await_log(program: Program, words: str, timeout: float = 60) -> None:
    end = time.monotonic() + timeout
    while words not in program.log.read_text(errors="replace"):
        if time.monotonic() > end or not program.alive():
            raise RuntimeError(f"{program.name} did not start:\n{program.tail()}")
        time.sleep(0.1)


@dataclass(frozen=True)
class Way:
    name: str
    start: Callable[[Stage], None]
    killed: tuple[str, ...]
    files: tuple[str, ...]
    mixed: bool = False


BRIDGE = ("python/relay.py", "python/consumer.py")
REDIS, RABBITMQ = ("compare/redis_set.py",), ("compare/rabbitmq_ttl.py",)
WAYS = {
    "delaybridge": Way("delaybridge", start_delaybridge, ("bridge", "consumer"), BRIDGE),
    "delaybridge-mixed": Way("delaybridge, mixed times", start_delaybridge, ("bridge", "consumer"), BRIDGE, True),
    "scan": Way("scan of the table", start_scan, ("scan-0", "scan-1"), ("compare/scan.py",)),
    "redis": Way("Redis sorted set", start_redis, ("poll",), REDIS),
    "redis-killed": Way("Redis sorted set, Redis killed", start_redis, ("redis",), REDIS),
    "rabbitmq": Way("RabbitMQ TTL", start_rabbitmq, ("consume",), RABBITMQ),
    "rabbitmq-mixed": Way("RabbitMQ TTL, mixed times", start_rabbitmq, ("consume",), RABBITMQ, True),
    "in-process": Way("DelayQueue in a process", start_in_process, ("timers",), ("compare/InProcess.java",)),
}


def lines_of_code(files: tuple[str, ...]) -> int:
    """Counts lines without comments, docstrings and empty lines."""
    total = 0
    for name in files:
        text = re.sub(r'^""".*?"""$|/\*.*?\*/', "", (HERE / name).read_text(), flags=re.S | re.M)
        total += sum(bool(line.strip()) and not line.strip().startswith(("#", "//")) for line in text.splitlines())
    return total


def apart_s(options: argparse.Namespace) -> float:
    """Returns the time between two kills, if timeouts are handled all the time."""
    return options.seconds * 0.5 / KILLS


def kill_at_work(stage: Stage, way: Way, database: psycopg.Connection) -> datetime:
    """Kills the programs some times in the second half, each time when a timeout has just been handled, and starts them
    again. Returns the time of the first kill."""
    options, start = stage.options, time.monotonic()
    kills: list[datetime] = []
    for n in range(KILLS):
        at = start + options.timeout + options.seconds * 0.5 + n * apart_s(options)
        time.sleep(max(0.0, at - time.monotonic()))
        await_handling(database)
        kills.append(datetime.now(timezone.utc))
        for name in way.killed:
            stage.shop.programs[name].kill()
        time.sleep(DOWN_S)
        for name in way.killed:
            stage.shop.programs[name].start()
    return kills[0]


def await_handling(database: psycopg.Connection) -> None:
    query = "select count(*) from done"
    before, end = database.execute(query).fetchone()[0], time.monotonic() + 3
    while database.execute(query).fetchone()[0] == before and time.monotonic() < end:
        time.sleep(0.001)


def await_rest(database: psycopg.Connection) -> None:
    """Waits until all is closed, or until nothing has changed for a while after the last deadline."""
    query = ("select count(*) filter (where state = 'UNPAID'), (select count(*) from done),"
             " max(deadline) < clock_timestamp() from orders")
    before, since = None, time.monotonic()
    while True:
        unpaid, handled, over = database.execute(query).fetchone()
        if (unpaid, handled) != before or not over:
            before, since = (unpaid, handled), time.monotonic()
        elif time.monotonic() - since > (1 if unpaid == 0 else PATIENCE_S):
            return
        time.sleep(0.2)


def run(way: Way, options: argparse.Namespace, folder: Path, postgres: Postgres) -> dict[str, str]:
    """Returns the row of the table."""
    folder.mkdir(parents=True)
    name = "shop_" + re.sub(r"\W+", "_", way.name.lower())
    url = postgres.create(name, HERE / "schema.sql")
    shop = Shop(folder, options.binary, HERE / "python")
    stage = Stage(folder, options, shop, url, shop_env(postgres.url(name, "timeouts"), options.timeout))
    try:
        with postgres.connect(postgres.url(name, "postgres")) as database:
            database.execute("create extension pg_stat_statements")
            fill(database)
            way.start(stage)
            services = [(shop.add_service(url, options.timeout), options.timeout)]
            if way.mixed:
                longer = LONG * options.timeout
                services.append((shop.add_service(url, longer, "service-long"), longer))
            return play(way, stage, services, database)
    finally:
        shop.stop()
        for end in stage.ends:
            end()


def play(way: Way, stage: Stage, services: list[tuple[int, float]], database: psycopg.Connection) -> dict[str, str]:
    options = stage.options
    time.sleep(1)
    before = database.execute(LOAD).fetchone()[0]
    time.sleep(AT_REST_S)
    at_rest = float(database.execute(LOAD).fetchone()[0] - before) / AT_REST_S
    database.execute("select pg_stat_statements_reset()")
    customers = Customers(services, options.orders, options.seconds, options.seed)
    stage.ends.append(customers.leave)
    crowd = threading.Thread(target=customers.run)
    crowd.start()
    first_kill = kill_at_work(stage, way, database)
    crowd.join()
    await_rest(database)
    stage.shop.check_alive()
    calls, busy_ms = database.execute(LOAD).fetchone()
    check.keep_receipts(database, customers.receipts)
    broken = check.broken_rules(database)
    if customers.faults:
        raise RuntimeError(f"{way.name}: {customers.faults[:3]}")
    counted = check.figures(database)
    handled, distinct = database.execute("select count(*), count(distinct order_id) from done").fetchone()
    if stage.kafka:
        records, _ = check.deliveries(stage.kafka.bootstrap, TARGET)
        handled = max(handled, records)
    calm = database.execute(CALM, (first_kill,)).fetchone()
    lost = broken.pop("no unpaid order is left open", 0)
    if lost:
        broken.pop("each order that is not paid is closed once its deadline has passed, not before")
    if broken:
        raise RuntimeError(f"{way.name}: {broken}")
    return {"way": way.name, "late p50": seconds(calm[0]), "late p99": seconds(calm[1]),
            "p99 with kills": seconds(counted["late_p99"]), "lost": str(lost), "repeated": str(handled - distinct),
            "timeouts of paid orders": str(counted["paid"] - counted["cancelled"]),
            "statements per order": f"{calls / options.orders:.1f}",
            "database ms per order": f"{busy_ms / options.orders:.2f}",
            "statements/s at rest": f"{at_rest:.0f}", "lines": str(lines_of_code(way.files))}


def table(rows: list[dict[str, str]]) -> str:
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    lines = ["| " + " | ".join(key.ljust(width) for key, width in widths.items()) + " |",
             "|" + "|".join("-" * (width + 2) for width in widths.values()) + "|"]
    lines += ["| " + " | ".join(row[key].ljust(width) for key, width in widths.items()) + " |" for row in rows]
    return "\n".join(lines)


def settings(options: argparse.Namespace) -> str:
    return (f"{options.orders} orders within {options.seconds:g} seconds, with a deadline after {options.timeout:g} seconds"
            f" in place of 15 minutes\n(`--orders {options.orders} --seconds {options.seconds:g}"
            f" --timeout {options.timeout:g}`).\nThe kills are about {apart_s(options):.1f} seconds apart. A way that is down for longer is"
            " killed again at its first timeout,\nso its outages add up.")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev example compare", description=__doc__)
    parser.add_argument("way", nargs="*", help=", ".join(WAYS) + " (all, if none is given)")
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=12, help="the time within which they are created")
    parser.add_argument("--timeout", type=float, default=6, help="seconds that stand for the 15 minutes")
    parser.add_argument("--update", action="store_true", help="write the table into compare/RESULTS.md")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "delaybridge")
    parser.add_argument("--jdbc", type=Path, required=True, help="the folder of PostgreSQL's JDBC driver")
    options = parser.parse_args()
    if unknown := [name for name in options.way if name not in WAYS]:
        parser.error(f"no way {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder, rows = Path(tempfile.mkdtemp(prefix="order-timeout.")), []
    postgres = Postgres(("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=top"))
    try:
        with postgres.connect(postgres.url("postgres")) as server:
            server.execute("create role timeouts superuser login")
            server.execute("create role postgres superuser login")
        for name in options.way or WAYS:
            print(f"{WAYS[name].name} ...", flush=True)
            rows.append(run(WAYS[name], options, folder / name, postgres))
    finally:
        postgres.stop()
        if rows:
            print(f"\n{settings(options)}\n\n{table(rows)}")
    shutil.rmtree(folder)
    if options.update:
        text = RESULTS.read_text()
        RESULTS.write_text(text[:text.index(HEADING)] + HEADING + f"\n{settings(options)}\n\n{table(rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
