# SPDX-License-Identifier: Apache-2.0
"""Cancels and replaces that the bridge must refuse, and bad records on its topic of cancels. Each refused one is a dead letter
whose sentence quotes the wrong value, and voids nothing."""
from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import Producer

from contract import Header, Request, Seen
from stage import LANES, Stage, require, require_harness, will_say

WAIT = b"5s"
LANE, FULL = 3, 9000  # more cancels than the share of a lane holds with the smallest cancel_memory
FOREIGN = (b"", b"x", b"not a cancel", None, b"\x00" * 200, b"DLBC", b"DLBC\x01", b"DLBS" + b"\xff" * 40, b"\xff" * 100_000)


@dataclass(frozen=True)
class Bad:
    op: bytes
    code: str
    quotes: str                    # a part of its sentence
    headers: tuple[Header, ...] = ()
    key: bytes | None = b"own"     # own: that of its request
    voids: bool = False


SOON, ID = ("dlb-delay", WAIT), b"i" * 129
BAD = (
    Bad(b"cancel", "bad_op", "dlb-delay '5m'", (("dlb-delay", b"5m"),)),
    Bad(b"cancel", "bad_op", "dlb-deliver-at '2030-01-01T00:00:00Z'", (("dlb-deliver-at", b"2030-01-01T00:00:00Z"),)),
    Bad(b"cancel", "bad_op", "dlb-target 'payroll'", (("dlb-target", b"payroll"),)),
    Bad(b"cancel", "bad_op", "dlb-key 'other'", (("dlb-key", b"other"),)),
    Bad(b"cancel", "bad_op", "dlb-expires-at '1'", (("dlb-expires-at", b"1"),)),
    Bad(b"Cancel", "bad_op", "'Cancel'"),
    Bad(b"cancel ", "bad_op", "'cancel '"),
    Bad(b"recall", "bad_op", "'recall'"),
    Bad(b"cancel", "bad_id", "'cancel' needs the record key", (), None),
    Bad(b"cancel", "bad_id", "'cancel' needs the record key", (("dlb-id", b"a"),), None),
    Bad(b"cancel", "bad_id", "'cancel' needs dlb-id", (), b""),
    Bad(b"cancel", "bad_id", "'cancel' needs dlb-id", (), b"k" * 129),
    Bad(b"cancel", "bad_id", "'iiiiii", (("dlb-id", ID),)),
    Bad(b"cancel", "bad_header", "dlb-id", (("dlb-id", b""),)),
    Bad(b"cancel", "unknown_header", "dlb-di", (("dlb-di", b"a"),)),
    Bad(b"replace", "bad_time", "'soon'", (("dlb-delay", b"soon"),)),
    Bad(b"replace", "no_time", "dlb-delay"),
    Bad(b"replace", "two_times", "dlb-deliver-at", (SOON, ("dlb-deliver-at", b"2030-01-01T00:00:00Z"))),
    Bad(b"replace", "too_far", "'400d'", (("dlb-delay", b"400d"),)),
    Bad(b"replace", "bad_id", "'replace' needs the record key", (SOON,), None),
    Bad(b"replace", "expired", "'2020-01-01T00:00:00Z'", (SOON, ("dlb-expires-at", b"2020-01-01T00:00:00Z"))),
    Bad(b"replace", "target_denied", "'payroll'", (SOON, ("dlb-target", b"payroll")), voids=True),
)


def source_of(request: Request) -> bytes:
    return f"schedule/{request.partition}/{request.offset}".encode()


class Cancels:
    """A client that cancels, and the records that come out."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0, "linger.ms": 5,
                                  "enable.idempotence": True, "partitioner": "murmur2_random"})

    def send(self, key: bytes | None, *headers: Header, partition: int = -1) -> Request:
        """Sends a record, whose place is known after a flush."""
        request = Request(key, b"v", list(headers), "")

        def stored(error, message) -> None:
            require_harness(error is None, f"a record is not stored: {error}")
            request.partition, request.offset = message.partition(), message.offset()

        while True:
            try:
                self.producer.produce("schedule", b"v", key, partition, headers=request.headers, on_delivery=stored)
                return request
            except BufferError:
                self.producer.poll(0.1)

    def flush(self) -> None:
        require_harness(self.producer.flush(30) == 0, "the records are not stored")

    def out(self) -> dict[bytes, Seen]:
        """Returns the records that came out, by their source."""
        return {seen.header("dlb-source"): seen for seen in list(self.stage.collector.seen)}

    def await_out(self, what: str, *requests: Request) -> dict[bytes, Seen]:
        deadline = time.monotonic() + 40
        while missing := [r for r in requests if source_of(r) not in (out := self.out())]:
            require(time.monotonic() < deadline, f"{what}: {len(missing)} of {len(requests)} do not come out, for example "
                    f"{source_of(missing[0])!r} with key {missing[0].key!r} and {missing[0].headers}")
            time.sleep(0.1)
        return out


def damage(stage: Stage) -> None:
    """Writes foreign records to each lane of the topic of cancels."""
    producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "log_level": 0})
    for value in FOREIGN:
        for lane in range(LANES):
            producer.produce("schedule.cancelled", value, b"foreign", lane)
    require_harness(producer.flush(30) == 0, "the foreign records are not written")


def refused(cancels: Cancels) -> None:
    """Each bad cancel is dead-lettered. Its request comes out, unless a correct replace has a denied target."""
    waiting = [cancels.send(b"bad-%d" % n, SOON) for n in range(len(BAD))]
    void = cancels.send(b"good", SOON)
    cancels.flush()
    sent = [cancels.send(b"bad-%d" % n if bad.key == b"own" else bad.key, ("dlb-op", bad.op), *bad.headers)
            for n, bad in enumerate(BAD)]
    cancels.send(b"good", ("dlb-op", b"cancel"))
    cancels.flush()
    out = cancels.await_out("bad cancels", *sent)
    for bad, cancel in zip(BAD, sent):
        seen = out[source_of(cancel)]
        code, reason = (seen.header("dlb-error") or b"").decode(), (seen.header("dlb-reason") or b"").decode()
        require(seen.topic == "schedule.dead-letter" and code == bad.code and bad.quotes in reason,
                f"{bad}: {seen.topic} has {code}: {reason}")
    cancels.await_out("requests of bad cancels", *(r for r, bad in zip(waiting, BAD) if not bad.voids))
    time.sleep(1)
    came = [r for r in (void, *(r for r, bad in zip(waiting, BAD) if bad.voids)) if source_of(r) in cancels.out()]
    require(not came, f"void requests came out: {came}")


def table_full(cancels: Cancels) -> int:
    """Cancels beyond the share of a lane are refused, and only these. Returns their number."""
    keys = [b"full-%d" % n for n in range(FULL)]
    first, last = (cancels.send(key, SOON, partition=LANE) for key in (keys[0], keys[-1]))
    cancels.flush()
    sent = [cancels.send(key, ("dlb-op", b"cancel"), partition=LANE) for key in keys]
    cancels.flush()
    cancels.await_out("a request whose cancel was refused, and its cancel", last, sent[-1])
    time.sleep(1)
    out = cancels.out()
    require(source_of(first) not in out, "a request was delivered although its cancel had room")
    dead = [out[source_of(cancel)] for cancel in sent if source_of(cancel) in out]
    require(0 < len(dead) < FULL and {seen.header("dlb-error") for seen in dead} == {b"cancels_full"},
            f"{len(dead)} of {FULL} cancels are refused: {dead[:1]}")
    require(all(b"cancel_memory" in (seen.header("dlb-reason") or b"") for seen in dead), f"{dead[0]} does not name cancel_memory")
    return len(dead)


def bad_cancels(stage: Stage) -> str:
    """Restarts the bridge on a damaged topic of cancels, with little memory for them. Bad cancels are refused."""
    damage(stage)
    bridge = stage.bridge(stage.config("small.yaml", cancel_memory="1MiB"), "cancels")
    will_say(bridge, "record of the topic of cancels is damaged or foreign, ignored")
    cancels = Cancels(stage)
    refused(cancels)
    full = table_full(cancels)
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return f"bad_cancels={len(BAD)} cancels_full={full}"
