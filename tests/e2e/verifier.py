# SPDX-License-Identifier: Apache-2.0
"""Compares the requests that were sent with the records that came out, and reports every difference. Pure, so that
selftest.py can run it on histories with planted faults."""
from __future__ import annotations

import collections
import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import contract
from contract import Request, Seen


@dataclass
class Report:
    requests: int = 0
    delivered: int = 0
    dead: int = 0
    duplicates: int = 0
    written_unsure: int = 0
    written_twice: int = 0
    doubled_by_brokers: int = 0  # requests; they are among the duplicates, but no fault
    duplicated: list[Request] = field(default_factory=list)
    faults: collections.Counter = field(default_factory=collections.Counter)
    examples: list[str] = field(default_factory=list)
    lateness_ms: list[int] = field(default_factory=list)   # by the timestamp of the record
    here_ms: list[int] = field(default_factory=list)       # by the time at which this client received it
    codes: collections.Counter = field(default_factory=collections.Counter)
    kinds: set[str] = field(default_factory=set)

    def fault(self, name: str, sentence: str) -> None:
        self.faults[name] += 1
        if self.faults[name] <= 3:
            self.examples.append(f"{name}: {sentence}")

    def late(self, share: float) -> int:
        return self.share(self.lateness_ms, share)

    @staticmethod
    def share(values: list[int], share: float) -> int:
        values = sorted(values)
        return values[min(len(values) - 1, int(share * len(values)))] if values else 0

    def line(self) -> str:
        text = (f"requests={self.requests} delivered={self.delivered} dead={self.dead} "
                f"lost={self.faults['lost']} early={self.faults['early']} duplicates={self.duplicates} "
                f"late_ms p50={self.late(.5)} p99={self.late(.99)} max={self.late(1)} "
                f"here_ms p50={self.share(self.here_ms, .5)} p99={self.share(self.here_ms, .99)} "
                f"max={self.share(self.here_ms, 1)}")
        if self.doubled_by_brokers:
            text += f" doubled_by_the_broker={self.doubled_by_brokers}"
        if self.codes:
            text += f" codes={len(self.codes)} poison_kinds={len(self.kinds)}"
        others = {name: n for name, n in self.faults.items() if name not in ("lost", "early")}
        return text + (f" faults={others}" if others else "")


READ_MS = 30_000  # a request waits this long at most until a bridge reads it, kills included


def source_of(request: Request, schedule: str) -> bytes:
    return f"{schedule}/{request.partition}/{request.offset}".encode()


def clip(thing: object) -> str:
    text = repr(thing)
    return text if len(text) < 160 else text[:150] + "..."


def unaccounted(sent: list[Request], out: list[Seen], schedule: str) -> int:
    """Returns the number of requests that have not come out yet."""
    return len({source_of(r, schedule) for r in sent} - {s.header("dlb-source") for s in out})


@dataclass
class Doubts:
    """Requests with a doubt. unsure: not acknowledged, but a broker may have stored them. refused: not stored. placeless:
    acknowledged, so they must come out, but their offset is unknown."""
    unsure: list[Request] = field(default_factory=list)
    refused: list[Request] = field(default_factory=list)
    placeless: list[Request] = field(default_factory=list)


def face(key: bytes | None, value: bytes | None, headers: list[contract.Header]) -> tuple:
    """Returns the parts of a record that stay the same in a delivery and in a dead letter."""
    return key, value, tuple(contract.business(headers))


def faces_of(requests: list[Request]) -> dict[tuple, list[Request]]:
    found = collections.defaultdict(list)
    for request in requests:
        key = request.key if request.code else request.out_key
        found[face(key, request.value, request.headers)].append(request)
    return found


def recognise(seen: Seen, faces: dict[tuple, list[Request]]) -> Request | None:
    """Returns the request from which this record came, and removes it from faces."""
    due = seen.header("dlb-due")
    alike = faces.get(face(seen.key, seen.value, seen.headers), [])
    for request in alike:
        if request.code or due == str(request.due).encode() or (due and request.spread_ms and in_spread(request, int(due))):
            alike.remove(request)
            return request
    return None


def at(request: Request, source: bytes) -> Request:
    request.partition, request.offset = (int(n) for n in source.decode().rsplit("/", 2)[1:])
    return request


# Returns key, value and headers of the record at a source.
Written = Callable[[bytes], tuple | None]
# Returns whether the clock of a bridge can have shown the stamp of a record before the record was received.
Showed = Callable[[Seen], bool]


def right(seen: Seen) -> bool:
    """Judges a stamp by a clock that agrees with this machine's."""
    return seen.timestamp_ms <= seen.received_ms


def of_writer(writer: Callable[[Seen], str | None], clocks: dict[str, Showed]) -> Showed:
    """Judges each record by the clock of the process that wrote it. A process without an entry in clocks has the right
    time. A record of an unknown process may match any of the clocks."""
    def showed(seen: Seen) -> bool:
        name = writer(seen)
        if name is None:
            return right(seen) or any(clock(seen) for clock in clocks.values())
        return clocks.get(name, right)(seen)
    return showed


def twin(source: bytes, sent: list[Request], written: Written) -> Request | None:
    """Returns the acknowledged request that its producer wrote a second time at source, or None. An idempotent client does
    this when its epoch changes. Only the log of the schedule topic decides, not the output of the bridge."""
    record = written(source)
    for request in sent if record is not None else []:
        again = at(copy.copy(request), source)
        if record == (request.key, request.value, request.headers) and request.partition == again.partition:
            return again
    return None


def verify(sent: list[Request], delivered: list[Seen], dead: list[Seen], schedule: str,
           partitions: dict[str, int], showed: Showed = right, exactly_once: bool = False,
           doubts: Doubts | None = None, written: Written = lambda source: None,
           by_brokers: Callable[[], set[bytes]] = set) -> Report:
    """Judges all records. showed: the times that the clocks of the bridges can have shown, since no record may be
    received before its stamp. Duplicates are counted, and are a fault with exactly-once; otherwise the caller judges
    them. An unsure request may come out, but only once and unchanged. A second copy that written finds in the log must
    come out once. by_brokers: finds the sources of doubles that brokers made, which are no fault."""
    report = Report(requests=len(sent), delivered=len(delivered), dead=len(dead))
    by_source = {source_of(r, schedule): r for r in sent}
    doubts = doubts or Doubts()
    unsure, refused, placeless = (faces_of(some) for some in (doubts.unsure, doubts.refused, doubts.placeless))
    copies: dict[bytes, list[Seen]] = collections.defaultdict(list)
    for seen, check in [(s, check_delivery) for s in delivered] + [(s, check_dead) for s in dead]:
        source = seen.header("dlb-source")
        request = by_source.get(source)
        if request is None and source is not None and (request := recognise(seen, placeless)):
            by_source[source] = at(request, source)
        if request is None and source is not None and (request := recognise(seen, unsure)):
            by_source[source] = at(request, source)
            report.written_unsure += 1
        if request is None and source is not None and (request := twin(source, sent, written)):
            by_source[source] = request
            report.written_twice += 1
        if request is None and recognise(seen, refused):
            report.fault("refused_came", f"{source!r} was refused by the broker, but came out")
            continue
        if request is None:
            report.fault("unknown", f"{seen.topic}/{seen.partition}/{seen.offset} has dlb-source {source!r}")
            continue
        copies[source].append(seen)
        check(report, request, seen, partitions, showed)
    for request in (r for alike in placeless.values() for r in alike):
        report.fault("lost", f"a request acknowledged without an offset ({request.kind}, due {request.due})")
    doubled: dict[bytes, str] = {}
    for source, request in by_source.items():
        have = copies.get(source, [])
        if not have:
            report.fault("lost", f"{source.decode()} ({request.kind}, due {request.due})")
        elif len(have) > 1:
            report.duplicates += len(have) - 1
            report.duplicated.append(request)
            if len({s.topic for s in have}) > 1:
                report.fault("two_ends", f"{source.decode()} is in {sorted({s.topic for s in have})}")
            if exactly_once:
                doubled[source] = f"{source.decode()} came {len(have)} times"
    excused = by_brokers() if doubled else set()
    for source, sentence in doubled.items():
        if source in excused:
            report.doubled_by_brokers += 1
        else:
            report.fault("doubled", sentence)
    return report


def check_delivery(report: Report, request: Request, seen: Seen, partitions, showed: Showed) -> None:
    where = f"{seen.header('dlb-source').decode()} ({request.kind})"
    if request.code is not None:
        report.fault("accepted", f"{where} should have been refused as {request.code}, headers "
                     + clip(request.headers))
        return
    if seen.topic != request.target:
        report.fault("topic", f"{where} went to {seen.topic}, not to {request.target}")
    due = chosen_due(request, seen)
    if waits(request):
        check_retry(report, request, seen, where)
    elif request.spread_ms:
        check_spread(report, request, due, where)
    if seen.timestamp_ms < due:
        report.fault("early", f"{where} was stamped {due - seen.timestamp_ms} ms before its due time")
    elif showed is right and seen.timestamp_ms < request.sent_ms:
        report.fault("early", f"{where} was stamped {request.sent_ms - seen.timestamp_ms} ms before its request was sent")
    elif not showed(seen):
        report.fault("early", f"{where}, stamped {seen.timestamp_ms - due} ms after its due time, was here "
                     f"{seen.timestamp_ms - seen.received_ms:.0f} ms before that stamp")
    earliest = max(due, request.earliest)
    report.lateness_ms.append(seen.timestamp_ms - earliest)
    report.here_ms.append(int(seen.received_ms - earliest))
    if seen.key != request.out_key:
        report.fault("key", f"{where}: {clip(seen.key)} in place of {clip(request.out_key)}")
    if seen.value != request.value:
        report.fault("value", f"{where}: {clip(seen.value)} in place of {clip(request.value)}")
    added: list[tuple[str, bytes | None]] = [("dlb-id", request.id)] if request.id is not None else []
    added += retry_headers(request, seen) if request.retry is not None else []
    added += [("dlb-due", str(due).encode()), ("dlb-source", seen.header("dlb-source"))]
    wanted = contract.business(request.headers) + added
    if seen.headers != wanted:
        report.fault("headers", f"{where}: {clip(seen.headers)} in place of {clip(wanted)}")
    n = partitions.get(seen.topic)
    if n and request.out_key is not None and seen.partition != contract.partition_of(request.out_key, n):
        report.fault("partition", f"{where}: key {clip(request.out_key)} in partition {seen.partition} of {n}")


def due_of(seen: Seen) -> int:
    due = seen.header("dlb-due") or b""
    return int(due) if due.isdigit() else 0


def retry_headers(request: Request, seen: Seen) -> list[contract.Header]:
    """Returns the headers that count the retry and name the first one."""
    retry = request.retry
    first_ms = request.stamped_ms if retry.first_ms is None else retry.first_ms
    return [("dlb-attempt", str(retry.number).encode()), ("dlb-first-at", str(first_ms).encode()),
            ("dlb-origin", retry.origin or seen.header("dlb-source"))]


def chosen_due(request: Request, seen: Seen) -> int:
    """Returns the due time. For a retry or a spread the bridge has chosen it."""
    return due_of(seen) if waits(request) or request.spread_ms else request.due


def waits(request: Request) -> bool:
    """Returns whether a policy gives the due time of the request."""
    return request.retry is not None and request.due_ms is None


def in_spread(request: Request, due: int) -> bool:
    """Returns whether the due time lies in the spread, and before the expiry if that leaves a time."""
    end = request.due + request.spread_ms
    if request.expires_ms is not None:
        end = min(end, request.expires_ms)
    return request.due <= due < max(end, request.due + 1)


def check_spread(report: Report, request: Request, due: int, where: str) -> None:
    if not in_spread(request, due):
        report.fault("spread", f"{where} is due {due - request.due} ms after the begin of its spread of "
                     f"{request.spread_ms} ms, and expires at {request.expires_ms}")


def check_retry(report: Report, request: Request, seen: Seen, where: str) -> None:
    """The wait counts from the reading of the request, which is later than its sending."""
    due = due_of(seen)
    if due < request.sent_ms + request.retry.least_ms:
        report.fault("early", f"{where} is due {due - request.sent_ms} ms after it was sent, and waits "
                     f"{request.retry.least_ms} ms at least")
    if due > request.sent_ms + request.retry.most_ms + request.spread_ms + READ_MS:
        report.fault("wait", f"{where} is due {due - request.sent_ms} ms after it was sent, and waits "
                     f"{request.retry.most_ms} ms at most")


def check_dead(report: Report, request: Request, seen: Seen, partitions, showed: Showed) -> None:
    where = f"{seen.header('dlb-source').decode()} ({request.kind})"
    code = (seen.header("dlb-error") or b"").decode(errors="replace")
    reason = seen.header("dlb-reason") or b""
    report.codes[code] += 1
    if request.code is None:
        report.fault("refused", f"{where} was refused as {code}: {clip(reason)}, headers "
                     + clip(request.headers))
        return
    report.kinds.add(request.kind)
    if code != request.code:
        report.fault("code", f"{where}: {code} ({clip(reason)}) in place of {request.code}, headers "
                     + clip(request.headers))
    truncated = bool(seen.headers) and seen.headers[-1][0] == contract.TRUNCATED
    end = len(seen.headers) - truncated
    headers, tail = seen.headers[:end - len(contract.VERDICT)], seen.headers[end - len(contract.VERDICT):end]
    if [name for name, _ in tail] != list(contract.VERDICT):
        report.fault("verdict", f"{where} ends with {clip(tail)}")
        return
    try:
        sentence = reason.decode()
    except UnicodeDecodeError:
        sentence = ""
    if len(sentence) < 10:
        report.fault("verdict", f"{where}: {clip(reason)} is not a sentence")
    failed_at = seen.header("dlb-failed-at") or b""
    # A test may step the clock of a bridge by seconds, not by minutes.
    if not failed_at.isdigit() or abs(int(failed_at) - seen.received_ms) > 600_000:
        report.fault("verdict", f"{where}: dlb-failed-at is {clip(failed_at)}")
    if request.stamped_ms and seen.header("dlb-sent-at") != str(request.stamped_ms).encode():
        report.fault("verdict", f"{where}: dlb-sent-at is {clip(seen.header('dlb-sent-at'))}, it was sent at "
                     f"{request.stamped_ms}")
    if seen.partition != request.partition:
        report.fault("lane", f"{where} is in partition {seen.partition} of the dead-letter topic")
    if seen.key != request.key:
        report.fault("key", f"{where}: {clip(seen.key)} in place of {clip(request.key)}")
    if truncated and (seen.headers[-1][1] != b"value" or seen.value is not None):
        report.fault("truncated", f"{where} has its key, {clip(seen.value)} and the mark {clip(seen.headers[-1])}")
    if seen.value != request.value and not (code == "too_large" and truncated):
        report.fault("value", f"{where}: {clip(seen.value)} in place of {clip(request.value)}")
    check_dead_headers(report, where, request, headers)


def check_dead_headers(report: Report, where: str, request: Request, headers) -> None:
    came = [h for h in request.headers if h[0] not in contract.VERDICT and not request.extra.get("unparsed")]
    if request.code == "expired" and headers == came:
        return  # it expired before a bridge read it, so it never waited
    if not request.waited:
        if headers != came:
            report.fault("headers", f"{where}: {clip(headers)} in place of {clip(came)}")
        return
    if contract.business(headers) != contract.business(request.headers):
        report.fault("headers", f"{where}: {clip(headers)} in place of {clip(came)}")
    anew = {"dlb-deliver-at": str(request.due).encode(), "dlb-target": request.target.encode()}
    if request.id is not None:
        anew["dlb-id"] = request.id
    if request.expires_ms is not None:
        anew["dlb-expires-at"] = str(request.expires_ms).encode()
    given = [h for h in request.headers if h[0] == "dlb-key"]
    if given:
        anew["dlb-key"] = given[0][1]
    ours = [h for h in headers if contract.is_ours(h[0])]
    if sorted(ours, key=repr) != sorted(anew.items(), key=repr):
        report.fault("headers", f"{where}: {clip(ours)} in place of {clip(list(anew.items()))}")
