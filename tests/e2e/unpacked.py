# SPDX-License-Identifier: Apache-2.0
"""Requests that are small on the wire and huge when they are decompressed, among good ones. A broker closes the connection
when a request exceeds its socket.request.max.bytes. So the bridge must detect a record that is too large before it sends
it uncompressed."""
from __future__ import annotations

import time

from confluent_kafka import Producer

from client import now_ms
from contract import TRUNCATED, Seen
from scenarios import source
from stage import Stage, both_modes, judge, require, require_harness, require_prompt

RATE, WAIT_MS = 50, 1000              # Of the good requests.
WARM_S, CALM_S, APART_S = 4, 6, 2.5
# Bounds of the p99 with huge requests: a multiple of the p99 without them, and a floor for the noise of a busy machine.
MOST, FLOOR_MS = 2.0, 150
CODECS = ("gzip", "lz4", "zstd")
DELAY_MS, INTAKE_MS = 10_000, 8000    # Delay of a huge request, and the limit for its refusal.


def send_huge(stage: Stage, size: int) -> None:
    """Sends one huge request with each codec that compresses it below the limit of S."""
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "compression.type": codec, "log_level": 0,
                             "message.max.bytes": 1_000_000_000, "partitioner": "murmur2_random"})
        producer.produce(stage.schedule, value=bytes(size), key=b"huge-" + codec.encode(),
                         headers=[("dlb-delay", b"%dms" % DELAY_MS), ("dlb-target", b"e2e.a"), ("h", b"1")])
        require_harness(producer.flush(30) == 0, f"the huge request compressed with {codec} was not written")
        time.sleep(APART_S)


def dead_letters_of_huge(stage: Stage) -> list[Seen]:
    """Waits for the dead letters of huge requests. Removes them from the collector: other checks do not know them."""
    until = now_ms() + 30_000
    while True:
        letters = [s for s in stage.collector.of(f"{stage.schedule}.dead-letter") if (s.key or b"").startswith(b"huge-")]
        if len(letters) >= len(CODECS):
            stage.collector.seen = [s for s in stage.collector.seen if s not in letters]
            return letters
        require(now_ms() < until, f"{len(letters)} of {len(CODECS)} huge requests are dead letters")
        time.sleep(0.2)


def check_letters(letters: list[Seen]) -> None:
    require(len(letters) == len(CODECS), f"{len(letters)} dead letters of {len(CODECS)} huge requests")
    for letter in letters:
        names = dict(letter.headers)
        require(names["dlb-error"] == b"too_large" and names[TRUNCATED] == b"value" and letter.value is None,
                f"the dead letter of a huge request: {letter.headers}")
        require(names["h"] == b"1" and names["dlb-delay"] == b"%dms" % DELAY_MS, f"its headers: {letter.headers}")
        took = int(names["dlb-failed-at"]) - int(names["dlb-sent-at"])
        require_prompt(took < INTAKE_MS, f"a huge request was refused after {took} ms, not at intake")


def late_p99(stage: Stage, start: int, end: int) -> int:
    """Returns the p99 lateness of good requests due in this time, by their stamps. The time of receipt says little, since
    this client and the broker also compress and decompress the huge requests."""
    stamps: dict[tuple[int, int], int] = {}
    for seen in stage.collector.seen:
        stamps.setdefault(source(seen), seen.timestamp_ms)
    late = sorted(stamps[r.partition, r.offset] - r.earliest for r in stage.sender.journal
                  if start <= r.earliest < end and (r.partition, r.offset) in stamps)
    require(late, "no good request was due in that time")
    return late[int(len(late) * .99)]


def huge_among_good(stage: Stage, size: int) -> str:
    bridge = stage.bridge(stage.ready(replication=min(3, stage.kafka.brokers if stage.kafka else 1)))
    generator = stage.generator(WAIT_MS * 2)
    sending = stage.background(lambda n, now: generator.request(now, wait_ms=WAIT_MS + n % 5 * 100), 10 ** 9, RATE)
    time.sleep(WARM_S + CALM_S)
    calm = now_ms() - CALM_S * 1000, now_ms()
    send_huge(stage, size)
    letters = dead_letters_of_huge(stage)
    bad = calm[1], now_ms()
    sending.finish(stop=True)
    line = judge(stage.verify(timeout=60))
    check_letters(letters)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    without, beside = late_p99(stage, *calm), late_p99(stage, *bad)
    figures = f"good_p99_ms with/without={beside}/{without}"
    require_prompt(beside <= max(MOST * without, without + FLOOR_MS), f"good requests were delayed: {figures}")
    return f"{line} {figures}"


def huge_unpacked(stage: Stage) -> str:
    """Requests of 110 MB of zeros, compressed to 100 kB: above the default limit of brokers."""
    return huge_among_good(stage, 110_000_000)


def small_request_limit(stage: Stage) -> str:
    """Requests of 4 MB of zeros, and brokers that accept 1 MiB at most."""
    stage.broker(props=("socket.request.max.bytes=1048576",))
    return huge_among_good(stage, 4_000_000)


def smallest_request_limit(stage: Stage) -> str:
    """One of three brokers accepts 1 MiB at most: its limit applies to all."""
    stage.broker(brokers=3, props=("2:socket.request.max.bytes=1048576", "offsets.topic.replication.factor=3",
                                   "transaction.state.log.replication.factor=3", "transaction.state.log.min.isr=2"))
    return huge_among_good(stage, 4_000_000)


SCENARIOS = both_modes(huge_unpacked, small_request_limit, smallest_request_limit)
