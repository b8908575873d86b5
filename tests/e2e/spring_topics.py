# SPDX-License-Identifier: Apache-2.0
"""The steps of docs/migrating/spring.md: an application with @RetryableTopic fails, ends, and its waiting records are copied."""
from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import OffsetSpec

from contract import Request, Seen
from processes import ROOT
from retry_examples import SPRING_PROPERTIES, prepare_spring
from stage import Skip, Stage, require

sys.path.insert(0, str(ROOT / "tests"))
from blocks import blocks  # noqa: E402  pylint: disable=wrong-import-position

PAGE = "docs/migrating/spring.md"
WAITING = "payments-retry-20000"
APPLICATION = """package shop;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.kafka.annotation.*;

@SpringBootApplication
public class Program {
    @RetryableTopic(attempts = "4", backOff = @BackOff(delay = 500, multiplier = 40, maxDelay = 20000))
    @KafkaListener(topics = "payments", groupId = "billing")
    public void handle(ConsumerRecord<String, String> message) {
        throw new IllegalStateException("declined");
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Program.class, arguments);
    }
}
"""
ORDERS, WAIT_S = 3, 60


def application(stage: Stage) -> tuple[list[str], Path]:
    """Returns the command of the application and its folder."""
    folder = stage.folder / "application"
    resources = folder / "src/main/resources"
    resources.mkdir(parents=True)
    (resources / "application.properties").write_text(SPRING_PROPERTIES.replace("localhost:9092", stage.kafka.bootstrap))
    return prepare_spring(folder, APPLICATION), folder


def fail_twice(stage: Stage, command: list[str], folder: Path) -> None:
    """Runs the application until all orders have failed twice and wait for their next attempt."""
    with open(folder / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    deadline = time.monotonic() + WAIT_S
    try:
        while written(stage, WAITING) < ORDERS:
            require(time.monotonic() < deadline, f"no record waits:\n{(folder / 'log').read_text()[-3000:]}")
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(30)


def written(stage: Stage, topic: str) -> int:
    places = [(topic, n) for n in range(stage.admin.topics().get(topic, 0))]
    try:
        return sum(stage.admin.offsets(places, OffsetSpec.latest()).values())
    except KafkaException:  # a new topic may have no leader yet
        return 0


def copy(stage: Stage) -> None:
    """Runs the program of the page."""
    program = stage.folder / "copy.py"
    block = next(block for block in blocks(PAGE) if block.language == "python")
    program.write_text(block.text.replace("localhost:9092", stage.kafka.bootstrap))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False)
    require(done.returncode == 0, f"{done.stdout}{done.stderr}")


def delivered(stage: Stage) -> list[Seen]:
    return [seen for seen in stage.collector.of("payments") if seen.header("dlb-source")]


def judge(seen: Seen, request: Request) -> None:
    """The record has come back as it was, when Spring wanted it, and its count continues."""
    due = int.from_bytes(seen.header("retry_topic-backoff-timestamp") or b"", "big")
    first = int.from_bytes(seen.header("retry_topic-original-timestamp") or b"", "big")
    facts = (seen.value, seen.header("own"), seen.header("dlb-attempt"), seen.header("dlb-due"), seen.header("dlb-first-at"),
             seen.header("dlb-origin"))
    wanted = (request.value, b"\xff", b"2", b"%d" % due, b"%d" % first, b"payments/%d/%d" % (request.partition, request.offset))
    require(facts == wanted, f"{facts}, not {wanted}")
    require(seen.timestamp_ms >= due, f"delivered {due - seen.timestamp_ms} ms before its time")


def spring_topics(stage: Stage) -> str:
    """Records that wait in the retry topics of a real application come back to their topic, each once, and are counted on."""
    if not shutil.which("mvn"):
        raise Skip("no mvn: install maven and openjdk-17-jdk-headless")
    config = stage.ready({"payments": 2}, compat=["spring"], targets=["payments"], default_target=None)
    requests = {b"order-%d" % n: Request(b"order-%d" % n, b"value", [("own", b"\xff")], "failed") for n in range(ORDERS)}
    for request in requests.values():
        stage.sender.send(request, "payments")
    stage.sender.flush()
    fail_twice(stage, *application(stage))
    stage.bridge(config)
    copy(stage)
    copies = written(stage, stage.schedule)
    require(copies == ORDERS, f"the program copied {copies} records, not {ORDERS}")
    deadline = time.monotonic() + WAIT_S
    while len(delivered(stage)) < ORDERS:
        require(time.monotonic() < deadline, f"{delivered(stage)}, {stage.collector.of('schedule.dead-letter')}")
        time.sleep(0.1)
    copy(stage)
    require(written(stage, stage.schedule) == copies, "the program copied a record twice")
    for seen in delivered(stage):
        judge(seen, requests.pop(seen.key))
    return f"{ORDERS} records of a Spring application came back as the second retry"


SCENARIOS = {"spring_topics": spring_topics}
ON_DEMAND = {"spring_topics"}
