# SPDX-License-Identifier: Apache-2.0
"""The commands that concern cancels, as an operator uses them. Thousands of lines are cancelled, with answers. Cancels are
written to each partition. find, check --sample and redrive know cancels, and tombstones cancel."""
from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from confluent_kafka import Producer

from client import now_ms
from contract import partition_of
from found import instant
from schemas import faults_of_command
from stage import LANES, Stage, both_modes, require, require_prompt, until

COUNT = 3000      # lines: several batches
LONG = "2h"       # the requests wait while the commands run
PROMPT_S = 20     # with two shared cores
PATIENCE = ("--timeout", "30s")  # a busy machine's broker may need more than the default


class Commands:
    def __init__(self, stage: Stage, config: Path):
        self.stage, self.config = stage, config

    def run(self, *args: str, lines: list[dict] | None = None, code: int = 0) -> list[dict]:
        """Returns the lines of the output, which follow the schema."""
        done = subprocess.run([str(self.stage.binary), *args, "-c", str(self.config), "-o", "json", *PATIENCE], text=True, check=False,
                              input="".join(json.dumps(line) + "\n" for line in lines or ()), capture_output=True, timeout=120)
        require(done.returncode == code, f"{args} ended with {done.returncode}: {done.stdout[-400:]}{done.stderr[-800:]}")
        faults = faults_of_command(args[:2] + ("-o", "json"), done.stdout, done.stderr)
        require(not faults, f"{args} breaks the schema: {faults[:3]}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def find(self, *args: str) -> list[dict]:
        return self.run("find", *args)

    def state(self, *args: str) -> str:
        return self.find(*args)[0]["state"]


def key_of(n: int) -> str:
    return f"order-{n}"


def unanswered_without_a_bridge(commands: Commands) -> None:
    """Cancels are stored without a process, and each is reported as unanswered. The command waits once, not for each batch."""
    start = time.monotonic()
    answers = commands.run("cancel", "--wait", "2s", lines=[{"key": key_of(n)} for n in range(COUNT)], code=75)
    took = time.monotonic() - start
    require(len(answers) == COUNT and {answer["state"] for answer in answers} == {"unanswered"}, f"{answers[:2]}")
    require_prompt(took < PROMPT_S, f"{COUNT} unanswered cancels took {took:.0f} s")


def answered(commands: Commands, before: int) -> str:
    """Each line has one answer, in the order of the lines, in the partition of its key."""
    commands.run("send", lines=[{"key": key_of(n), "delay": LONG, "value": "v"} for n in range(COUNT)])
    start = time.monotonic()
    answers = commands.run("cancel", "--wait", "20s", lines=[{"key": key_of(n)} for n in range(COUNT)])
    took = time.monotonic() - start
    require([answer["line"] for answer in answers] == list(range(1, COUNT + 1)), "not one answer for each line, in order")
    for n, answer in enumerate(answers):
        require(answer["state"] == "in_force" and instant(before) <= answer["in_force"] <= instant(now_ms()), f"{answer}")
        require(answer["partition"] == partition_of(key_of(n).encode(), LANES), f"{key_of(n)} is not in its partition: {answer}")
    require_prompt(took < PROMPT_S, f"{COUNT} answers took {took:.0f} s")
    return f"{COUNT} answers in {took:.1f} s"


def shown_in_top(commands: Commands, address: str) -> None:
    """top has the cancels in force, and a pause as soon as the process knows of it."""
    commands.run("pause", "e2e.b", "--for", "1h")
    until("the commands show it", lambda: commands.run("top", address, "--once")[0]["pauses"] == 1)
    row = commands.run("top", address, "--once")[0]
    require(row["cancels"] >= COUNT, f"top: {row}")
    text = commands.stage.run("top", address, "--once", "-c", str(commands.config)).stdout
    require(f"  cancels {row['cancels']:,}  " in text and "PAUSED by 1 " in text, f"top: {text}")
    commands.run("resume", "e2e.b")


def refused_before_it_is_sent(commands: Commands) -> None:
    """Lines before a bad one are sent and answered. A bad line is quoted and not sent."""
    answers = commands.run("cancel", "--wait", "20s", lines=[{"key": "a"}, {"id": "b"}, {"key": "c"}], code=65)
    require([answer["state"] for answer in answers] == ["in_force"], f"{answers}")
    for bad in ({"key": "a", "delay": "5m"}, {"key": ""}, {"key": "k" * 129}, {"key": "a", "id": "i" * 129}):
        require(commands.run("cancel", lines=[bad], code=65) == [], f"{bad} is sent")
    require(commands.run("replace", "--key", "a", "--value", "v", code=65) == [], "a replace without a time is sent")


def found_as_cancelled(commands: Commands) -> None:
    """find reports a cancelled request while it still waits, with the cancel, in each way to ask."""
    sent = commands.run("send", "--key", "named", "--id", "n1", "--delay", LONG, "--value", "v")[0]
    source = f"schedule/{sent['partition']}/{sent['offset']}"
    ways = (("--key", "named"), ("--id", "n1"), ("--key", "named", "--id", "n1"), ("--source", source))
    until("the commands show it", lambda: commands.state("--id", "n1") == "waiting")
    commands.run("cancel", "--key", "named", "--wait", "20s")  # by key: another name
    require({commands.state(*way) for way in ways} == {"waiting"}, "a cancel by key voids a request with an id")
    answer = commands.run("cancel", "--key", "named", "--id", "n1", "--wait", "20s")[0]
    for way in ways:
        found = commands.find(*way)[0]
        cancel = found["cancel"] or {}
        require(found["state"] == "cancelled" and found["source"]["offset"] == sent["offset"] and found["record"]
                and cancel["offset"] == answer["offset"] and cancel["in_force"] == answer["in_force"]
                and cancel["op"] == "cancel", f"{way}: {found}")
    # A replaced request is cancelled, and the new one waits.
    first = commands.run("send", "--key", "again", "--delay", LONG, "--value", "old")[0]
    until("the commands show it", lambda: commands.find("--key", "again")[0]["level"] is not None)
    second = commands.run("replace", "--key", "again", "--delay", LONG, "--value", "new", "--wait", "20s")[0]
    require(second["state"] == "in_force", f"{second}")
    until("the commands show it", lambda: commands.state("--source", f"schedule/{second['partition']}/{second['offset']}") == "waiting")
    both = {found["source"]["offset"]: found for found in commands.find("--key", "again")}
    require(both[first["offset"]]["state"] == "cancelled" and both[first["offset"]]["cancel"]["op"] == "replace"
            and both[second["offset"]]["state"] == "waiting" and both[second["offset"]]["record"]["value"] == "new", f"{both}")


def dropped_is_found(commands: Commands) -> None:
    """After a cancelled request was dropped, find has its cancel."""
    commands.run("send", "--key", "short", "--delay", "4s", "--value", "v")
    answer = commands.run("cancel", "--key", "short", "--wait", "20s")[0]
    until("the commands show it", lambda: commands.find("--key", "short")[0]["record"] is None)
    found = commands.find("--key", "short")[0]
    require(found["state"] == "cancelled" and found["cancel"]["offset"] == answer["offset"] and found["topic"] is None, f"{found}")
    require(commands.run("find", "--key", "order-without-request", code=1)[0]["state"] == "not_found", "an unknown key is found")


def in_all_lanes(stage: Stage, commands: Commands) -> None:
    """A request whose producer uses another partitioner is met by --all-lanes alone, and check --sample finds it."""
    require(not [f for f in commands.run("check", "--sample")[0]["findings"] if "in the sample" in f["sentence"]],
            "check --sample has findings without a reason")
    right = partition_of(b"misplaced", LANES)
    wrong = (right + 1) % LANES
    places = []
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0})
    producer.produce("schedule", b"v", b"misplaced", partition=wrong, headers=[("dlb-delay", LONG.encode())],
                     on_delivery=lambda _, message: places.append(message.offset()))
    producer.flush(20)
    source = ("--source", f"schedule/{wrong}/{places[0]}")
    until("the commands show it", lambda: commands.state(*source) == "waiting")
    commands.run("cancel", "--key", "misplaced", "--wait", "20s")
    require(commands.state(*source) == "waiting", "a cancel in another lane voids a request")
    found = commands.find("--key", "misplaced")
    require([one["state"] for one in found] == ["waiting"] and found[0]["source"]["partition"] == wrong
            and any(f"in lane {wrong}" in note and "check --sample" in note for note in found[0]["notes"]),
            f"find --key of a request in another lane than that of murmur2: {found}")
    answers = commands.run("cancel", "--key", "misplaced", "--all-lanes", "--wait", "20s")
    require([answer["partition"] for answer in answers] == list(range(LANES)), f"not one cancel for each partition: {answers}")
    require({answer["state"] for answer in answers} == {"in_force"}, f"{answers}")
    require(commands.state(*source) == "cancelled", "cancel --all-lanes does not reach a request in another lane")
    findings = [f["sentence"] for f in commands.run("check", "--sample")[0]["findings"] if "in the sample" in f["sentence"]]
    require(len(findings) == 1 and '"misplaced"' in findings[0] and "murmur2_random" in findings[0]
            and f"in partition {right}." in findings[0], f"check --sample: {findings}")
    producer.produce("schedule", b"", None, partition=0, headers=[("dlb-op", b"cancel"), ("dlb-id", b"x")])
    producer.flush(20)
    findings = [f for f in commands.run("check", "--sample", code=78)[0]["findings"] if f["kind"] == "fault"]
    require(len(findings) == 1 and "without a record key" in findings[0]["sentence"], f"check --sample: {findings}")


def found_in_another_lane(stage: Stage, commands: Commands) -> None:
    """A request in another lane than that of its key is found by its key, and no cancel that misses it is reported. The
    schedule topic no longer has the two. An unknown key is searched in all lanes."""
    wrong = (partition_of(b"astray", LANES) + 1) % LANES
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0})
    producer.produce("schedule", b"v", b"astray", partition=wrong, headers=[("dlb-delay", LONG.encode())])
    producer.flush(20)
    commands.run("cancel", "--key", "astray", "--wait", "20s")
    until("the commands show it", lambda: commands.find("--key", "astray")[0]["level"] is not None)
    stage.admin.delete_up_to_end(stage.schedule)
    found = commands.find("--key", "astray")
    require([one["state"] for one in found] == ["waiting"] and found[0]["source"]["partition"] == wrong
            and [note for note in found[0]["notes"] if f"in lane {wrong}" in note and "check --sample" in note]
            == found[0]["notes"], f"find --key of a request in another lane than that of murmur2: {found}")
    found = commands.run("find", "--key", "order-without-request", "--due", "2026-01-01T00:00:00Z", code=1)
    require(found[0]["searched"][0]["partitions"] == LANES and len(set(found[0]["notes"])) == len(found[0]["notes"]), f"{found}")


def by_tombstone(stage: Stage, commands: Commands) -> None:
    """With cancel_on_tombstone a null value without a time cancels by key; with a time it is a request."""
    commands.run("send", "--key", "tomb", "--delay", LONG, "--value", "v")
    until("the commands show it", lambda: commands.state("--key", "tomb") == "waiting")
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0, "partitioner": "murmur2_random"})
    producer.produce("schedule", None, b"tomb")
    producer.produce("schedule", None, b"kept", headers=[("dlb-delay", LONG.encode())])
    producer.flush(20)
    until("the commands show it", lambda: commands.state("--key", "tomb") == "cancelled")
    until("the commands show it", lambda: commands.find("--key", "kept")[0]["record"]["value"] is None)


def redriven_replace(stage: Stage, commands: Commands) -> None:
    """A replace that was denied voids, and redrive --with-cancels sends it again once it is allowed."""
    first = commands.run("send", "--key", "denied", "--delay", LONG, "--value", "old")[0]
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0, "partitioner": "murmur2_random"})
    producer.produce("schedule", b"new", b"denied", headers=[("dlb-op", b"replace"), ("dlb-target", b"other.topic"),
                                                             ("dlb-delay", LONG.encode())])
    producer.flush(20)
    until("the replace is dead-lettered", lambda: b"target_denied" in [
        seen.header("dlb-error") for seen in stage.collector.of("schedule.dead-letter")])
    source = f"schedule/{first['partition']}/{first['offset']}"
    until("the commands show it", lambda: commands.state("--source", source) == "cancelled")
    widened = Commands(stage, stage.config("widened.yaml", targets=["e2e.*", "other.*"], cancel_on_tombstone=True))
    skipped = widened.run("redrive", "--restart-delay", "--dry-run", "--code", "target_denied")
    require(skipped[-1]["sent"] == 0, f"a replace is sent without --with-cancels: {skipped}")
    sent = widened.run("redrive", "--restart-delay", "--with-cancels", "--code", "target_denied")[-1]
    require(sent["sent"] == 1, f"redrive --with-cancels: {sent}")


def cancel_commands(stage: Stage) -> str:
    """An operator cancels thousands of requests and reads the answers. find, check and redrive know cancels."""
    before = now_ms()
    stage.broker()
    address = f"127.0.0.1:{stage.spare_port}"
    commands = Commands(stage, stage.ready(cancel_on_tombstone=True, listen=address))
    unanswered_without_a_bridge(commands)
    stage.bridge(commands.config)
    line = answered(commands, before)
    shown_in_top(commands, address)
    refused_before_it_is_sent(commands)
    found_as_cancelled(commands)
    dropped_is_found(commands)
    in_all_lanes(stage, commands)
    by_tombstone(stage, commands)
    found_in_another_lane(stage, commands)
    redriven_replace(stage, commands)
    return line


SCENARIOS = both_modes(cancel_commands)
