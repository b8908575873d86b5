# SPDX-License-Identifier: Apache-2.0
"""Events of requests. A reader of schedule.events compares them with the records of targets and of the dead-letter topic. It
knows requests, cancels and records by their offsets."""
from __future__ import annotations

import collections
import datetime
import json
import time
from pathlib import Path

from client import Collector
from contract import Request
from orders import Orders
from schemas import faults, load
from stage import LANES, Fault, Stage, both_modes, require
from voids import source_of

RATE, KEYS = 250, 2000
UNMATCHED_S = 900  # until a cancel dies
FAILING, ATTEMPTS = 4, 2  # requests for each failing target, and deliveries of each
TYPES = ("accepted", "delivered", "cancel_accepted", "cancelled", "replaced", "too_late", "delivery_retried",
         "dead_lettered", "expired", "cancel_unmatched")
SETTLED = ("delivered", "cancelled", "dead_lettered", "expired")


class Life:
    """All events, by the place of their request and by type."""

    def __init__(self, events: list, seen: list):
        schema = load("events")
        self.by_source: dict[str, dict[str, list[dict]]] = collections.defaultdict(lambda: collections.defaultdict(list))
        self.ids: collections.Counter[str] = collections.Counter()
        for record in events:
            event = json.loads(record.value)
            require(not (wrong := faults(event, schema)), f"not by the schema: {wrong}: {event}")
            require(record.headers == [("content-type", b"application/cloudevents+json")], f"headers {record.headers}")
            data = event["data"]
            require(event["type"] == f"delaybridge.{data['event']}" and event["subject"] == data["source"]
                    and int(data["source"].split("/")[1]) == record.partition, f"the event {event} in {record.partition}")
            name = data.get("id", data.get("key"))
            require(name is None or len(name.encode()) > 128 or record.key == name.encode(),
                    f"the key {record.key!r} of {event}")
            self.by_source[data["source"]][data["event"]].append(data)
            self.ids[event["id"]] += 1
        self.out: dict[str, list] = collections.defaultdict(list)
        for record in seen:
            self.out["schedule/%d/%d" % source_of(record)].append(record)

    def of(self, request) -> dict[str, list[dict]]:
        return self.by_source.get(f"schedule/{request.partition}/{request.offset}", {})


def check_delivery(life: Life, request, records: list, exactly_once: bool) -> None:
    told = life.of(request).get("delivered", [])
    delivered = [r for r in records if not r.topic.endswith(".dead-letter")]
    # A killed process may have delivered it without knowing, and the next one may have met a cancel or the expiry.
    other = not exactly_once and len(set(life.of(request)) & set(SETTLED)) > 0
    require((told or other) if delivered else not told, f"{len(delivered)} deliveries of {request}, and the events {told}")
    places = {(r.topic, r.partition, r.offset) for r in delivered}
    if exactly_once:
        require(len(told) == len(delivered), f"{len(delivered)} deliveries of {request}, and the events {told}")
        require(all("offset" not in data for data in told), f"an offset exactly once: {told}")
    else:
        wrong = [data for data in told if (data["target"], data["partition"], data["offset"]) not in places]
        require(not wrong, f"{wrong} are no places of {request}: {places}")


def check_letters(life: Life, request, records: list, exactly_once: bool) -> None:
    letters = [r for r in records if r.topic.endswith(".dead-letter")]
    told = [data for name in ("dead_lettered", "expired") for data in life.of(request).get(name, [])]
    codes = {r.header("dlb-error").decode() for r in letters}
    require({data["code"] for data in told} >= codes and (letters or not told), f"dead letters {codes} of {request}, and the events {told}")
    require(not exactly_once or len(told) == len(letters), f"{len(letters)} dead letters, and the events {told}")


def check_cancels(life: Life, request, came: bool, exactly_once: bool) -> None:
    events = life.of(request)
    if request.kind == "cancel":
        told = events.get("cancel_accepted", [])
        require(told, f"the cancel {request} has no event")
        require(not exactly_once or len(told) == 1, f"the cancel {request} has the events {told}")
        require(not set(events) - {"cancel_accepted", "too_late", "cancel_unmatched"}, f"the cancel {request} has {dict(events)}")
        return
    if request.kind == "replace" and not any(d["code"].startswith("bad") for d in events.get("dead_lettered", [])):
        require(events.get("replaced"), f"the replace {request} has no event")
    for data in events.get("cancelled", []):
        _, lane, offset = data["cancelled_by"].split("/")
        require(int(lane) == request.partition and int(offset) > request.offset, f"cancelled by itself: {data}")
        require(not (came and data["certain"]), f"{request} came, and the event says that it certainly did not: {data}")


def ms_of(text: str) -> int:
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def ask_failing(stage: Stage, told: Collector) -> list[Request]:
    """Sends requests to a target that is created after their first try has failed, and to one that never exists."""
    requests = [Request(b"failing-%d" % n, b"value", [("dlb-delay", b"0ms"), ("dlb-target", target)], "failing")
                for target in (b"e2e.late", b"e2e.never") for n in range(FAILING)]
    for request in requests:
        stage.sender.send(request)
    stage.sender.flush()
    deadline = time.monotonic() + 20
    while not all(Life(list(told.seen), []).of(r).get("delivery_retried") for r in requests):
        require(time.monotonic() < deadline, "no event says that a target failed")
        time.sleep(0.2)
    stage.admin.create("e2e.late", 2)
    stage.collector.add("e2e.late")
    return requests


def target_of(request: Request) -> str:
    return dict(request.headers)["dlb-target"].decode()


def check_failing(life: Life, request, records: list, exactly_once: bool) -> None:
    """Each failed delivery has its event, and the next one, the delivery or the dead letter, follows it."""
    tries = life.of(request).get("delivery_retried", [])
    attempts = sorted(data["attempt"] for data in tries)
    require(set(attempts) == set(range(1, ATTEMPTS)) and (not exactly_once or len(attempts) == ATTEMPTS - 1),
            f"{request} has events of the attempts {attempts}")
    require(all(data["code"] == "missing" and data["reason"] and data["target"] == target_of(request) for data in tries),
            f"the events {tries} of {request}")
    require(len({r.topic for r in records}) == 1, f"{request} came as {records}")
    never = target_of(request) == "e2e.never"
    letters = life.of(request).get("dead_lettered", [])
    require({data["code"] for data in letters} == ({"target_failed"} if never else set()), f"the events {letters} of {request}")
    require(never != bool(life.of(request).get("delivered")), f"{request} has {dict(life.of(request))}")
    after = min(r.timestamp_ms for r in records)
    require(all(ms_of(data["next_try"]) <= after for data in tries), f"{request} came before the next try of {tries}")


def has_ended(life: Life, request: Request) -> bool:
    """Returns whether an event says how the request ended. If it came out, the reader of its topic has read it too: this
    reader may be behind the one of the events."""
    told = set(life.of(request))
    came = told & {"delivered", "dead_lettered", "expired"}
    return bool(told & {*SETTLED, "cancel_accepted"}) and not (
        came and not life.out[f"schedule/{request.partition}/{request.offset}"])


def settled(stage: Stage, told: Collector) -> Life:
    """Waits until each request has ended."""
    deadline = time.monotonic() + 60
    while True:
        life = Life(list(told.seen), list(stage.collector.seen))
        open_ = [r for r in stage.sender.journal if not has_ended(life, r)]
        if not open_:
            return life
        require(time.monotonic() < deadline, f"{len(open_)} requests have not ended, or have an event and did not come, for "
                f"example {open_[0]} with the events {dict(life.of(open_[0]))}")
        time.sleep(0.5)


def with_end(stage: Stage, life: Life, end: str) -> Request:
    """Returns a request that has one event of its end, of this type."""
    for request in stage.sender.journal:
        ends = [name for name, all_ in life.of(request).items() for _ in all_ if name in SETTLED]
        if ends == [end] and request.kind != "cancel":
            return request
    raise Fault(f"no request has only the end {end}")


def found_end(stage: Stage, config: Path, request: Request, *args: str) -> dict:
    """Returns the answer of find about this request."""
    done = stage.run("find", "-c", str(config), "-o", "json", "--limit", "1000", *args)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    same = [answer for answer in answers if answer["source"] and
            (answer["source"]["partition"], answer["source"]["offset"]) == (request.partition, request.offset)]
    require(len(same) == 1, f"find {args} has {len(same)} answers about {request}: {done.stdout}{done.stderr}")
    return same[0]


def ends_are_found(stage: Stage, config: Path, life: Life) -> None:
    """find has the end of a request from its event. Only a place that the event does not have is read from the target. It
    has the event when no other topic has a trace of the request."""
    ends = {end: with_end(stage, life, end) for end in ("delivered", "cancelled", "dead_lettered")}
    sources = {end: ("--source", f"schedule/{r.partition}/{r.offset}") for end, r in ends.items()}
    first = {end: found_end(stage, config, r, *sources[end]) for end, r in ends.items()}
    for end, answer in first.items():
        require(answer["state"] == end and answer["partition"] is not None or end == "cancelled", f"{end}: {answer}")
    delivered, searched = first["delivered"], {one["topic"] for one in first["delivered"]["searched"]}
    record = life.out[sources["delivered"][1]][0]
    require((delivered["topic"], delivered["partition"], delivered["offset"]) == (record.topic, record.partition, record.offset)
            and 0 <= delivered["late_ms"] < 60_000, f"{delivered}, and the record is {record}")
    require((delivered["event"] is None) == stage.exactly_once == (record.topic in searched),
            f"the event must spare the search of {record.topic}: {delivered}")
    for topic in stage.admin.topics():
        if topic.startswith(("e2e.", "schedule")) and topic not in ("schedule.events", "schedule.control"):
            stage.admin.delete_up_to_end(topic)
    for end, request in ends.items():
        name = next(iter(life.of(request)[end]))
        by_name = ("--id", name["id"]) if "id" in name else ("--key", name["key"])
        for args in (sources[end], by_name):
            answer = found_end(stage, config, request, *args)
            require(answer["state"] == end and answer["event"]["topic"] == "schedule.events", f"{end} by {args}: {answer}")
            require(end != "delivered" or (answer["offset"] is None) == stage.exactly_once, f"{end} by {args}: {answer}")
            require(end != "cancelled" or answer["cancel"]["offset"] > request.offset, f"{end} by {args}: {answer}")
            require(end != "dead_lettered" or answer["dead_letter"] == first[end]["dead_letter"], f"{end} by {args}: {answer}")


def events(stage: Stage) -> str:
    """Requests, cancels and replaces, failing targets and kills. Each outcome has its event, and nothing else has one."""
    kills, max_ms, seconds = (8, 20_000, 60) if stage.full else (1, 7000, 9)
    stage.use_levels(max_ms)
    config = stage.ready(events=["all"], max_attempts=ATTEMPTS)
    told = Collector(stage.kafka.bootstrap, ["schedule.events"])
    told.start()
    bridge = stage.bridge(config)
    failing = ask_failing(stage, told)
    orders = Orders(stage.generator(max_ms), stage.seed, keys=KEYS)
    sending = stage.background(orders.make, 1_000_000, RATE)
    for _ in range(kills):
        time.sleep(seconds / (kills + 1))
        bridge.kill()
        bridge.start()
    time.sleep(seconds / (kills + 1))
    sending.finish(stop=True)
    life = settled(stage, told)
    for request in stage.sender.journal:
        records = life.out[f"schedule/{request.partition}/{request.offset}"]
        check_delivery(life, request, records, stage.exactly_once)
        check_letters(life, request, records, stage.exactly_once)
        check_cancels(life, request, bool(records), stage.exactly_once)
    for request in failing:
        check_failing(life, request, life.out[f"schedule/{request.partition}/{request.offset}"], stage.exactly_once)
    repeated = sum(n - 1 for n in life.ids.values())
    require(not stage.exactly_once or not repeated, f"{repeated} events came twice: {life.ids.most_common(3)}")
    told.end()
    counts = collections.Counter(name for types in life.by_source.values() for name in types)
    require(counts["cancelled"] and counts["delivered"] and counts["replaced"], f"events are missing: {counts}")
    require(bridge.stop() == 0, "the bridge ended:\n" + bridge.tail())
    ends_are_found(stage, config, life)
    return f"{len(stage.sender.journal)} requests, {sum(life.ids.values())} events: " + " ".join(f"{name}={counts[name]}" for name in TYPES) \
        + f" repeated={repeated} kills={kills}"


def events_unmatched(stage: Stage) -> str:
    """A cancel that voids nothing has an event minutes later, and one that voids a request has none."""
    config = stage.ready(events=["default", "cancel_unmatched"])
    told = Collector(stage.kafka.bootstrap, ["schedule.events"])
    told.start()
    bridge = stage.bridge(config)
    while bridge.tail(1000).count("lane opens") < LANES:  # cancels that it finds at its start have no such event
        require(bridge.running(), f"the bridge has ended:\n{bridge.tail()}")
        time.sleep(0.1)
    send = stage.sender.send
    send(Request(b"key", b"value", [("dlb-id", b"asked"), ("dlb-delay", b"20s")], "schedule"))
    stage.sender.flush()
    for name in (b"asked", b"never asked"):  # in one lane, in this order
        send(Request(b"key", b"", [("dlb-id", name), ("dlb-op", b"cancel")], "cancel"))
    stage.sender.flush()
    asked, *cancels = sorted(stage.sender.journal, key=lambda r: r.offset)
    deadline, start = time.monotonic() + UNMATCHED_S, time.monotonic()
    while not (life := Life(list(told.seen), [])).of(cancels[1]).get("cancel_unmatched"):
        require(time.monotonic() < deadline, "no event says that the cancel voided nothing")
        time.sleep(1)
    require(life.of(asked).get("cancelled") and not life.of(cancels[0]), f"{life.of(asked)} {life.of(cancels[0])}")
    require(life.of(cancels[1])["cancel_unmatched"][0]["id"] == "never asked", f"{life.of(cancels[1])}")
    shown = stage.run("events", "-c", str(config), "--id", "never asked", "-o", "json")
    require(json.loads(shown.stdout)["type"] == "delaybridge.cancel_unmatched", shown.stdout)
    told.end()
    return f"reported after {time.monotonic() - start:.0f} s"


ON_DEMAND = {"events_exactly", "events_unmatched", "events_unmatched_exactly"}
SCENARIOS = both_modes(events, events_unmatched)
