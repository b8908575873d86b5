# SPDX-License-Identifier: Apache-2.0
"""Operators pause, resume and limit targets. The judge knows the acts from the commands, and the deliveries from the
brokers' logs."""
from __future__ import annotations

import json
import time

from confluent_kafka import Consumer, TopicPartition

from client import now_ms
from contract import Request
from operating import Watch
from processes import Bridge
from stage import LANES, Stage, both_modes, judge, require, require_premise, require_prompt, until, will_say
from withheld import Act, Margins, judge_acts

EFFECT_S, LOOK_S = 1, 45  # until an entry has an effect, and until a new topic is found
TOPICS = {"e2e.a": 6, "e2e.b": 3, "e2e.limited": 4}
ENTRIES_MAX = 1000
RATE, LIMITED = 40, 200  # a second; records that are due at once


class Operator:
    def __init__(self, stage: Stage, config):
        self.stage, self.config = stage, str(config)
        self.acts: list[Act] = []

    def fails(self, *words: str) -> str:
        done = self.stage.run(*words, "-c", self.config)
        require(done.returncode == 78, f"{words}: {done.returncode} {done.stdout} {done.stderr}")
        return done.stderr

    def run(self, *words: str, code: int = 0) -> dict:
        done = self.stage.run(*words, "-c", self.config, "-o", "json")
        require(done.returncode == code, f"{words}: {done.returncode} {done.stdout} {done.stderr}")
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}


def ask(stage: Stage, target: str, count: int, delay_ms: int = 0, **more) -> list[Request]:
    generator, made = stage.generator(2000), []
    for _ in range(count):
        request = generator.request(now_ms(), wait_ms=delay_ms, target=target, **more)
        stage.sender.send(request)
        made.append(request)
    stage.sender.flush()
    return made


def came(stage: Stage, target: str) -> list[int]:
    """Returns the timestamps of the deliveries to a target, sorted."""
    return sorted(seen.timestamp_ms for seen in stage.collector.of(target))


def await_records(stage: Stage, target: str, count: int, timeout: float) -> None:
    until(lambda: f"{count} came to {target}, not {len(came(stage, target))}", lambda: len(came(stage, target)) >= count, timeout)


def paused(stage: Stage) -> str:
    """Two processes deliver to three targets. One target is paused while a process is killed and starts again, and one is
    limited. No delivery is lost or early, none comes in a pause, and none above the rate."""
    stage.broker()
    port = stage.spare_port
    config = stage.ready(TOPICS)
    bridges = [stage.bridge(config, "bridge-1", members=1),
               stage.bridge(stage.config("second.yaml", listen=f"127.0.0.1:{port}"), "bridge-2", members=2)]
    operator = Operator(stage, config)
    refusals(operator)
    facts = [paused_until_resumed(stage, operator, bridges, Watch(port)), limited(stage, operator, Watch(port))]
    replaced(operator)
    lifted(operator)
    noticed(operator)
    ended(operator)
    others_stay(stage, operator)
    foreign(stage, operator, bridges)
    line = judge(stage.verify(timeout=60), 0 if stage.exactly_once else None)
    verdict = judge_acts(operator.acts, list(stage.collector.seen), stage.acked_ms(), Margins())
    require_premise(not verdict.faults, f"{verdict.faults[:3]}")
    return " | ".join((line, verdict.line(), *facts))


def refusals(operator: Operator) -> None:
    operator.run("limit", "e2e.a", "fast", code=64)
    operator.run("pause", "e2e/a", code=64)
    operator.run("pause", "e2e.a", "--for", "0s", code=64)
    require(not operator.run("resume", "e2e.a", code=1)["removed"], "an entry that does not exist was removed")


def paused_until_resumed(stage: Stage, operator: Operator, bridges: list[Bridge], watch: Watch) -> str:
    before = ask(stage, "e2e.a", 20)
    await_records(stage, "e2e.a", len(before), 20)
    entry = operator.run("pause", "e2e.a*", "--for", "1h")["entry"]
    require((entry["targets"], entry["op"], entry["rate"]) == ("e2e.a*", "pause", None) and entry["until"], f"{entry}")
    set_ms = now_ms()
    time.sleep(EFFECT_S)
    held, others = ask(stage, "e2e.a", 50), ask(stage, "e2e.b", 50)
    await_records(stage, "e2e.b", len(others), 20)
    bridges[0].kill()
    bridges[0].start()
    time.sleep(6)
    require(len(came(stage, "e2e.a")) == len(before), "a paused target got records")
    shown = operator.run("levels")["control"]
    require([(e["targets"], e["op"]) for e in shown] == [("e2e.a*", "pause")], f"levels: {shown}")
    metrics = watch.metrics()
    require(metrics["delaybridge_control_entries", 'op="pause"'] == 1, "no metric of the pause")
    require(metrics["delaybridge_oldest_pause_timestamp_seconds", ""] > 0, "no metric of its begin")
    require(watch.total("withheld_total", 'reason="paused"') > 0, "withheld records are not counted")
    rest = operator.run("resume", "e2e.a", code=1)
    require([e["targets"] for e in rest["others"]] == ["e2e.a*"], f"resume: {rest}")
    lift_ms, removed, resumed = now_ms(), operator.run("resume", "e2e.a*"), time.monotonic()
    operator.acts.append(Act("e2e.a", set_ms, lift_ms, now_ms(), removed["longest_wait_ms"]))
    require(removed["removed_op"] == "pause" and removed["longest_wait_ms"] <= 60_000, f"resume: {removed}")
    await_records(stage, "e2e.a", len(before) + len(held), 60)
    took = time.monotonic() - resumed
    require_prompt(took <= removed["longest_wait_ms"] / 1000 + 1, f"the last record came {took:.1f} s after resume")
    return f"resumed within {took:.1f} s"


def limited(stage: Stage, operator: Operator, watch: Watch) -> str:
    operator.run("limit", "e2e.limited", f"{RATE}/s")
    set_ms = now_ms()
    time.sleep(EFFECT_S)
    ask(stage, "e2e.limited", LIMITED)
    await_records(stage, "e2e.limited", LIMITED, 4 * LIMITED / RATE)
    times = came(stage, "e2e.limited")
    shown = operator.run("levels")["control"]
    require([e["lane_rate_per_s"] for e in shown] == [RATE / LANES], f"levels: {shown}")
    require(watch.total("withheld_total", 'reason="limited"') > 0, "withheld records are not counted")
    limits = {labels: rate for (name, labels), rate in watch.metrics().items() if name == "delaybridge_target_limit_per_second"}
    require(set(limits.values()) == {RATE}, f"metrics of the limit: {limits}")
    lift_ms, removed = now_ms(), operator.run("limit", "e2e.limited", "none")
    require(removed["removed"] and removed["removed_op"] == "limit", f"the limit is not removed: {removed}")
    operator.acts.append(Act("e2e.limited", set_ms, lift_ms, now_ms(), removed["longest_wait_ms"], RATE))
    time.sleep(EFFECT_S)
    free = ask(stage, "e2e.limited", 100)
    sent = time.monotonic()
    await_records(stage, "e2e.limited", LIMITED + len(free), 10)
    require_prompt(time.monotonic() - sent < 2, "the limit is removed, and deliveries are slow")
    return f"{LIMITED} records at {RATE}/s took {(times[-1] - times[0]) / 1000:.1f} s"


def entry_records(stage: Stage, key: str) -> list[bytes | None]:
    """Returns the values of all records with this key."""
    reader = Consumer({"bootstrap.servers": stage.kafka.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    where = TopicPartition("schedule.control", 0, 0)
    end, found = reader.get_watermark_offsets(where, timeout=10)[1], []
    reader.assign([where])
    while reader.position([where])[0].offset < end:
        message = reader.poll(10)
        require(message is not None and not message.error(), f"schedule.control: {message}")
        if message.key() == key.encode():
            found.append(message.value())
    reader.close()
    return found


def replaced(operator: Operator) -> None:
    """A limit in place of a pause resumes deliveries, so the command shows the pause."""
    paused_entry = operator.run("pause", "e2e.none")
    require(paused_entry["replaced"] is None, f"a first entry replaces another: {paused_entry}")
    limit_entry = operator.run("limit", "e2e.none", "5/s")
    require(limit_entry["replaced"] == paused_entry["entry"], f"limit does not show the pause: {limit_entry}")
    text = operator.stage.run("pause", "e2e.none", "-c", operator.config).stdout
    require("in place of: e2e.none: limited to 5/s since " in text, f"pause does not show the limit: {text}")
    require(operator.run("resume", "e2e.none")["replaced"] is None, "resume replaces an entry")


def lifted(operator: Operator) -> None:
    """The end of a pause prints a time. That of a limit prints none: the longest level is far above the usual wait."""
    for words, said in ((("pause", "e2e.none"), "resumed, waiting records come within 7s"),
                        (("limit", "e2e.none", "5/s"), "no longer limited. Waiting records come when they leave their level")):
        operator.run(*words)
        text = operator.stage.run("resume", "e2e.none", "-c", operator.config).stdout
        require(text.startswith(f"e2e.none: {said}"), f"resume after {words}: {text}")
        require("2h" not in text, f"resume prints the longest level: {text}")


def noticed(operator: Operator) -> None:
    """resume shows a pause of a part that is still in force, and pause warns if no entry of targets matches."""
    operator.run("pause", "*.part")
    operator.run("pause", "e2e.*")
    rest = operator.run("resume", "e2e.*")["others"]
    require([e["targets"] for e in rest] == ["*.part"], f"resume does not show the pause of a part: {rest}")
    operator.run("resume", "*.part")
    misspelled = operator.stage.run("pause", "e3e.a", "-c", operator.config)
    require(misspelled.returncode == 0 and "no entry of targets matches 'e3e.a'" in misspelled.stderr,
            f"pause of no target: {misspelled.returncode} {misspelled.stderr}")
    operator.run("resume", "e3e.a")


def ended(operator: Operator) -> None:
    """top shows no pause that has ended, although its entry stays on the topic. It shows a pause of a part."""
    operator.run("pause", "e2e.part")
    operator.run("pause", "*", "--for", "1s")
    time.sleep(1 + EFFECT_S)

    def states() -> list[str]:
        return [target["state"] for target in operator.run("top", "--once")["targets"]]
    until("top shows the pause of a part, and none that has ended", lambda: "partly_paused" in (
        shown := states()) and "paused" not in shown)
    operator.run("resume", "e2e.part")
    operator.run("resume", "*")


def others_stay(stage: Stage, operator: Operator) -> None:
    """A command leaves the entries of others alone, even if they have ended, and these use up no room. And it knows older
    pauses that match."""
    day = {"op": "pause", "at": "2026-01-01T00:00:00Z", "until": None}
    ended = day | {"until": "2026-01-02T00:00:00Z"}
    many = [(f"e2e.ended.{n}", ended) for n in range(ENTRIES_MAX)]
    for key, entry in (("e2e.ended", ended), ("e2e.y*", ended), ("e2e.z*", day), *many):
        stage.sender.producer.produce("schedule.control", json.dumps(entry).encode(), key.encode(), 0)
    stage.sender.producer.flush()
    operator.run("pause", "e2e.y1")
    bound = operator.run("resume", "e2e.y1")["longest_wait_ms"]
    require(bound <= 10_000, f"resume prints {bound} ms, and no older pause is in force")
    operator.run("pause", "e2e.z1")
    bound = operator.run("resume", "e2e.z1")["longest_wait_ms"]
    require(bound > 10_000, f"resume prints {bound} ms, and the pause of e2e.z* is much older")
    require(operator.run("resume", "e2e.z*")["removed"], "the older pause is not removed")
    operator.run("pause", "e2e.z*")
    bound = operator.run("resume", "e2e.z*")["longest_wait_ms"]
    require(bound > 10_000, f"resume prints {bound} ms, and records may still wait because of the earlier pause")
    require(len(entry_records(stage, "e2e.ended")) == 1, "the entry of another operator was removed")


def foreign(stage: Stage, operator: Operator, bridges: list[Bridge]) -> None:
    """A record that no operator wrote is reported and ignored."""
    stage.sender.producer.produce("schedule.control", b"stop", b"e2e.b", 0)
    stage.sender.producer.flush()
    will_say(bridges[1], "record of the topic of control is damaged or foreign, ignored")
    require("e2e.ended" not in bridges[1].tail(1000), "a pause that has ended is in the log")
    require(operator.run("levels")["control"] == [], "a foreign record is an entry")


def stop_in_time(bridge: Bridge, most_s: int) -> None:
    began = time.monotonic()
    require((code := bridge.stop()) == 0, f"the bridge ended with {code}")
    require_prompt((took := time.monotonic() - began) < most_s, f"the bridge ended after {took:.1f} s")


def control_lost(stage: Stage) -> str:
    """The topic of control is deleted, and created again. Running processes keep its entries until they have read the new
    topic, and they end without it. A process that starts without it delivers."""
    stage.broker()
    config = stage.ready(TOPICS)
    bridge, operator = stage.bridge(config), Operator(stage, config)
    operator.run("pause", "e2e.a")
    time.sleep(EFFECT_S)
    stage.admin.delete("schedule.control")
    will_say(bridge, "cannot read the paused and limited targets, keeping the last known ones", LOOK_S)
    ask(stage, "e2e.a", 20)
    time.sleep(7)
    require(not came(stage, "e2e.a"), "a paused target got records after the topic was deleted")
    require("topics apply" in operator.fails("resume", "e2e.a"), "resume does not say what to do")
    stage.apply(config)
    await_records(stage, "e2e.a", 20, LOOK_S + 20)
    stage.admin.delete("schedule.control")
    time.sleep(2)
    stop_in_time(bridge, 20)  # the client does not end then, and the bridge exits without it
    bridge.start()
    ask(stage, "e2e.a", 20)
    await_records(stage, "e2e.a", 40, 20)
    stage.apply(config)
    operator.run("pause", "e2e.a")
    said = '"targets paused"'
    until("the pause on the new topic", lambda: bridge.tail(1000).count(said) == 2, LOOK_S)
    held = ask(stage, "e2e.a", 20)
    time.sleep(7)
    require(len(came(stage, "e2e.a")) == 40, "the pause on the new topic has no effect")
    operator.run("resume", "e2e.a")
    await_records(stage, "e2e.a", 40 + len(held), 20)
    line = judge(stage.verify(timeout=60), 0 if stage.exactly_once else None)
    stop_in_time(bridge, 10)
    return line


SCENARIOS = both_modes(paused, control_lost)
ON_DEMAND = {"paused_exactly", "control_lost", "control_lost_exactly"}
