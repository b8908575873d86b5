# SPDX-License-Identifier: Apache-2.0
"""Requests that are small on the wire and huge when they are unpacked, among good ones. A broker closes the connection on
a request above its socket.request.max.bytes, so what the bridge would send unpacked must be known to be too large before."""
from __future__ import annotations

import time

from confluent_kafka import Producer

from client import now_ms
from contract import TRUNCATED, Seen
from scenarios import source
from stage import Stage, both_modes, judge, require, require_prompt

RATE, WAIT_MS = 50, 1000              # of the good ones
WARM_S, CALM_S, APART_S = 4, 6, 2.5
MOST, FLOOR_MS = 2.0, 150             # of the p99 of the same stream before the huge ones, which was 5 and 6 ms in two
                                      # runs, and 10 and 34 ms beside huge ones. More than the floor above it is no noise
CODECS = ("gzip", "lz4", "zstd")
DELAY_MS, INTAKE_MS = 10_000, 8000    # a huge one's own delay; it is refused before that is over


def send_huge(stage: Stage, size: int) -> None:
    """One with each codec that packs it into less than S takes."""
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "compression.type": codec, "log_level": 0,
                             "message.max.bytes": 1_000_000_000, "partitioner": "murmur2_random"})
        producer.produce(stage.schedule, value=bytes(size), key=b"huge-" + codec.encode(),
                         headers=[("dlb-delay", b"%dms" % DELAY_MS), ("dlb-target", b"e2e.a"), ("h", b"1")])
        require(producer.flush(30) == 0, f"the huge one packed by {codec} was not written")
        time.sleep(APART_S)


def letters_of_huge(stage: Stage) -> list[Seen]:
    """Taken out of what came, for no other check knows of these."""
    until = now_ms() + 30_000
    while True:
        letters = [s for s in stage.collector.of(f"{stage.schedule}.dead-letter") if (s.key or b"").startswith(b"huge-")]
        if len(letters) >= len(CODECS):
            stage.collector.seen = [s for s in stage.collector.seen if s not in letters]
            return letters
        require(now_ms() < until, f"{len(letters)} of {len(CODECS)} huge ones are dead letters")
        time.sleep(0.2)


def check_letters(letters: list[Seen]) -> None:
    require(len(letters) == len(CODECS), f"{len(letters)} dead letters of {len(CODECS)} huge ones")
    for letter in letters:
        names = dict(letter.headers)
        require(names["dlb-error"] == b"too_large" and names[TRUNCATED] == b"value" and letter.value is None,
                f"the dead letter of a huge one: {letter.headers}")
        require(names["h"] == b"1" and names["dlb-delay"] == b"%dms" % DELAY_MS, f"its headers: {letter.headers}")
        took = int(names["dlb-failed-at"]) - int(names["dlb-sent-at"])
        require_prompt(took < INTAKE_MS, f"a huge one was refused after {took} ms, not at intake")


def late_p99(stage: Stage, start: int, end: int) -> int:
    """Of the good ones that were due then, by when they were forwarded: the huge ones are packed and unpacked by this client
    and the broker as well, which keeps a reader from its records."""
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
    letters = letters_of_huge(stage)
    bad = calm[1], now_ms()
    sending.finish(stop=True)
    line = judge(stage.verify(timeout=60))
    check_letters(letters)
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    without, beside = late_p99(stage, *calm), late_p99(stage, *bad)
    figures = f"good_p99_ms with/without={beside}/{without}"
    require_prompt(beside <= max(MOST * without, without + FLOOR_MS), f"good requests were held: {figures}")
    return f"{line} {figures}"


def huge_unpacked(stage: Stage) -> str:
    """110 MB of zeros in 100 kB: over the default limit of brokers."""
    return huge_among_good(stage, 110_000_000)


def small_request_limit(stage: Stage) -> str:
    """Brokers that take requests of 1 MiB at most, and 4 MB of zeros."""
    stage.broker(props=("socket.request.max.bytes=1048576",))
    return huge_among_good(stage, 4_000_000)


def smallest_request_limit(stage: Stage) -> str:
    """Of three brokers one takes requests of 1 MiB at most: what the two others take must not be sent."""
    stage.broker(brokers=3, props=("2:socket.request.max.bytes=1048576", "offsets.topic.replication.factor=3",
                                   "transaction.state.log.replication.factor=3", "transaction.state.log.min.isr=2"))
    return huge_among_good(stage, 4_000_000)


SCENARIOS = both_modes(huge_unpacked, small_request_limit, smallest_request_limit)
