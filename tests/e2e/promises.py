# SPDX-License-Identifier: Apache-2.0
"""Small promises of the contract. They concern the places of the configuration, the log's format, and the output of
commands. Others concern member ids, targets that are no longer allowed, and dead letters that hardly fit."""
from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import contract
from bad_input import says
from client import now_ms
from contract import Request, partition_of
from operating import Watch
from processes import Bridge, reserve_ports
from schemas import faults_of_command
from stage import LANES, Stage, judge, require, require_prompt, until, will_say

HEADERS_BYTES, LETTER_BYTES = 60_000, 20_000


def waits_for_kafka(stage: Stage) -> None:
    """Without a broker, run waits, logs this each 10 s and is not ready. Commands give up after --timeout."""
    port = reserve_ports()
    path = stage.config("nobody.yaml", listen=f"127.0.0.1:{port}")
    waiting = Bridge(stage.binary, path, "waiting").start()
    longest = 0.0
    for command in (("check",), ("levels",), ("topics", "plan"), ("send", "--delay", "1s", "--value", "v")):
        start = time.monotonic()
        says(stage, f"{command[0]} without a broker", stage.run(*command, "-c", str(path), "--timeout", "1s"), (69,))
        longest = max(longest, time.monotonic() - start)
    will_say(waiting, "waiting for Kafka", times=2)  # each 10 s
    require(Watch(port).get("/readyz")[0] == 503, "the bridge is ready without Kafka")
    require(waiting.stop() == 0, "SIGTERM does not end a bridge that waits for Kafka")
    require_prompt(longest < 5, f"a command gave up after {longest:.0f} s")


def configuration_is_found(stage: Stage, path: Path) -> None:
    """./delaybridge.yaml is read without -c. The log is logfmt on a terminal, and JSON elsewhere."""
    folder = stage.folder / "elsewhere"
    folder.mkdir()
    (folder / "delaybridge.yaml").write_text(path.read_text().replace('format: "json"', 'format: "auto"'))
    found = subprocess.run([str(stage.binary), "check"], cwd=folder, capture_output=True, text=True, check=False)
    require(found.returncode == 0, f"check does not find ./delaybridge.yaml: {found.stdout}{found.stderr}")
    for terminal in (True, False):
        ours, theirs = pty.openpty() if terminal else os.pipe()
        with subprocess.Popen([str(stage.binary), "run"], cwd=folder, stderr=theirs, stdout=theirs) as process:
            os.close(theirs)
            line = os.read(ours, 4096).decode().splitlines()[0]
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        os.close(ours)
        require(line.startswith("{") != terminal, f"{'a terminal' if terminal else 'a pipe'} shows {line!r}")


def send_lines(stage: Stage, path: Path, lines: str, *args: str) -> subprocess.CompletedProcess:
    done = subprocess.run([str(stage.binary), "send", "-c", str(path), *args], input=lines, text=True,
                          capture_output=True, check=False)
    require(not (found := faults_of_command(("send", *args), done.stdout, done.stderr)), f"the output breaks the schema: {found}")
    return done


def commands_write_and_show(stage: Stage, path: Path) -> None:
    """send uses the partition that producers use. peek decodes waiting records. JSON follows docs/schemas/."""
    keys = [f"order-{n}" for n in range(12)]
    lines = "".join(json.dumps({"delay": "20s", "key": key, "id": f"id-{key}", "value": "v", "target": "e2e.b"}) + "\n"
                    for key in keys[1:])
    sent = [stage.run("send", "-c", str(path), "-o", "json", "--delay", "20s", "--key", keys[0], "--value", "v",
                      "--target", "e2e.b", "--header", "a=b"),
            send_lines(stage, path, lines, "-o", "json")]
    answers = [json.loads(line) for done in sent for line in done.stdout.splitlines()]
    where = {keys[answer["line"] or 0]: answer["partition"] for answer in answers}
    require(where == {key: partition_of(key.encode(), LANES) for key in keys}, f"not the partitions of their keys: {where}")
    until("peek shows all records that wait", lambda: sorted(re.findall(r'^  key +"(.*)"$', (
        shown := stage.run("peek", "10s", "-c", str(path), "--limit", "50").stdout), re.M)) == sorted(keys) and '"a"="b"' in shown)
    peek_follows(stage, path, keys)
    empty = stage.run("peek", "1s", "-c", str(path)).stdout
    require(empty == "no record waits in level 1s\n", f"peek does not say that the level is empty:\n{empty}")
    for args, lines_n in ((("peek", "10s", "0"), None), (("levels",), 1), (("levels", "--lanes"), 1), (("check",), 1),
                          (("topics", "plan"), 1), (("topics", "apply"), 1)):
        done = stage.run(*args, "-c", str(path), "-o", "json")  # validates
        require(done.returncode == 0 and lines_n in (None, len(done.stdout.splitlines())),
                f"{args} ended with {done.returncode}: {done.stdout}{done.stderr}")


def peek_follows(stage: Stage, path: Path, keys: list[str]) -> None:
    """peek --follow shows the records that wait and those that arrive, until its limit."""
    peek = subprocess.Popen([str(stage.binary), "peek", "10s", "-c", str(path), "--follow", "--limit", str(len(keys) + 3), "-o",
                             "json"], stdout=subprocess.PIPE, text=True)
    shown = [json.loads(peek.stdout.readline()) for _ in keys]
    require(sorted(line["key"] for line in shown) == sorted(keys), f"peek --follow shows {shown}")
    later = ["later-1", "later-2", "later-3"]
    says(stage, "send", send_lines(stage, path, "".join(
        json.dumps({"delay": "15s", "key": key, "value": "v", "target": "e2e.b"}) + "\n" for key in later)), (0,))
    rest = [json.loads(line)["key"] for line in peek.communicate(timeout=30)[0].splitlines()]
    require((sorted(rest), peek.returncode) == (later, 0), f"peek --follow ended with {peek.returncode}: {rest}")


def run_meets_apply(stage: Stage) -> None:
    """A broker may learn of new topics after the first request of run, so run repeats it before it refuses to start."""
    path = stage.config("met.yaml", schedule="met", group="met")
    stage.apply(path)
    stage.admin.delete("met.1s")
    bridge = Bridge(stage.binary, path, "met").start()
    time.sleep(0.5)
    stage.apply(path)
    will_say(bridge, '"msg":"started"')
    require(bridge.stop() == 0, "the bridge does not end")


def target_leaves_the_list(stage: Stage, bridge: Bridge, **settings) -> None:
    """A target that was allowed at the request is checked again at the delivery."""
    stage.sender.send(Request(b"late", b"v", [("dlb-delay", b"6s"), ("dlb-target", b"e2e.c")], "not allowed any more",
                              "target_denied", "e2e.c", delay_ms=6000, out_key=b"late", waited=True))
    stage.sender.flush()
    time.sleep(3)
    stage.config(**settings, targets=["e2e.a", "e2e.b"])
    bridge.process.send_signal(signal.SIGHUP)
    will_say(bridge, '"key":"targets"')
    judge(stage.verify(timeout=30))


def dead_letter_is_truncated(stage: Stage) -> None:
    """The headers alone exceed the limit of the dead-letter topic: the headers of the bridge are written nevertheless."""
    dead = f"{stage.schedule}.dead-letter"
    stage.admin.set(dead, max_message_bytes=str(LETTER_BYTES))
    producer = stage.sender.producer
    producer.produce(stage.schedule, b"v", b"large", headers=[("dlb-delay", b"soon"), ("h", b"x" * HEADERS_BYTES)])
    producer.flush(10)
    until = now_ms() + 20_000
    while not (letters := [s for s in stage.collector.of(dead) if s.header("dlb-error") == b"bad_time"]):
        require(now_ms() < until, "no dead letter came")
        time.sleep(0.1)
    names = [name for name, _ in letters[0].headers]
    require(letters[0].key is None and names == [*contract.VERDICT, contract.TRUNCATED]
            and letters[0].header(contract.TRUNCATED) == b"all",
            f"not bare: key {letters[0].key!r}, headers {names}")


def request_for_a_while(stage: Stage, path: Path) -> None:
    """Sends requests so that one is due each 100 ms for 7 seconds, and some wait in memory."""
    lines = "".join(json.dumps({"delay": f"{n * 100}ms", "target": "e2e.a", "value": "v"}) + "\n" for n in range(10, 80))
    says(stage, "send", send_lines(stage, path, lines), (0,))
    time.sleep(3)


def second_signal_ends_it(stage: Stage, bridge: Bridge, path: Path) -> None:
    """SIGTERM waits for records in flight; a second one does not."""
    request_for_a_while(stage, path)
    broker = stage.kafka.pid()
    os.kill(broker, signal.SIGSTOP)
    try:
        time.sleep(2)
        bridge.process.send_signal(signal.SIGTERM)
        require(bridge.wait(1) is None, "SIGTERM did not wait for records in flight")
        bridge.process.send_signal(signal.SIGTERM)
        require(bridge.wait(5) is not None, "a second SIGTERM does not end the bridge")
    finally:
        os.kill(broker, signal.SIGCONT)


def drain_gives_up(stage: Stage, **settings) -> None:
    """Records without an acknowledgement at the end of drain are logged, and left to the next owner."""
    path = stage.config("hasty.yaml", **settings, drain="2s")
    bridge = stage.bridge(path, "hasty", members=2)
    request_for_a_while(stage, path)
    held = stage.proxy.add("Produce", "answer_late", 30, times=1000)
    require(stage.proxy.wait(held, 10, hits=1), "nothing is written")
    start = time.monotonic()
    code = bridge.stop()
    took = time.monotonic() - start
    require(code == 0 and took > 1.5, f"SIGTERM ended the bridge with {code} after {took:.1f} s:\n{bridge.tail()}")
    will_say(bridge, '"drained":false')
    require_prompt(took < 6, f"SIGTERM ended the bridge after {took:.1f} s")


def ends_without_kafka(stage: Stage, **settings) -> None:
    """A client that waits for a broker without an answer holds the end of the bridge for five seconds at most."""
    path = stage.config("left.yaml", **settings, drain="1s")
    bridge = stage.bridge(path, "left", members=2)
    request_for_a_while(stage, path)
    broker = stage.kafka.pid()
    os.kill(broker, signal.SIGSTOP)
    try:
        time.sleep(1)
        start = time.monotonic()
        code = bridge.stop()
        took = time.monotonic() - start
    finally:
        os.kill(broker, signal.SIGCONT)
    require(code == 0, f"SIGTERM ended the bridge with {code} after {took:.1f} s:\n{bridge.tail()}")
    will_say(bridge, "Kafka client does not end")
    require_prompt(took < 8, f"SIGTERM ended the bridge after {took:.1f} s")


def promises(stage: Stage) -> str:
    """Small promises of the contract: files, logs, commands, ids, targets, dead letters, signals."""
    stage.use_levels(15_000)  # the shortest delay of a record that peek shows
    waits_for_kafka(stage)
    settings = {"workers": 2, "kafka": {"group.instance.id": "shop"}}
    stage.broker(proxied=True)
    settings["kafka"]["bootstrap.servers"] = stage.proxy.bootstrap
    path = stage.ready(**settings)
    configuration_is_found(stage, path)
    run_meets_apply(stage)
    bridge = stage.bridge(path, members=2)
    ids = sorted(stage.admin.instance_ids(stage.group))
    require(ids == ["shop-0", "shop-1"], f"the members' ids are {ids}")
    target_leaves_the_list(stage, bridge, **settings)
    stage.proxy.heal(1, reset=True)  # closes all connections: the clients connect again at once
    commands_write_and_show(stage, path)
    require("Kafka unreachable" not in bridge.log.read_text(), f"closed connections are an outage:\n{bridge.tail()}")
    dead_letter_is_truncated(stage)
    second_signal_ends_it(stage, bridge, path)
    ends_without_kafka(stage, **settings)
    drain_gives_up(stage, **settings)
    return "kept"


SCENARIOS = {"promises": promises}
