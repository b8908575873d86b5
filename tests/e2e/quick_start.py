# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of the documents literally, except for addresses. README's quick start comes first. The commands and
programs of the other pages follow, on the same broker and bridge (tests/blocks.py lists the pages)."""
from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import Producer

from client import now_ms
from languages import HOSTS, SENDING, with_client
from processes import ROOT, Bridge, reserve_ports
from retry_examples import play_retries
from stage import Skip, Stage, require

sys.path.insert(0, str(ROOT / "tests"))
from blocks import RUN, Block, blocks  # noqa: E402  pylint: disable=wrong-import-position

QUICK_START = "Quick start"
# The exit codes of commands that do not end with 0.
ENDS = {"delaybridge topics plan": 78}
DELIVERY_S = 30
NOTHING = "nothing to do"
HELPERS = "deploy/clients/README.md"
# The records that a program of HELPERS writes: key, value and headers.
SCHEDULED = ['order-17 {"order": 17} dlb-delay=15m,dlb-target=orders.timeout', "order-17  dlb-op=cancel"]
ORDERS = "create table orders (id text primary key, state text)"


def edited(printed: str, keys: list[str]) -> str:
    """Returns the printed configuration with the keys of the page."""
    names = {line.split(":")[0] for line in keys if not line.startswith(" ")}
    kept, skipping = [], False
    for line in printed.splitlines():
        if line and not line.startswith((" ", "#")):
            skipping = line.split(":")[0] in names
        if not skipping or line.startswith("#"):
            kept.append(line)
    return "\n".join(kept + keys) + "\n"


class Orders:
    """The orders of a program of the pages."""

    def __init__(self, folder: Path):
        self.db = sqlite3.connect(folder / "shop.db", isolation_level=None, timeout=10)
        self.db.execute(ORDERS)

    def set(self, order: str, state: str) -> None:
        self.db.execute("insert or replace into orders values (?, ?)", (order, state))

    def get(self, order: str) -> str | None:
        row = self.db.execute("select state from orders where id = ?", (order,)).fetchone()
        return row[0] if row else None

    def close(self) -> None:
        self.db.close()


class Reader:
    """A person with a shell who follows the pages."""

    def __init__(self, stage: Stage):
        tools = subprocess.run([ROOT / "tests" / "kafka" / "kafka", "tools"], capture_output=True, text=True, check=False)
        require(tools.returncode == 0, tools.stderr)
        self.stage, self.folder = stage, stage.folder / "quick"
        self.folder.mkdir()
        (self.folder / "delaybridge").symlink_to(stage.binary)
        (self.folder / "configs").symlink_to(ROOT / "configs")
        self.listen = f"127.0.0.1:{reserve_ports()}"
        self.env = {**os.environ, "PATH": f"{self.folder}:{tools.stdout.strip()}:{os.environ['PATH']}",
                    "DELAYBRIDGE_LISTEN": self.listen}
        self.commands = self.programs = 0

    def local(self, text: str) -> str:
        return text.replace("localhost:9092", self.stage.kafka.bootstrap).replace("127.0.0.1:9404", self.listen)

    def shell(self, line: str, wanted: int = 0) -> str:
        done = subprocess.run(["bash", "-c", self.local(line)], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL, check=False)
        require(done.returncode == wanted,
                f"{line}: the command ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        require("warning: cannot" not in done.stderr, f"{line}: {done.stderr}")
        self.commands += 1
        return done.stdout

    def configure(self, block: Block) -> None:
        path = self.folder / "delaybridge.yaml"
        path.write_text(self.local(edited(path.read_text(), block.text.splitlines())))

    def start(self) -> None:
        """Runs the bridge in a first terminal and waits until it has its lanes."""
        self.bridge = Bridge(self.stage.binary, self.folder / "delaybridge.yaml", "quick", self.env).start()
        require(self.stage.admin.wait_members(self.stage.group, 1), "run does not join its group")
        time.sleep(1)

    def quick_start(self) -> None:
        last = ""
        for block in (block for block in blocks("README.md") if block.section == QUICK_START):
            if block.language == "yaml":
                self.configure(block)
            for line in block.lines if block.language == "sh" else ():
                if line == "delaybridge run":
                    self.start()
                else:
                    last = self.shell(line, ENDS.get(line, 0))
                if line.startswith("delaybridge topics apply"):
                    self.apply_again(line, last)
        require("order-17" in last and '{"order": 17}' in last and "dlb-source" in last, f"no delivery came:\n{last}")

    def apply_again(self, line: str, first: str) -> None:
        """Requires that only the second 'topics apply' has nothing to do: the first one creates topics."""
        require("created" in first and NOTHING not in first, f"apply, which creates topics, says:\n{first}")
        second = self.shell(line)
        require(second == f"{NOTHING}\n", f"apply, which changes nothing, says:\n{second}")

    def run(self, page: str, block: Block) -> None:
        if block.mark or (page == "README.md" and block.section == QUICK_START):
            return
        if block.language == "sh":
            for line in block.lines if "() {" not in block.text else [block.text]:
                self.shell(line)
        elif block.language == "python":
            self.program(block)

    def program(self, block: Block) -> None:
        folder = self.folder / f"{Path(block.page).stem}-{block.line}"
        folder.mkdir()
        (folder / "program.py").write_text(self.local(block.text).replace('"order-timeouts"', f'"{folder.name}"'))
        play = self.consume if "Consumer(" in block.text else self.cancel if "dlb-op" in block.text else self.produce
        play([sys.executable, "program.py"], folder)
        self.programs += 1

    def produce(self, command: list[str], folder: Path) -> None:
        """Runs a program that sends one request, which then waits in the level of 10 minutes."""
        before = self.waiting()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        require(done.returncode == 0, f"{folder.name}: {done.stdout}{done.stderr}")
        deadline = time.monotonic() + 20
        while self.waiting() <= before:
            require(time.monotonic() < deadline, f"{folder.name}: its request does not wait in the level 10m")
            time.sleep(0.2)

    def cancel(self, command: list[str], folder: Path) -> None:
        """Runs a program that cancels all requests of order-17, and replaces those of order-18."""
        for order in ("order-17", "order-18"):
            self.shell(f"delaybridge send --delay 15m --key {order} --value old")
        deadline = time.monotonic() + 20
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        require(done.returncode == 0, f"{folder.name}: {done.stdout}{done.stderr}")
        while self.waiting() > 0 or '"old"' in self.found("order-18", "waiting"):
            require(time.monotonic() < deadline, f"{folder.name}: a request is not cancelled")
            time.sleep(0.2)
        require('order\\": 18' in self.found("order-18", "waiting"), f"{folder.name}: the new request does not wait")

    def schedule_and_cancel(self, command: list[str], folder: Path) -> None:
        """Runs a program that sends a request with a helper and cancels it."""
        before = self.written()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        require(done.returncode == 0, f"{folder.name}: {done.stdout}{done.stderr}")
        new = self.written()[len(before):]
        require(new == SCHEDULED, f"{folder.name}: it wrote {new}")
        deadline = time.monotonic() + 20
        while self.waiting() > 0:
            require(time.monotonic() < deadline, f"{folder.name}: its request is not cancelled")
            time.sleep(0.2)

    def written(self) -> list[str]:
        """Returns the records of order-17 in the schedule topic."""
        lines = self.shell("kcat -C -q -b localhost:9092 -t schedule -e -f '%k %s %h\\n'").splitlines()
        return [line for line in lines if line.startswith("order-17 ")]

    def waiting(self) -> int:
        return self.found("order-17", "waiting").count("\n")

    def found(self, order: str, state: str) -> str:
        """Returns the lines of find for the requests of an order that are in this state."""
        done = subprocess.run([self.stage.binary, "find", "--key", order, "--limit", "1000", "-o", "json",
                               "-c", self.folder / "delaybridge.yaml"], capture_output=True, text=True, check=False)
        return "".join(f"{line}\n" for line in done.stdout.splitlines() if json.loads(line)["state"] == state)

    def consume(self, command: list[str], folder: Path) -> None:
        """Runs a consumer. It closes the unpaid order of the delivery, and neither a paid one nor one of a duplicate."""
        state = Orders(folder)
        state.set("order-17", "UNPAID")
        state.set("order-18", "PAID")
        log = (folder / "log").open("w")
        consumer = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            self.await_state(folder, state, "order-17", "CLOSED")
            state.set("order-17", "UNPAID")
            self.deliver_again()
            self.await_state(folder, state, "order-19", "CLOSED")  # it comes last
            require(state.get("order-17") == "UNPAID", f"{folder.name}: a duplicate closed an order")
            require(state.get("order-18") == "PAID", f"{folder.name}: a paid order was closed")
        finally:
            consumer.kill()
            consumer.wait(10)
            state.close()

    @staticmethod
    def await_state(folder: Path, state: Orders, order: str, wanted: str) -> None:
        if state.get(order) is None:
            state.set(order, "UNPAID")
        deadline = time.monotonic() + DELIVERY_S
        while state.get(order) != wanted:
            require(time.monotonic() < deadline,
                    f"{folder.name}: {order} is {state.get(order)}, not {wanted}:\n{(folder / 'log').read_text()}")
            time.sleep(0.1)

    def deliver_again(self) -> None:
        """Copies all deliveries of order-17, and adds those of a paid order and of a last one. All go to one partition."""
        client = Producer({"bootstrap.servers": self.stage.kafka.bootstrap})
        copy = self.shell("kcat -C -q -b localhost:9092 -t orders.timeout -e -f '%k %h\\n'")
        source = re.search(r"order-17 .*?dlb-source=([^,\s]+)", copy)
        require(source, f"no delivery of order-17:\n{copy}")
        for key, place in (("order-17", source[1]), ("order-18", f"schedule/0/{now_ms()}"),
                           ("order-19", f"schedule/1/{now_ms()}")):
            client.produce("orders.timeout", partition=0, key=key, value="{}",
                           headers=[("dlb-due", str(now_ms())), ("dlb-source", place)])
        client.flush(10)


def quick_start(stage: Stage) -> str:
    """README's quick start, line by line, on a separate broker; then the commands and Python programs of all pages."""
    stage.broker()
    reader = Reader(stage)
    reader.quick_start()
    for page in RUN:
        for block in blocks(page):
            reader.run(page, block)
    host = HOSTS["c"]
    reader.produce(*host.prepared(only("docs/producing.md", "c"), reader.folder / "c", reader.local))
    return f"{reader.commands} commands and {reader.programs + 1} programs run, and the deliveries came"


def only(page: str, language: str) -> Block:
    found = [block for block in blocks(page) if block.language == language]
    require(len(found) == 1, f"{page}: not one block of {language}")
    return found[0]


def guides(stage: Stage) -> str:
    """README's quick start, then the programs of the pages in Java, Go and Node.js, compiled and run."""
    missing = [host.tool for host in HOSTS.values() if not shutil.which(host.tool)]
    if missing:
        raise Skip(f"no {', '.join(missing)}: install openjdk-17-jdk-headless, golang, nodejs and npm")
    stage.broker()
    reader = Reader(stage)
    reader.quick_start()
    for language, host in HOSTS.items():
        reader.produce(*host.prepared(only("docs/producing.md", language), reader.folder / language, reader.local))
    reader.consume(*HOSTS["java"].prepared(only("docs/consuming.md", "java"), reader.folder / "java-consumer", reader.local))
    reader.cancel(*HOSTS["java"].prepared(only("docs/cancelling.md", "java"), reader.folder / "java-cancel", reader.local))
    for language in SENDING:
        program = with_client(only("docs/producing.md", language), only(HELPERS, language))
        reader.schedule_and_cancel(*HOSTS[language].prepared(program, reader.folder / f"{language}-helper", reader.local))
    return f"programs in {', '.join(HOSTS)} compiled and run, and {play_retries(reader)} consumers that retry"


SCENARIOS = {"quick_start": quick_start, "guides": guides}
