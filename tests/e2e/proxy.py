# SPDX-License-Identifier: Apache-2.0
"""A proxy between the bridge and its brokers. It can delay a chosen request or its answer, close the connection instead,
and cut a broker off. It keeps the requests and answers of the bridges as evidence."""
from __future__ import annotations

import asyncio
import math
import struct
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field

import protocol
from doubles import Commit, Evidence, Line, Take, Write
from processes import HarnessError
from protocol import NAMES, Place

TRANSACTIONAL = ("AddOffsetsToTxn", "EndTxn")
LAG_MS = 100  # Longest time between the arrival of a request and its reading.
DRAIN_S = 5  # A broker gets so long to answer the requests of a client that has left.


@dataclass
class Rule:
    """A fault for the next requests of a kind. Requests behind a late one on the same connection are late as well. The
    broker gets a late request even if the client has closed the connection."""
    api: str
    way: str            # request_late, request_lost, answer_late, answer_lost
    seconds: float = 0  # the delay
    times: int = 1
    whose: bytes | None = None  # only this transactional id; set to the one of the last request that was met
    broker: int | None = None   # only requests to this broker
    hits: int = 0


@dataclass
class Pending:
    """A request without an answer."""
    rule: Rule | None
    api: str
    version: int
    asked_ms: float
    commit: Commit | None = None
    member: tuple[str, int] | None = None
    records: dict[Place, int] = field(default_factory=dict)


class Reader(asyncio.StreamReader):
    """Records the arrival of bytes. A request may wait long behind a delayed one before it is read."""

    def __init__(self, **how):
        super().__init__(**how)
        self.came: deque[tuple[int, float]] = deque()  # total number of bytes, and when they had arrived
        self.fed = self.taken = 0

    def feed_data(self, data) -> None:
        self.fed += len(data)
        self.came.append((self.fed, time.time() * 1000))
        super().feed_data(data)

    def came_ms(self, size: int) -> float:
        """Returns when the next size bytes that were read had arrived."""
        self.taken += size
        while self.came[0][0] < self.taken:
            self.came.popleft()
        return self.came[0][1]


class Proxy(threading.Thread):
    """Listens on one port for each broker. ports: for broker 1, 2, ... the own port and the broker's port."""

    def __init__(self, ports: list[tuple[int, int]]):
        super().__init__(daemon=True)
        self.ports = ports
        self.rules: list[Rule] = []
        self.hidden: set[str] = set()  # request kinds that the brokers seem not to support
        self.unlearned: set[str] = set()  # topics whose settings the brokers seem not to know yet
        self.passed: Counter[tuple[str, int]] = Counter()  # requests, by kind and broker
        self.evidence = Evidence()
        self.joins: Counter[str] = Counter()  # by process; a join ends its earlier ownership
        self.generations: set[int] = set()  # of the group, from the heartbeats of members
        self.loop = asyncio.new_event_loop()
        self.whole: dict[int, asyncio.Event] = {}
        self.links: set["Link"] = set()
        self.ready = threading.Event()
        self.start()
        if not self.ready.wait(10):
            raise HarnessError("the proxy does not listen")

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{ours}" for ours, _ in self.ports)

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.listen())
        self.loop.run_forever()

    async def listen(self) -> None:
        for number, (ours, theirs) in enumerate(self.ports, 1):
            self.whole[number] = asyncio.Event()
            self.whole[number].set()
            await self.loop.create_server(lambda n=number, p=theirs: asyncio.StreamReaderProtocol(
                Reader(limit=1 << 20), lambda r, w: Link(self, n).serve(r, w, p)), "127.0.0.1", ours)
        self.ready.set()

    def add(self, api: str, way: str, seconds: float = 0, times: int = 1, **only) -> Rule:
        """only: whose, broker."""
        rule = Rule(api, way, seconds, times, **only)
        self.rules.append(rule)
        return rule

    def match(self, api: str, frame: bytes, broker: int) -> Rule | None:
        whose = protocol.transaction_of(frame) if api in TRANSACTIONAL else None
        for rule in self.rules:
            if rule.api == api and rule.hits < rule.times and rule.whose in (None, whose) and \
                    rule.broker in (None, broker):
                rule.hits += 1
                rule.whose = whose
                return rule
        return None

    @staticmethod
    def wait(rule: Rule, timeout: float, hits: int | None = None) -> bool:
        """Waits until the rule has met hits requests, or all that it was meant for. Returns whether it has."""
        deadline, wanted = time.monotonic() + timeout, hits or rule.times
        while rule.hits < wanted and time.monotonic() < deadline:
            time.sleep(0.05)
        return rule.hits >= wanted

    def cut(self, broker: int) -> None:
        """Stops all traffic to and from the broker; bytes in transit wait."""
        self.loop.call_soon_threadsafe(self.whole[broker].clear)

    def heal(self, broker: int, reset: bool) -> None:
        """Lets the traffic continue. reset: closes the old connections instead, with the bytes in transit."""
        def mend() -> None:
            for link in [link for link in self.links if reset and link.broker == broker]:
                link.drop()
            self.whole[broker].set()
        self.loop.call_soon_threadsafe(mend)

    def busiest(self, api: str) -> int:
        """Returns the broker that got most requests of a kind. For requests to coordinators, this is the coordinator."""
        return max(self.whole, key=lambda broker: self.passed[api, broker])


class Link:
    """A connection of a client, and its connection to the broker."""

    def __init__(self, proxy: Proxy, broker: int):
        self.proxy, self.broker = proxy, broker
        self.pending: dict[int, Pending] = {}  # by correlation id
        self.client: asyncio.StreamWriter | None = None
        self.server: asyncio.StreamWriter | None = None
        self.line = Line()
        self.owner: tuple[str, int] | None = None  # the member of the group that uses this connection

    async def serve(self, reader: Reader, client, port: int) -> None:
        self.client = client
        self.proxy.links.add(self)
        answers = None
        try:
            await self.proxy.whole[self.broker].wait()
            from_server, self.server = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
            answers = asyncio.ensure_future(self.down(from_server))
            await self.up(reader)
        except (OSError, asyncio.IncompleteReadError):
            pass
        self.line.left_ms = time.time() * 1000
        if answers:
            await self.drain(answers)
        self.drop()
        self.proxy.links.discard(self)

    async def drain(self, answers) -> None:
        until = time.monotonic() + DRAIN_S
        while self.pending and not answers.done() and time.monotonic() < until:
            await asyncio.sleep(0.05)
        answers.cancel()

    def drop(self) -> None:
        for writer in (self.client, self.server):
            if writer is not None:
                writer.transport.abort()

    @staticmethod
    async def frame(reader) -> bytes:
        size = await reader.readexactly(4)
        return size + await reader.readexactly(struct.unpack(">i", size)[0])

    async def up(self, reader: Reader) -> None:
        while True:
            frame = await self.frame(reader)
            came_ms = reader.came_ms(len(frame))
            self.line.alive_ms = came_ms - LAG_MS
            number, version, correlation = struct.unpack_from(">hhi", frame, 4)
            api = NAMES.get(number, "other")
            self.proxy.passed[api, self.broker] += 1
            rule = self.proxy.match(api, frame, self.broker)
            if rule and rule.way == "request_lost":
                self.client.transport.abort()
                return
            self.pending[correlation] = Pending(rule, api, version, came_ms)
            self.note_request(self.pending[correlation], frame)
            if rule and rule.way == "request_late":
                await asyncio.sleep(rule.seconds)
            await self.proxy.whole[self.broker].wait()
            self.server.write(frame)
            await self.server.drain()

    async def down(self, reader) -> None:
        """Passes answers on. Also reads those for a client that has left, so that the broker does not notice."""
        try:
            while True:
                frame = await self.frame(reader)
                asked = self.pending.pop(struct.unpack_from(">i", frame, 4)[0], None)
                rule = asked and asked.rule
                if asked and asked.api == "ApiVersions" and asked.version == protocol.SERVED and self.proxy.hidden:
                    frame = protocol.serving_without(frame, self.proxy.hidden)
                if asked and asked.api == "DescribeConfigs" and self.proxy.unlearned:
                    frame = protocol.describing_without(frame, self.proxy.unlearned)
                if asked and asked.commit and protocol.says_yes(frame, asked.version):
                    asked.commit.kept_ms = time.time() * 1000
                if rule and rule.way == "answer_late":
                    await asyncio.sleep(rule.seconds)
                await self.proxy.whole[self.broker].wait()
                if rule and rule.way == "answer_lost":
                    self.client.transport.abort()
                if asked and self.line.left_ms == math.inf and not self.client.is_closing():
                    self.client.write(frame)
                    self.note_answer(asked, frame, time.time() * 1000)
        except (OSError, asyncio.IncompleteReadError):
            self.client.transport.abort()

    # Evidence.

    def note_request(self, asked: Pending, frame: bytes) -> None:
        evidence = self.proxy.evidence
        self.line.process = protocol.client_of(frame)
        member = self.line.process, self.proxy.joins[self.line.process]
        if asked.api == "JoinGroup":
            self.proxy.joins[self.line.process] += 1
        elif asked.api in ("Heartbeat", "SyncGroup") and asked.version in protocol.MEMBERS:
            self.owner = member
            self.proxy.generations.add(protocol.generation_of(frame))
            asked.member = member
            evidence.live(self.line.process, self.line.alive_ms)
        elif asked.api == "OffsetCommit" and asked.version in protocol.COMMITS:
            asked.commit = evidence.commit(member, asked.asked_ms, protocol.progress_of(frame, asked.version))
        elif asked.api == "Produce" and asked.version in protocol.PRODUCES:
            asked.records = protocol.written_of(frame, asked.version)

    def note_answer(self, asked: Pending, frame: bytes, now: float) -> None:
        if asked.commit:
            asked.commit.told_ms = now
        elif asked.member and protocol.says_member(frame, asked.version):
            self.proxy.evidence.sign(asked.member, asked.asked_ms)
        elif asked.records:
            for place, offset in protocol.stored_of(frame, asked.version).items():
                self.proxy.evidence.write(place, offset, asked.records[place], Write(asked.asked_ms, now, self.line))
        elif asked.api == "OffsetFetch" and asked.version in protocol.FETCHES and self.owner:
            self.proxy.evidence.take(Take(self.owner, asked.asked_ms, now, protocol.committed_of(frame, asked.version)))
