#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shop on a real Kafka and a real PostgreSQL, kills its programs, and checks the orders at the end."""
from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import psycopg

import check
from customers import Customers
from debezium import Cleaner, add_debezium
from servers import ROOT, Kafka, Postgres
from shop import HERE, SCHEDULE, TARGET, Shop, fill, shop_env
from view import View, seconds

MODES = ("at-least-once", "exactly-once")
JVM_TIMEOUT_S = 20  # Java takes some seconds to start. Cancels wait for the relay
DOWN_S = 1.0        # between a kill and the restart
PATIENCE_S = 40     # after the last deadline, for timeouts that were late because of a kill


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=MODES, action="append", help="a delivery mode (both, if not given)")
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=15, help="the time within which they are created")
    parser.add_argument("--timeout", type=float, default=9, help="seconds that stand for the 15 minutes")
    parser.add_argument("--short", action="store_true", help="300 orders within 5 s, closed after 4 s")
    parser.add_argument("--language", choices=("python", "java"), default="python")
    parser.add_argument("--consumer", type=Path, metavar="BINARY", help="this consumer in place of the one in Python")
    parser.add_argument("--debezium", type=Path, metavar="JARS", help="Debezium of this folder in place of the relay")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="plant this fault, which the check must find")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "delaybridge")
    parser.add_argument("--in", dest="folder", type=Path, help="the folder for logs and topics")
    options = parser.parse_args()
    if options.short:
        options.orders, options.seconds, options.timeout = 300, 5, 4
    if options.debezium or options.language == "java":
        options.timeout = max(options.timeout, JVM_TIMEOUT_S)
    return options


@dataclass(frozen=True)
class Fault:
    file: str
    right: str
    wrong: str


# Changes to the Python programs. Each breaks a rule that `./dev e2e order_timeout_fault` names. The last digit of an
# order decides about its payment: see Customers.create, which counts from 0.
FAULTS = {
    "unconditional": Fault("orders.py", """where id = %s and state = 'UNPAID' returning""", "where id = %s returning"),
    "forgotten": Fault("consumer.py", "if new:", "if new and order % 50:"),
    "stock-kept": Fault("orders.py", "available + %s", "available + 0 * %s"),
    "cancels-dropped": Fault("relay.py", 'PRODUCER.produce("schedule",',
                             'if header[0] == "schedule" or int(key[6:]) % 50 != 3: PRODUCER.produce("schedule",'),
    "cancels-late": Fault("relay.py", " order by id limit", " where op = 'schedule' or random() < 0.005 order by id limit"),
    "cancels-misnamed": Fault("relay.py", '[("dlb-op", "cancel")]', '[("dlb-op", "cancel"), ("dlb-id", "timeout")]'),
    "requests-dropped": Fault("relay.py", 'PRODUCER.produce("schedule",',
                              'if header[0] == "cancel" or int(key[6:]) % 50 != 8: PRODUCER.produce("schedule",'),
    "uncancelled": Fault("orders.py", "(key, op) values (%s, 'cancel')", "(key, op) select %s, 'cancel' where false"),
}


def sources(folder: Path, fault: str | None) -> Path:
    """Returns the folder of the Python programs, with the fault planted in a copy."""
    if fault is None:
        return HERE / "python"
    copy, planted = folder / "python", FAULTS[fault]
    shutil.copytree(HERE / "python", copy)
    text = (copy / planted.file).read_text()
    if planted.right not in text:
        raise SystemExit(f"fault {fault}: {planted.file} has changed")
    (copy / planted.file).write_text(text.replace(planted.right, planted.wrong))
    return copy


def kill_in_turn(shop: Shop, view: View, options: argparse.Namespace) -> dict[str, tuple[datetime, datetime]]:
    """Kills relay, bridge and consumer, each at a moment when it has work, and starts each again. Returns the times of
    the kill and of the start."""
    first, last = options.timeout, options.seconds  # deadlines begin, creations end
    busy = [(0.5 * first, "relay"), (first + 0.2 * last, "bridge"), (first + 0.6 * last, "consumer")]
    start, outages = time.monotonic(), {}
    for at, name in busy:
        program = shop.programs[name]
        time.sleep(max(0.0, start + at - time.monotonic()))
        killed = datetime.now(timezone.utc)
        program.kill()
        view.event(f"kill -9 of the {name}")
        time.sleep(DOWN_S)
        outages[name] = (killed, datetime.now(timezone.utc))
        program.start()
        view.event(f"{name} started again")
    return outages


def await_end(database: str, shop: Shop) -> None:
    """Waits until no order is unpaid, the timeout of each closed order came, and nothing more is handled. Or until the
    patience ends. The check judges."""
    end, before = time.monotonic() + PATIENCE_S, -1
    with psycopg.connect(database, autocommit=True) as connection:
        while time.monotonic() < end:
            expected, handled = connection.execute(
                "select count(*) filter (where state <> 'PAID' and id not in (select order_id from done)"
                " or state = 'UNPAID'), (select count(*) from done) from orders").fetchone()
            if expected == 0 and handled == before:
                return
            before = handled
            shop.check_alive()
            time.sleep(1)


def run(options: argparse.Namespace, mode: str, folder: Path, postgres: Postgres) -> list[str]:
    """Returns the broken rules."""
    print(f"\n== {mode}: {options.orders} orders within {options.seconds:g} s, each closed {options.timeout:g} s after its"
          f" creation unless it is paid ({options.timeout:g} s stand for 15 minutes)", flush=True)
    folder.mkdir(parents=True)
    kafka = Kafka(folder / "kafka")
    shop = cleaner = customers = None
    try:
        url = postgres.create("shop_" + mode.replace("-", "_"), HERE / "schema.sql")
        with postgres.connect(url) as database:
            fill(database)
            shop = Shop(folder, options.binary, sources(folder, options.fault) if options.language == "python" else None)
            shop.add_bridge(kafka, mode)
            env = shop_env(url, options.timeout, kafka)
            if options.consumer:
                shop.add("consumer", [str(options.consumer)], env)
            else:
                shop.add_program("consumer", env)
            if options.debezium:
                add_debezium(shop, kafka, url, options.debezium)
                cleaner = Cleaner(url)
            else:
                shop.add_program("relay", env)
            port = shop.add_service(url, options.timeout)
            customers = Customers([(port, options.timeout)], options.orders, options.seconds, options.seed)
            with View(url, shop.metrics_port) as view:
                crowd = threading.Thread(target=customers.run)
                crowd.start()
                outages = kill_in_turn(shop, view, options)  # here, since programs end with the thread that started them
                crowd.join()
                await_end(url, shop)
            if cleaner:
                cleaner.stop()
            check.keep_receipts(database, customers.receipts)
            check.keep_cancels(database, kafka.bootstrap, SCHEDULE, outages["relay"])
            return verdict(database, kafka, customers, mode)
    finally:
        if customers:
            customers.leave()
        if shop:
            shop.stop()
        kafka.drop()


def verdict(database, kafka: Kafka, customers: Customers, mode: str) -> list[str]:
    print()
    broken = check.wrong_rows(database, "check.sql") + check.wrong_rows(database, "cancels.sql")
    counted = check.figures(database)
    records, copies = check.deliveries(kafka.bootstrap, TARGET)
    rules = {"the shop answers its customers": not customers.faults}
    if mode == "exactly-once":
        rules["no delivery comes twice"] = copies == 0
    for rule, kept in rules.items():
        print(f"{'ok' if kept else 'FAILED':7} {rule}")
    print("\n".join(customers.faults[:10]), end="")
    broken += [rule for rule, kept in rules.items() if not kept]
    print(f"\n{counted['orders']} orders: {counted['paid']} paid, {counted['closed']} closed, "
          f"{customers.refused} payments refused since their order was closed")
    print(f"cancelled: {counted['cancelled']} of {counted['paid']} paid orders; paid 2 s before the deadline or earlier: "
          f"{counted['paid_in_time']}")
    print(f"deliveries: {records}, of these {copies} repeated after a kill; lateness p50 {seconds(counted['late_p50'])}, "
          f"p99 {seconds(counted['late_p99'])}, with the kills")
    return broken


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="order-timeout."))
    postgres, broken = Postgres(), []
    try:
        for mode in options.mode or MODES:
            broken += [f"{mode}: {rule}" for rule in run(options, mode, folder / mode, postgres)]
    except KeyboardInterrupt:
        return 130
    except RuntimeError as error:
        print(f"example: {error}\nlogs are in {folder}", file=sys.stderr)
        return 70
    finally:
        postgres.stop()
    if broken:
        print("\nexample: FAILED\n  " + "\n  ".join(broken) + f"\nlogs are in {folder}")
        return 1
    if not options.folder:
        shutil.rmtree(folder)
    print("\nexample: all checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
