# SPDX-License-Identifier: Apache-2.0
"""Thousands of records at one instant: the bounds of a transaction, and the order of dead letters."""
from __future__ import annotations

import time
from collections import Counter, defaultdict

from client import Collector, now_ms
from confluent_kafka import Producer
from stage import Stage, both_modes, require, require_harness, until

KEYS, REFUSED = 50, 6000


def produce(stage: Stage, count: int, headers: list) -> None:
    """Writes requests of a few keys, whose values are their numbers."""
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "partitioner": "murmur2_random", "linger.ms": 20,
                         "enable.idempotence": True})
    for n in range(count):
        while True:
            try:
                producer.produce(stage.schedule, b"%d" % n, b"key %d" % (n % KEYS), headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
    require_harness(producer.flush(60) == 0, "the requests were not written")


def burst_with_events_exactly(stage: Stage) -> str:
    """Exactly once: more records are due at one instant than a transaction takes, and each has two events."""
    count = 150_000 if stage.full else 100_000
    stage.exactly_once = True
    config = stage.ready(events=["all"])
    stage.collector.add(f"{stage.schedule}.events")
    bridge = stage.bridge(config)
    pid, due = bridge.pid, now_ms() + 12_000
    produce(stage, count, [("dlb-deliver-at", b"%d" % due)])
    require_harness(now_ms() < due, "the requests were not all written in time")
    seen = stage.collector.seen
    until(lambda: f"{3 * count} records and events came, not {len(seen)}:\n{bridge.tail()}",
          lambda: len(seen) >= 3 * count or not bridge.running(), 90)
    require(bridge.running() and bridge.pid == pid, "the bridge ended:\n" + bridge.tail())
    time.sleep(1)
    came = Counter(s.topic for s in seen)
    require(came == {"e2e.a": count, f"{stage.schedule}.events": 2 * count}, f"{count} requests, and {came}")
    require(len(stage.collector.sources - {None}) == count, "a record was delivered twice")
    late = max(s.timestamp_ms for s in seen if s.topic == "e2e.a") - due
    return f"{count} records at one instant, 2 events each: the last one after {late} ms, none lost, none twice"


def numbers_by_key(records: list) -> dict[bytes, list[int]]:
    """Returns the values of each key, in the order of their partition."""
    found: dict[bytes, list[int]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r.partition, r.offset)):
        found[record.key].append(int(record.value))
    return found


def letters_in_order(stage: Stage) -> str:
    """Thousands of refused requests: their dead letters, and the requests that redrive makes, keep the order of each key."""
    config = stage.ready()
    bridge, dead = stage.bridge(config), f"{stage.schedule}.dead-letter"
    produce(stage, REFUSED, [("dlb-target", b"later"), ("dlb-deliver-at", b"%d" % now_ms())])
    letters = lambda: stage.collector.of(dead)  # noqa: E731
    until(lambda: f"{REFUSED} dead letters came, not {len(letters())}", lambda: len(letters()) >= REFUSED, 60)
    bridge.stop()
    done = stage.run("redrive", "-c", str(stage.config("allowing.yaml", targets=["e2e.*", "later"])))
    require(done.returncode == 0, f"redrive ended with {done.returncode}: {done.stderr}")
    requests = Collector(stage.kafka.bootstrap, [stage.schedule])
    requests.start()
    until(lambda: f"{2 * REFUSED} requests came, not {len(requests.seen)}", lambda: len(requests.seen) >= 2 * REFUSED)
    requests.end()
    wanted = {b"key %d" % k: list(range(k, REFUSED, KEYS)) for k in range(KEYS)}
    turned = lambda found: sum(a > b for ns in found.values() for a, b in zip(ns, ns[1:]))  # noqa: E731
    found = numbers_by_key(letters())
    require(found == wanted, f"{turned(found)} neighbors of {REFUSED} dead letters are in the wrong order")
    found = {key: ns[len(wanted[key]):] for key, ns in numbers_by_key(requests.seen).items()}
    require(found == wanted, f"{turned(found)} neighbors of {REFUSED} redriven requests are in the wrong order")
    return f"{REFUSED} refused requests of {KEYS} keys: dead letters and redriven requests are in order"


SCENARIOS = {"burst_with_events_exactly": burst_with_events_exactly, **both_modes(letters_in_order)}
