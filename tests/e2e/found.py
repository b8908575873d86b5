# SPDX-License-Identifier: Apache-2.0
"""Where is my message? find reports the state of each request among thousands that wait. forecast counts what leaves soon."""
from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from client import now_ms
from contract import LEVELS, partition_of, rfc3339
from stage import LANES, Stage, both_modes, require, require_harness, require_prompt, until

MINUTE = 60_000
SOON_MS, ALL_MS, FORECAST_MS = 1500, 8000, 3000  # with two shared cores; the goals are stricter
HOT, HOT_IN_MS = 12_000, 40 * MINUTE
SPREAD_MS = 110 * MINUTE


def instant(ms: int) -> str:
    """Formats an instant as the commands do, always with milliseconds."""
    return f"{rfc3339(ms // 1000 * 1000)[:-1]}.{ms % 1000:03d}Z"


@dataclass
class Asked:
    """A request and its acknowledged place."""
    name: str
    due: int
    partition: int = -1
    offset: int = -1

    @property
    def source(self) -> str:
        return f"schedule/{self.partition}/{self.offset}"


class Crowd:
    """Writes thousands of requests, and keeps the places of all."""

    def __init__(self, stage: Stage):
        self.producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "linger.ms": 20, "log_level": 0,
                                  "enable.idempotence": True, "partitioner": "murmur2_random",
                                  "queue.buffering.max.messages": 500_000})
        self.all: dict[str, Asked] = {}

    def send(self, name: str, due: int, target: str = "e2e.a", headers: list | None = None) -> None:
        asked = self.all[name] = Asked(name, due)

        def stored(error, message):
            require_harness(error is None, f"{name} was not stored: {error}")
            asked.partition, asked.offset = message.partition(), message.offset()

        times = headers or [("dlb-deliver-at", b"%d" % due)]
        while True:
            try:
                self.producer.produce("schedule", b"value", f"key-{name}", on_delivery=stored,
                                      headers=[*times, ("dlb-target", target.encode()), ("dlb-id", name.encode())])
                break
            except BufferError:
                self.producer.poll(0.1)
        self.producer.poll(0)

    def flush(self) -> None:
        require_harness(self.producer.flush(120) == 0, "requests are not acknowledged")


def waiting_in(stage: Stage, config: Path) -> tuple[int, int]:
    """Returns how many requests are not processed yet, and how many records wait in levels."""
    view = json.loads(stage.run("levels", "-c", str(config), "-o", "json").stdout)
    return view["backlog"] + view["in_memory"], sum(level["waiting"] for level in view["levels"])


def settle(stage: Stage, config: Path, least: int) -> None:
    deadline = time.monotonic() + 120
    while (seen := waiting_in(stage, config))[0] > 0 or seen[1] < least:
        require(time.monotonic() < deadline, f"backlog and waiting records are {seen}, not 0 and {least}")
        time.sleep(0.5)


@dataclass
class Finder:
    stage: Stage
    config: Path

    def ask(self, *args: str, code: int = 0) -> tuple[dict, float]:
        """Returns the only answer, and how many ms it took."""
        start = time.monotonic()
        done = self.stage.run("find", "-c", str(self.config), "-o", "json", *args)
        took = (time.monotonic() - start) * 1000
        require(done.returncode == code, f"find {args} ended with {done.returncode}: {done.stdout}{done.stderr}")
        lines = done.stdout.splitlines()
        require(len(lines) == 1, f"find {args} has {len(lines)} answers: {done.stdout}")
        return json.loads(lines[0]), took

    def expect(self, state: str, asked: Asked, *args: str) -> tuple[dict, float]:
        answer, took = self.ask(*args)
        source = answer["source"] or {}
        require(answer["state"] == state and source.get("partition") == asked.partition
                and source.get("offset") == asked.offset, f"find {args} of {asked}, which is {state}: {answer}")
        return answer, took


def ways(asked: Asked) -> list[tuple[str, ...]]:
    """Returns all ways to ask for a request."""
    name, due = asked.name, rfc3339(asked.due)
    return [("--id", name), ("--key", f"key-{name}"), ("--source", asked.source), ("--id", name, "--key", f"key-{name}"),
            ("--id", name, "--due", f"{due}±5s"), ("--key", f"key-{name}", "--due", f"{due}+-5s"),
            ("--key", f"key-{name}", "--sent", f"{rfc3339(now_ms())}±10m")]


def waiting_is_found(find: Finder, asked: Asked) -> str:
    """Each way finds a record in a level. A known due time narrows the search to a part of the waiting records."""
    offsets, times = [], []
    for args in ways(asked):
        answer, took = find.expect("waiting", asked, *args)
        record = answer["record"]
        require(answer["level"] in LEVELS and answer["topic"] == f"schedule.{answer['level']}" and
                record["id"] == asked.name and record["due"] == answer["due"] == instant(asked.due) and
                record["hops"]["n"] >= 0, f"{args}: {answer}")
        offsets.append(sum(topic["offsets"] for topic in answer["searched"]))
        times.append(took)
    by_id, by_key, by_source, _, id_due, key_due, _ = offsets
    require(max(by_key, id_due) < by_id / 4 and max(by_source, key_due) < by_key / 4,
            f"a key or a due time does not narrow the search: {dict(zip(ways(asked), offsets))}")
    # With a wrong due time the ranges hold nothing, so all waiting records are searched.
    answer, _ = find.expect("waiting", asked, "--id", asked.name, "--due", rfc3339(asked.due + 24 * 60 * MINUTE))
    require(any("ranges for the due time" in note for note in answer["notes"]), f"no note of the wider search: {answer}")
    require_prompt(max(times[2], times[4], times[5]) < SOON_MS and times[0] < ALL_MS, f"find is slow: {times}")
    return (f"id alone {times[0]:.0f} ms ({by_id} records), key {times[1]:.0f} ms ({by_key}), source {times[2]:.0f} ms "
            f"({by_source}), key and due {times[5]:.0f} ms ({key_due})")


def others_are_found(stage: Stage, find: Finder, crowd: Crowd) -> None:
    done, bad, failing = crowd.all["done"], crowd.all["bad"], crowd.all["failing"]
    deadline = time.monotonic() + 60
    while not (seen := [s for s in stage.collector.seen if s.header("dlb-id") == b"done"]):
        require(time.monotonic() < deadline, "the first request is not delivered")
        time.sleep(0.2)
    # find sees a delivery when its progress is committed
    until("find has the delivery", lambda: find.ask("--id", "done")[0]["state"] == "delivered")
    for args in ways(done):
        answer, _ = find.expect("delivered", done, *args)
        place = (answer["topic"], answer["partition"], answer["offset"])
        late = seen[0].timestamp_ms - done.due
        require(place == (seen[0].topic, seen[0].partition, seen[0].offset) and answer["late_ms"] == late,
                f"{args}: {answer}, and the record is at {seen[0].topic}/{seen[0].partition}/{seen[0].offset}, {late} ms late")
    for args in (("--id", "bad"), ("--key", "key-bad"), ("--source", bad.source)):
        answer, _ = find.expect("dead_lettered", bad, *args)
        require(answer["dead_letter"]["code"] == "bad_time" and "soon" in answer["dead_letter"]["reason"], f"{answer}")
    answer, _ = find.expect("waiting", failing, "--id", "failing", "--key", "key-failing")
    require(answer["record"]["last_error"]["code"] == "missing" and answer["record"]["attempt"] > 0, f"{answer}")
    find.expect("waiting", failing, "--source", failing.source)


def unknown_is_not_found(find: Finder, asked: Asked) -> None:
    """An unknown id, an id in another lane, and a wrong time: exit code 1, and a list of the searched topics."""
    elsewhere = next(f"other-{n}" for n in range(100)
                     if partition_of(b"other-%d" % n, LANES) != partition_of(f"key-{asked.name}".encode(), LANES))
    for args in (("--id", "nobody"), ("--key", "nobody"), ("--id", asked.name, "--key", elsewhere),
                 ("--id", "nobody", "--due", rfc3339(asked.due)), ("--source", "schedule/0/99999999")):
        answer, _ = find.ask(*args, code=1)
        require(answer["state"] == "not_found" and answer["searched"] and answer["topic"] is None and
                max(topic["partitions"] for topic in answer["searched"]) <= LANES, f"{args}: {answer}")
    for args in ((), ("--source", "other/0/1"), ("--source", "schedule/8/1"), ("--id", "x", "--due", "soon"),
                 ("--id", "x", "--due", "2026-11-21T08:00:00Z±5")):
        done = find.stage.run("find", "-c", str(find.config), "-o", "json", *args)
        require(done.returncode == 64, f"find {args} ended with {done.returncode}: {done.stdout}{done.stderr}")


def forecast_counts(stage: Stage, config: Path, crowd: Crowd) -> str:
    """The hot instant is due in 40 minutes: its records wait in level 30m, and leave it in 30 minutes."""
    start = time.monotonic()
    view = json.loads(stage.run("forecast", "-c", str(config), "-o", "json").stdout)
    took = (time.monotonic() - start) * 1000
    horizons = view["horizons_ms"]
    leaving = {level["level"]: dict(zip(horizons, level["leaving"])) | {"waiting": level["waiting"]}
               for level in view["levels"]}
    half = leaving["30m"]
    require(half[10 * MINUTE] < HOT // 100 < HOT <= half[60 * MINUTE] == half["waiting"], f"the level 30m: {half}")
    for name, level in leaving.items():
        counts = [level[horizon] for horizon in horizons]
        require(counts == sorted(counts) and counts[-1] == level["waiting"], f"level {name}: {level}")
    sample = json.loads(stage.run("forecast", "--deliveries", "-c", str(config), "-o", "json").stdout)["deliveries"]
    waiting = sum(level["waiting"] for level in leaving.values())
    total, due = sum(minute["deliveries"] for minute in sample["minutes"]), crowd.all["hot-0"].due
    require(abs(total - waiting) < waiting / 10, f"{total} deliveries are estimated, and {waiting} records wait")
    require([hot["at"] for hot in sample["hot"]] == [instant(due)] and abs(sample["hot"][0]["deliveries"] - HOT) < HOT / 5,
            f"{HOT} deliveries at {instant(due)}, and the forecast has {sample['hot']}")
    require(sample["sampled"] < waiting, f"all records are read: {sample['sampled']}")
    require_prompt(took < FORECAST_MS, f"forecast takes {took:.0f} ms")
    return f"forecast {took:.0f} ms, hot instant {sample['hot'][0]['deliveries']} of {HOT}, {sample['sampled']} sampled"


def found(stage: Stage) -> str:
    """Thousands of records wait. find has the state of a waiting, delivered, refused, failing and unknown request."""
    config, count = stage.ready(), 400_000 if stage.full else 12_000
    bridge = stage.bridge(config)
    crowd, began = Crowd(stage), now_ms()
    crowd.send("done", began + 3000, "e2e.b")
    crowd.send("bad", 0, headers=[("dlb-delay", b"soon")])
    crowd.send("failing", began + 1000, "e2e.no-such-topic")
    for n in range(HOT):
        crowd.send(f"hot-{n}", began + HOT_IN_MS)
    for n in range(count):
        crowd.send(f"wait-{n}", began + 3 * MINUTE + n * SPREAD_MS // count)
    crowd.flush()
    settle(stage, config, HOT + count)
    find = Finder(stage, config)
    middle = crowd.all[f"wait-{count // 20}"]  # due in eight minutes, so it is not in the level of the hot ones
    told = [waiting_is_found(find, middle)]
    others_are_found(stage, find, crowd)
    unknown_is_not_found(find, middle)
    told.append(forecast_counts(stage, config, crowd))
    require(bridge.running() and bridge.stop() == 0, "the bridge ended:\n" + bridge.tail())
    crowd.send("unread", now_ms() + 5 * MINUTE)
    crowd.flush()
    unread = crowd.all["unread"]
    for args in ways(unread):
        answer, _ = find.expect("waiting", unread, *args)
        require(answer["topic"] == "schedule" and answer["level"] is None and answer["offset"] == unread.offset and
                answer["record"]["leaves"] is None and answer["record"]["hops"]["n"] >= 1, f"{args}: {answer}")
    return f"{HOT + count} waiting: " + " | ".join(told)


SCENARIOS = both_modes(found)
