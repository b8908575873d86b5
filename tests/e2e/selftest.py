# SPDX-License-Identifier: Apache-2.0
"""Tests of the verifier: it must find each fault that is planted in a correct history. Also tests this client against
values that Kafka's client computes."""
from __future__ import annotations

import copy
import sys
import unittest

import contract
import poison
from contract import Request, Seen
from generator import Generator
from selftest_doubles import Doubled  # noqa: F401  pylint: disable=unused-import
from selftest_harness import Blamed, Brokers, Ports  # noqa: F401  pylint: disable=unused-import
from selftest_markers import Decided  # noqa: F401  pylint: disable=unused-import
from selftest_protocol import Decoded  # noqa: F401  pylint: disable=unused-import
from selftest_retries import Retried, Spread  # noqa: F401  pylint: disable=unused-import
from selftest_turns import Turns  # noqa: F401  pylint: disable=unused-import
from selftest_voids import Made, Voided  # noqa: F401  pylint: disable=unused-import
from selftest_withheld import Withheld  # noqa: F401  pylint: disable=unused-import
from steps import Steps
from verifier import Doubts, Report, Showed, of_writer, unaccounted, verify

NOW = 1_763_712_000_000
PARTITIONS = {"e2e.a": 6, "e2e.b": 3}


def history(count: int = 400, seed: int = 7) -> tuple[list[Request], list[Seen], list[Seen]]:
    """Returns count requests, a tenth of them poison, and the output of a correct bridge."""
    generator = Generator(seed, ["e2e.a", "e2e.b"], "e2e.a", 20_000)
    sent, delivered, dead = [], [], []
    for n in range(count):
        request = generator.poison(NOW, n // 10) if n % 10 == 0 else generator.request(NOW)
        request.partition, request.offset = n % 8, n // 8
        request.stamped_ms = request.timestamp_ms or NOW
        source = f"schedule/{request.partition}/{request.offset}".encode()
        at = request.earliest + n % 50
        if request.code:
            headers = [h for h in request.headers if h[0] not in contract.VERDICT]
            headers += [("dlb-error", request.code.encode()), ("dlb-reason", b"a sentence of its own"),
                        ("dlb-source", source), ("dlb-sent-at", str(request.stamped_ms).encode()),
                        ("dlb-failed-at", str(NOW).encode())]
            dead.append(Seen("schedule.dead-letter", request.partition, n, NOW, request.key, request.value,
                             headers, NOW + 5))
        else:
            headers = contract.business(request.headers)
            headers += [("dlb-id", request.id)] if request.id is not None else []
            headers += [("dlb-due", str(request.due).encode()), ("dlb-source", source)]
            key = request.out_key
            partition = 0 if key is None else contract.partition_of(key, PARTITIONS[request.target])
            delivered.append(Seen(request.target, partition, n, at, key, request.value, headers, at + 2))
        sent.append(request)
    return sent, delivered, dead


def by_either(clock: Steps) -> Showed:
    """Judges by this clock or by the right time, since the writer of a record is unknown."""
    return of_writer(lambda seen: None, {"it": clock.showed})


class Planted(unittest.TestCase):
    def setUp(self):
        self.sent, self.delivered, self.dead = copy.deepcopy(history())

    def report(self, **more):
        return verify(self.sent, self.delivered, self.dead, "schedule", PARTITIONS, **more)

    def unacknowledged(self, n: int) -> Request:
        """Returns the request n without the answer of a broker."""
        request = self.sent.pop(n)
        request.partition = request.offset = -1
        return request

    def found(self, *names: str):
        self.assertEqual(dict(self.report().faults), dict.fromkeys(names, 1))

    def delivery(self, wanted=lambda request: True) -> Seen:
        """Returns a delivery whose request satisfies wanted."""
        by_source = {f"schedule/{r.partition}/{r.offset}".encode(): r for r in self.sent}
        return next(s for s in self.delivered[20:] if wanted(by_source[s.header("dlb-source")]))

    def test_correct_history_has_no_fault(self):
        report = self.report()
        self.assertEqual((dict(report.faults), report.duplicates), ({}, 0))
        self.assertEqual((report.delivered, report.dead), (360, 40))
        self.assertEqual(unaccounted(self.sent, self.delivered + self.dead, "schedule"), 0)

    def test_a_lost_record(self):
        self.delivered.pop(33)
        self.assertEqual(unaccounted(self.sent, self.delivered + self.dead, "schedule"), 1)
        self.found("lost")

    def test_a_lost_dead_letter(self):
        self.dead.pop(3)
        self.found("lost")

    def test_record_that_was_never_sent(self):
        odd = copy.deepcopy(self.delivered[5])
        odd.headers[-1] = ("dlb-source", b"schedule/0/999999")
        self.delivered.append(odd)
        self.found("unknown")

    def test_record_without_source(self):
        self.delivered[5].headers.pop()
        self.found("unknown", "lost")

    def test_record_stamped_a_millisecond_early(self):
        seen = self.delivery(lambda r: r.due > r.stamped_ms)
        seen.timestamp_ms = int(seen.header("dlb-due")) - 1
        self.found("early")

    def test_record_that_is_stamped_before_its_request_was_sent(self):
        seen = self.delivered[30]
        request = next(r for r in self.sent if f"schedule/{r.partition}/{r.offset}".encode() == seen.header("dlb-source"))
        request.sent_ms = seen.timestamp_ms
        self.assertEqual(dict(self.report().faults), {})
        request.sent_ms += 1
        self.found("early")

    def test_record_received_early_in_spite_of_its_stamp(self):
        seen = self.delivery(lambda r: r.due > r.stamped_ms)
        seen.received_ms = int(seen.header("dlb-due")) - 0.5
        self.found("early")

    def by_a_clock_ahead(self, until: float) -> Report:
        """Stamps a record when it is due, by a clock that is 3 s ahead. The clock becomes right `until` ms after it showed
        the due time. The record is received half a second after its stamp."""
        seen, clock = self.delivery(lambda r: r.due > r.stamped_ms), Steps()
        seen.timestamp_ms = int(seen.header("dlb-due"))
        seen.received_ms = seen.timestamp_ms - 2500
        clock.add(0, 3000)
        clock.add(seen.timestamp_ms - 3000 + until, 0)
        return self.report(showed=by_either(clock))

    def test_record_received_early_by_a_clock_that_was_ahead_when_it_was_stamped(self):
        self.assertEqual(dict(self.by_a_clock_ahead(until=1).faults), {})
        self.assertEqual(dict(self.by_a_clock_ahead(until=1000).faults), {})

    def test_record_received_early_when_the_clock_was_right_again(self):
        self.assertEqual(dict(self.by_a_clock_ahead(until=-101).faults), {"early": 1})

    def test_record_received_earlier_than_the_clock_was_ahead(self):
        seen, clock = self.delivery(lambda r: r.due > r.stamped_ms), Steps()
        clock.add(0, 3000)
        seen.received_ms = seen.timestamp_ms - 3001
        self.assertEqual(dict(self.report(showed=by_either(clock)).faults), {"early": 1})
        seen.received_ms = seen.timestamp_ms - 3000
        self.assertEqual(dict(self.report(showed=by_either(clock)).faults), {})

    def test_record_received_early_by_the_clock_of_its_writer(self):
        seen, clock = self.delivery(lambda r: r.due > r.stamped_ms), Steps()
        clock.add(0, 3000)
        seen.received_ms = seen.timestamp_ms - 2500
        for writer, faults in (("ahead", {}), ("other", {"early": 1})):
            showed = of_writer(lambda other, name=writer: name if other is seen else "other", {"ahead": clock.showed})
            self.assertEqual(dict(self.report(showed=showed).faults), faults)

    def test_record_received_in_time_but_early_by_a_clock_that_is_behind(self):
        clock = Steps()
        clock.add(0, -3000)
        for seen in self.delivered:
            seen.received_ms += 3000
        self.assertEqual(dict(self.report(showed=clock.showed).faults), {})
        self.delivered[30].received_ms -= 3
        self.assertEqual(dict(self.report(showed=clock.showed).faults), {"early": 1})

    def test_record_with_a_stamp_after_its_receipt(self):
        self.delivered[30].timestamp_ms += 3
        self.found("early")

    def test_a_duplicate_delivery(self):
        self.delivered.append(copy.deepcopy(self.delivered[9]))
        report = self.report()
        self.assertEqual((report.duplicates, dict(report.faults)), (1, {}))

    def test_a_duplicate_dead_letter(self):
        self.dead.append(copy.deepcopy(self.dead[9]))
        self.assertEqual(self.report().duplicates, 1)

    def test_a_duplicate_delivery_in_exactly_once(self):
        self.delivered.append(copy.deepcopy(self.delivered[9]))
        self.assertEqual(dict(self.report(exactly_once=True).faults), {"doubled": 1})
        self.assertEqual(dict(self.report(exactly_once=True, by_brokers=lambda: {b"schedule/0/0"}).faults), {"doubled": 1})
        report = self.report(exactly_once=True, by_brokers=lambda: {self.delivered[-1].header("dlb-source")})
        self.assertEqual((dict(report.faults), report.doubled_by_brokers, report.duplicates), ({}, 1, 1))

    def test_unsure_record_may_come(self):
        doubts = Doubts(unsure=[self.unacknowledged(33), self.unacknowledged(60)])  # a good request and a poisoned one
        report = self.report(doubts=doubts)
        self.assertEqual((dict(report.faults), report.written_unsure), ({}, 2))

    def test_unsure_record_may_be_missing(self):
        request = self.sent.pop(33)
        source = f"schedule/{request.partition}/{request.offset}".encode()
        self.delivered = [s for s in self.delivered if s.header("dlb-source") != source]
        report = self.report(doubts=Doubts(unsure=[request]))
        self.assertEqual((dict(report.faults), report.written_unsure), ({}, 0))

    def test_unsure_record_that_comes_twice(self):
        request = self.unacknowledged(33)
        again = copy.deepcopy(next(s for s in self.delivered if s.value == request.value and request.value))
        again.headers[-1] = ("dlb-source", b"schedule/0/999999")
        self.delivered.append(again)
        self.assertEqual(dict(self.report(doubts=Doubts(unsure=[request])).faults), {"unknown": 1})

    def test_unsure_record_that_comes_changed(self):
        request = self.unacknowledged(33)
        seen = next(s for s in self.delivered if s.value == request.value and request.value)
        seen.topic = "e2e.b" if seen.topic == "e2e.a" else "e2e.a"
        self.assertEqual(self.report(doubts=Doubts(unsure=[request])).faults["topic"], 1)

    def test_record_acknowledged_without_an_offset_must_come(self):
        doubts = Doubts(placeless=[self.unacknowledged(33)])
        self.assertEqual((dict(self.report(doubts=doubts).faults), doubts.placeless[0].offset), ({}, 33 // 8))

    def test_record_acknowledged_without_an_offset_that_is_lost(self):
        request = self.sent[33]
        source = f"schedule/{request.partition}/{request.offset}".encode()
        self.delivered = [s for s in self.delivered if s.header("dlb-source") != source]
        self.assertEqual(dict(self.report(doubts=Doubts(placeless=[self.unacknowledged(33)])).faults), {"lost": 1})

    def written_again(self, n: int) -> Seen:
        """Returns the output for a second copy of the request n, at offset 999999 of its partition."""
        request = self.sent[n]
        again = copy.deepcopy(next(s for s in self.delivered if s.value == request.value and request.value))
        again.headers[-1] = ("dlb-source", f"schedule/{request.partition}/999999".encode())
        self.delivered.append(again)
        return again

    def log(self, n: int):
        """Returns a reader of the log that finds the request n at every offset."""
        return lambda source: (self.sent[n].key, self.sent[n].value, self.sent[n].headers)

    def test_record_that_its_producer_wrote_twice(self):
        self.written_again(33)
        report = self.report(written=self.log(33), exactly_once=True)
        self.assertEqual((dict(report.faults), report.written_twice, report.duplicates), ({}, 1, 0))

    def test_record_that_its_producer_wrote_twice_and_that_came_three_times(self):
        self.delivered.append(copy.deepcopy(self.written_again(33)))
        self.assertEqual(dict(self.report(written=self.log(33), exactly_once=True).faults), {"doubled": 1})

    def test_record_that_came_twice_with_the_source_of_another_record(self):
        self.written_again(33)
        self.assertEqual(dict(self.report(written=self.log(34)).faults), {"unknown": 1})

    def test_record_that_the_broker_refused_and_that_came(self):
        doubts = Doubts(refused=[self.unacknowledged(33)])
        self.assertEqual(dict(self.report(doubts=doubts).faults), {"refused_came": 1})

    def test_delivered_and_dead_lettered(self):
        both = copy.deepcopy(self.dead[1])
        both.headers[-2] = ("dlb-source", self.delivered[0].header("dlb-source"))
        self.dead.append(both)
        self.assertEqual(self.report().faults["two_ends"], 1)

    def test_a_changed_byte_in_a_value(self):
        seen = self.delivery(lambda r: r.value)
        seen.value = seen.value[:-1] + bytes([seen.value[-1] ^ 1])
        self.found("value")

    def test_a_tombstone_that_became_empty(self):
        self.delivery(lambda r: r.value is None).value = b""
        self.found("value")

    def test_a_null_key_that_became_empty(self):
        self.delivery(lambda r: r.out_key is None).key = b""
        self.found("key")

    def test_a_changed_key(self):
        self.delivery(lambda r: r.out_key).key += b"x"
        self.found("key")

    def test_a_null_header_that_became_empty(self):
        seen = self.delivery(lambda r: any(v is None for _, v in contract.business(r.headers)))
        seen.headers = [(n, v or b"") for n, v in seen.headers]
        self.found("headers")

    def test_headers_in_another_order(self):
        seen = self.delivery(lambda r: len(set(contract.business(r.headers))) > 2)
        seen.headers = seen.headers[:-2][::-1] + seen.headers[-2:]
        self.assertEqual(self.report().faults["headers"], 1)

    def test_a_duplicate_header_dropped(self):
        def doubled(request):
            own = contract.business(request.headers)
            return len(own) != len(set(own))
        seen = self.delivery(doubled)
        seen.headers = list(dict.fromkeys(seen.headers))
        self.found("headers")

    def test_dlb_header_that_was_passed_on(self):
        self.delivery().headers.insert(0, ("dlb-delay", b"1s"))
        self.found("headers")

    def test_no_id_where_there_was_one(self):
        seen = self.delivery(lambda r: r.id is not None)
        seen.headers = [h for h in seen.headers if h[0] != "dlb-id"]
        self.found("headers")

    def test_a_due_time_off_by_one(self):
        seen = self.delivery()
        due = int(seen.header("dlb-due"))
        seen.headers[-2] = ("dlb-due", str(due - 1).encode())
        self.found("headers")

    def test_another_topic(self):
        seen = self.delivery(lambda r: r.target == "e2e.a" and r.out_key is None)
        seen.topic = "e2e.b"
        self.found("topic")

    def test_another_partition(self):
        seen = self.delivery(lambda r: r.out_key)
        seen.partition = (seen.partition + 1) % PARTITIONS[seen.topic]
        self.found("partition")

    def test_the_partition_of_an_empty_key(self):
        seen = self.delivery(lambda r: r.out_key == b"")
        seen.partition = (seen.partition + 1) % PARTITIONS[seen.topic]
        self.found("partition")

    def test_a_wrong_code(self):
        seen = self.dead[2]
        at = [name for name, _ in seen.headers].index("dlb-error")
        wrong = "no_target" if seen.headers[at][1] != b"no_target" else "no_time"
        seen.headers[-5] = ("dlb-error", wrong.encode())
        self.found("code")

    def test_poison_that_was_delivered(self):
        seen = self.dead.pop(2)
        seen.topic = "e2e.a"
        self.delivered.append(seen)
        self.found("accepted")

    def test_a_good_record_that_was_refused(self):
        seen = self.delivered.pop(2)
        seen.headers = [("dlb-error", b"bad_time"), ("dlb-reason", b"a sentence of its own"),
                        ("dlb-source", seen.header("dlb-source")), ("dlb-sent-at", b"1"), ("dlb-failed-at", b"1")]
        self.dead.append(seen)
        self.found("refused")

    def test_a_dead_letter_without_reason(self):
        self.dead[4].headers[-4] = ("dlb-reason", b"")
        self.found("verdict")

    def test_a_dead_letter_with_another_time_of_sending(self):
        self.dead[4].headers[-2] = ("dlb-sent-at", str(NOW - 1).encode())
        self.found("verdict")

    def test_a_dead_letter_marked_as_truncated_that_is_whole(self):
        seen = next(s for s in self.dead if s.value is not None)
        seen.headers.append(("dlb-truncated", b"value"))
        self.found("truncated")

    def test_a_dead_letter_without_its_value_and_without_the_mark(self):
        request = next(r for r in self.sent if r.code and r.value is not None)
        seen = self.dead[[r for r in self.sent if r.code].index(request)]
        request.code, seen.value = "too_large", None
        seen.headers[-5] = ("dlb-error", b"too_large")
        self.found("value")
        seen.headers.append(("dlb-truncated", b"value"))
        self.assertEqual(dict(self.report().faults), {})

    def test_a_dead_letter_whose_verdict_is_not_at_the_end(self):
        self.dead[4].headers.append(("x", b"y"))
        self.found("verdict")

    def test_a_dead_letter_in_another_lane(self):
        self.dead[4].partition = (self.dead[4].partition + 1) % 8
        self.found("lane")

    def test_a_dead_letter_that_lost_a_header(self):
        seen = next(s for s in self.dead if len(s.headers) > len(contract.VERDICT))
        seen.headers.pop(0)
        self.found("headers")

    def test_a_dead_letter_with_an_older_verdict(self):
        self.dead[4].headers.insert(0, ("dlb-error", b"no_time"))
        self.found("headers")


class Waited(unittest.TestCase):
    """A dead letter of a record that had waited: its dlb- headers are new."""

    CAME = [("a", b"1"), ("dlb-delay", b"5s"), ("dlb-id", b"n")]

    def check(self, headers, code="target_failed"):
        request = Request(b"k", b"v", self.CAME, "waits",
                          code=code, target="e2e.a", delay_ms=5000, id=b"n", waited=True,
                          partition=1, offset=2, stamped_ms=NOW)
        verdict = [("dlb-error", code.encode()), ("dlb-reason", b"a sentence of its own"),
                   ("dlb-source", b"schedule/1/2"), ("dlb-sent-at", str(NOW).encode()),
                   ("dlb-failed-at", str(NOW).encode())]
        seen = Seen("schedule.dead-letter", 1, 0, NOW, b"k", b"v", headers + verdict, NOW)
        return dict(verify([request], [], [seen], "schedule", {}).faults)

    def test_correct_dead_letter(self):
        self.assertEqual(self.check([("a", b"1"), ("dlb-deliver-at", str(NOW + 5000).encode()),
                                     ("dlb-target", b"e2e.a"), ("dlb-id", b"n")]), {})

    def test_without_the_due_time(self):
        self.assertEqual(self.check([("a", b"1"), ("dlb-target", b"e2e.a"), ("dlb-id", b"n")]), {"headers": 1})

    def test_with_unchanged_headers(self):
        self.assertEqual(self.check(self.CAME), {"headers": 1})

    def test_record_that_expired_before_it_was_read_keeps_its_headers(self):
        self.assertEqual(self.check(self.CAME, "expired"), {})

    def test_expired_record_has_its_headers_unchanged_or_rebuilt_but_no_mixture(self):
        rebuilt = [("a", b"1"), ("dlb-deliver-at", str(NOW + 5000).encode()), ("dlb-target", b"e2e.a"), ("dlb-id", b"n")]
        self.assertEqual(self.check(rebuilt, "expired"), {})
        self.assertEqual(self.check([*self.CAME, ("dlb-target", b"e2e.a")], "expired"), {"headers": 1})
        self.assertEqual(self.check(self.CAME[1:], "expired"), {"headers": 2})


class Contract(unittest.TestCase):
    def test_murmur2_equals_that_of_the_java_client(self):
        for key, value in {b"21": -973932308, b"foobar": -790332482, b"abc": 479470107,
                           b"a-little-bit-long-string": -985981536,
                           b"a-little-bit-longer-string": -1486304829,
                           b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971}.items():
            self.assertEqual(contract.murmur2(key), value & 0xFFFFFFFF)

    def test_times_are_formatted_as_documented(self):
        self.assertEqual(contract.rfc3339(1763712000250, 480), "2025-11-21T16:00:00.250+08:00")
        self.assertEqual(contract.rfc3339(1763712000000, -330, micros=300), "2025-11-21T02:29:59.999700-05:30")
        self.assertEqual(contract.rfc3339(1763712000000, lower=True), "2025-11-21t08:00:00z")
        self.assertEqual(contract.duration(37_250), "37s250ms")
        self.assertEqual(contract.duration(0), "0s")
        self.assertEqual(contract.iso_duration(93_784_500), "P1DT2H3M4.5S")
        self.assertEqual(contract.iso_duration(1, micros=500), "PT0.0005S")
        self.assertEqual(contract.iso_duration(0), "PT0S")

    def test_poison_has_enough_kinds(self):
        self.assertGreaterEqual(len(poison.KINDS), 25)
        self.assertEqual(len({k.name for k in poison.KINDS}), len(poison.KINDS))
        self.assertLessEqual({k.code for k in poison.KINDS}, set(contract.CODES))

    def test_a_seed_makes_the_same_requests(self):
        one, other = history(100, 3), history(100, 3)
        self.assertEqual(one[0], other[0])
        self.assertNotEqual(one[0], history(100, 4)[0])


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=1).result
    print(f"selftest: {result.testsRun} run, {len(result.failures) + len(result.errors)} failed")
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
