# SPDX-License-Identifier: Apache-2.0
"""Tests of the judgment of cancels: it must find each fault that is planted in a correct history. Run by selftest.py."""
from __future__ import annotations

import copy
import unittest

from contract import Request, Seen
from doubles import Evidence, Line, Take, Write
from generator import Generator
from orders import Orders
from verifier import verify
from voids import Judge, Traffic, Verdict, name_of, place_unplaced, voids

LANE, LEVEL, END = 3, "schedule.10s", "e2e.a"
A, B = "bridge-1.1", "bridge-2.1"  # processes
DUE = 20_000
CANCEL = [("dlb-op", b"cancel")]
REPLACE = [("dlb-op", b"replace"), ("dlb-deliver-at", b"20000")]


def ask(offset: int, key: bytes | None = b"k", headers=(), at: int = 1000, **more) -> Request:
    """Returns a request of the lane that was sent at this time, acknowledged 10 ms later, and is due at DUE."""
    return Request(key, b"v", list(headers), "good", due_ms=DUE, target=END, out_key=key, partition=LANE, offset=offset,
                   stamped_ms=at, sent_ms=at, acked_at=(at + 10) / 1000, **more)


def logged(request: Request, offset: int | None = None) -> Seen:
    return Seen("schedule", request.partition, request.offset if offset is None else offset, request.stamped_ms, request.key,
                request.value, request.headers, request.sent_ms)


class Voided(unittest.TestCase):
    """Process A has the lane from 500 on. The request 7 is due at 20,000. The cancel 9 is sent at 5,000."""

    def setUp(self):
        self.request, self.cancel = ask(7), ask(9, headers=CANCEL, at=5000)
        self.journal = [self.request, self.cancel]
        self.log: list[Seen] = []
        self.unsure: list[Request] = []
        self.ends: list[Seen] = []
        self.hops: list[tuple[Seen, tuple[int, int]]] = []
        self.evidence = Evidence()
        self.take(A, 500)

    def take(self, process: str, at: float, joins: int = 1) -> None:
        self.evidence.take(Take((process, joins), at - 5, at, {("schedule", LANE): (7, "")}))

    def wrote(self, seen: Seen, process: str, at: float) -> Seen:
        self.evidence.write((seen.topic, seen.partition), seen.offset, 1, Write(at, at + 30, Line(process)))
        return seen

    def deliver(self, request: Request, process: str = A, at: int = DUE) -> Seen:
        seen = Seen(END, 1, len(self.ends), at, request.key, request.value,
                    [("dlb-due", b"%d" % DUE), ("dlb-source", b"schedule/%d/%d" % (LANE, request.offset))], at + 30)
        self.ends.append(self.wrote(seen, process, at))
        return seen

    def hop(self, offset: int, at: int, process: str = A) -> None:
        seen = Seen(LEVEL, LANE, len(self.hops), at, b"other", b"", [], at + 30)
        self.hops.append((self.wrote(seen, process, at), (LANE, offset)))

    def judge(self, wins_ms: int | None = None, skewed: tuple[str, ...] = (), evidence: bool = True) -> Verdict:
        traffic = Traffic(self.evidence, self.ends, self.hops, skewed) if evidence else None
        return Judge(self.journal, self.log, self.unsure).judge(self.ends, traffic, wins_ms)

    def faults(self, exactly_once: bool = True) -> dict[str, int]:
        """Returns the faults that the verifier finds among the requests that it must verify."""
        return dict(verify(self.judge().to_verify, self.ends, [], "schedule", {}, exactly_once=exactly_once).faults)

    # Correct histories.

    def test_cancelled_request_may_be_missing(self):
        self.assertEqual((len(self.judge().dropped), self.faults()), (1, {}))

    def test_cancelled_request_may_come_before_its_cancel_is_read(self):
        self.deliver(self.request)
        found = self.judge()
        self.assertEqual((found.wrongly, found.came_first, found.proofs, self.faults()), ([], 1, 1, {}))

    def test_request_behind_the_cancel_must_come(self):
        self.journal.append(ask(10, at=5001))
        self.assertEqual(self.faults(), {"lost": 1})
        self.deliver(self.journal[-1])
        self.assertEqual(self.faults(), {})

    def test_replace_voids_the_request_and_comes_out(self):
        self.journal[1] = ask(9, headers=REPLACE, at=5000)
        self.assertEqual(self.faults(), {"lost": 1})
        self.deliver(self.journal[1])
        found = self.judge()
        self.assertEqual((self.faults(), len(found.dropped), found.replaces, found.cancels), ({}, 1, 1, 0))

    # The cancel had won.

    def test_delivery_after_its_process_forwarded_a_request_behind_the_cancel(self):
        self.hop(10, at=6000)
        self.deliver(self.request)
        self.assertEqual(len(self.judge().wrongly), 1)

    def test_delivery_stamped_before_that_forward_was_acknowledged_is_right(self):
        self.hop(10, at=DUE - 20)
        self.deliver(self.request)
        self.assertEqual(self.judge().wrongly, [])

    def test_forward_of_another_process_proves_nothing(self):
        self.hop(10, at=6000, process=B)
        self.deliver(self.request)
        self.assertEqual(self.judge().wrongly, [])

    def test_forward_before_the_cancel_proves_nothing(self):
        self.hop(8, at=6000)
        self.deliver(self.request)
        self.assertEqual(self.judge().wrongly, [])

    def test_delivery_by_a_process_that_got_the_lane_after_the_cancel_was_acknowledged(self):
        self.take(B, 5100)
        self.deliver(self.request, B)
        self.assertEqual(len(self.judge().wrongly), 1)

    def test_delivery_by_a_process_that_got_the_lane_before(self):
        self.take(B, 5012)  # it read its offsets at 5,007
        self.deliver(self.request, B)
        self.assertEqual(self.judge().wrongly, [])

    def test_offsets_read_again_without_a_join_prove_nothing(self):
        self.take(A, 6000)
        self.deliver(self.request)
        self.assertEqual(self.judge().wrongly, [])

    def test_lane_that_came_back_to_the_same_process(self):
        self.take(A, 6000, joins=2)
        self.deliver(self.request)
        self.assertEqual(len(self.judge().wrongly), 1)

    def test_stamp_of_a_skewed_clock_is_not_compared(self):
        self.take(A, 6000, joins=2)
        self.hop(10, at=6000)
        self.deliver(self.request)
        self.assertEqual(self.judge(skewed=("bridge-1",)).wrongly, [])

    def test_process_of_a_skewed_clock_that_started_after_the_cancel(self):
        self.take(B, 5100)
        self.deliver(self.request, B)
        self.assertEqual(len(self.judge(skewed=("bridge-2",)).wrongly), 1)

    def test_time_alone_proves_only_in_a_run_without_stalls(self):
        self.deliver(self.request)
        self.assertEqual((len(self.judge(wins_ms=2000).by_time), self.judge().by_time), (1, []))
        self.assertEqual(self.judge(wins_ms=DUE - 5010).by_time, [])

    def test_second_delivery_is_judged_too(self):
        self.deliver(self.request)
        self.take(B, 21_000)
        self.deliver(self.request, B, at=22_000)
        self.assertEqual(len(self.judge().wrongly), 1)

    def test_both_the_replaced_request_and_the_replace_came(self):
        self.journal[1] = ask(9, headers=REPLACE, at=5000)
        self.deliver(self.journal[1])
        self.deliver(self.request, at=DUE + 100)
        self.assertEqual(len(self.judge().wrongly), 1)

    # Each request is accounted for.

    def test_replace_that_came_twice(self):
        self.journal[1] = ask(9, headers=REPLACE, at=5000)
        for _ in range(2):
            self.deliver(self.journal[1])
        self.assertEqual(self.faults(), {"doubled": 1})
        self.assertEqual(verify(self.judge().to_verify, self.ends, [], "schedule", {}).duplicates, 1)

    def test_cancel_that_came_out(self):
        self.deliver(self.cancel)
        self.assertEqual(self.faults(), {"unknown": 1})

    def lost_under(self, cancel: Request) -> None:
        """The request is missing, and this cancel is no excuse."""
        self.journal[1] = cancel
        found = self.judge()
        self.assertEqual((len(found.dropped), self.request in found.to_verify), (0, True))
        self.assertEqual(self.faults(), {"lost": 1 + (cancel.code is not None)})  # a refused one is a dead letter

    def test_cancel_before_its_request_is_no_excuse(self):
        self.lost_under(ask(6, headers=CANCEL, at=900))

    def test_cancel_of_another_key_is_no_excuse(self):
        self.lost_under(ask(9, b"other", CANCEL, 5000))

    def test_cancel_of_the_key_is_no_excuse_for_a_request_with_an_id(self):
        self.request.headers = [("dlb-id", b"k")]
        self.lost_under(ask(9, b"k", CANCEL, 5000))

    def test_cancel_in_another_lane_is_no_excuse(self):
        cancel = ask(9, headers=CANCEL, at=5000)
        cancel.partition = LANE + 1
        self.lost_under(cancel)

    def test_refused_cancel_and_refused_replace_are_no_excuse(self):
        self.lost_under(ask(9, headers=CANCEL, at=5000, code="bad_op"))
        self.lost_under(ask(9, headers=[("dlb-op", b"replace")], at=5000, code="no_time"))

    def test_replace_that_is_refused_for_its_target_is_an_excuse(self):
        self.journal[1] = ask(9, headers=REPLACE, at=5000, code="target_denied")
        self.assertEqual(len(self.judge().dropped), 1)

    def test_request_that_was_late_when_it_was_cancelled(self):
        self.lost_under(ask(9, headers=CANCEL, at=DUE + 1100))
        self.journal[1] = ask(9, headers=CANCEL, at=DUE + 900)
        self.assertEqual(len(self.judge().dropped), 1)

    def test_refused_request_is_a_dead_letter_even_if_it_is_cancelled(self):
        self.request.code = "no_time"
        self.assertEqual(self.faults(), {"lost": 1})

    def test_request_without_a_key_has_no_name(self):
        self.request.key = None
        self.lost_under(ask(9, None, CANCEL, 5000))
        self.assertIsNone(name_of(ask(7, b"")))
        self.assertIsNone(name_of(ask(7, b"k" * 129)))
        self.assertEqual(name_of(ask(7, b"", [("dlb-id", b"i")])), (LANE, "id", b"i"))

    # Cancels with an unknown outcome.

    def test_unacknowledged_cancel_counts_if_the_log_has_it(self):
        self.unsure = [self.journal.pop()]
        self.unsure[0].partition = self.unsure[0].offset = -1
        self.unsure[0].acked_at = 0
        self.assertEqual(self.faults(), {"lost": 1})
        self.log = [Seen("schedule", LANE, 9, 5000, b"k", b"v", CANCEL, 5000)]
        self.assertEqual((self.faults(), len(self.judge().dropped)), ({}, 1))
        self.take(B, 6000)
        self.deliver(self.request, B)
        self.assertEqual(self.judge(wins_ms=1).wrongly + self.judge(wins_ms=1).by_time, [])

    def test_second_copy_of_a_replace_voids_the_first(self):
        self.journal = [ask(9, headers=REPLACE, at=5000)]
        self.log = [logged(self.journal[0]), logged(self.journal[0], 12)]
        self.assertEqual(len(self.judge().dropped), 1)

    def test_request_acknowledged_without_an_offset_is_found_in_the_log(self):
        unplaced, log = copy.deepcopy(self.journal[0]), [logged(self.request)]
        unplaced.partition = unplaced.offset = -1
        journal = [self.cancel]
        self.assertEqual(place_unplaced(journal, [unplaced], log), [])
        self.assertEqual((unplaced.partition, unplaced.offset), (LANE, 7))
        self.assertEqual(place_unplaced(journal, [copy.deepcopy(unplaced)], log)[0].offset, 7)


class Made(unittest.TestCase):
    """The requests of Orders."""

    def made(self, share: float, count: int = 4000) -> list[Request]:
        orders = Orders(Generator(5, [END], END, 20_000), 5, share)
        return [orders.make(n, 1_763_712_000_000 + n * 5) for n in range(count)]

    def test_share_of_the_named_requests_is_cancelled(self):
        for share in (0.05, 0.5, 0.95):
            made = self.made(share)
            named = [r for r in made if not voids(r) and name_of(r)]
            cancels = [r for r in made if r.kind != "good"]
            self.assertAlmostEqual(len(cancels) / len(named), share, delta=0.15)

    def test_kinds_of_cancels_are_mixed(self):
        kinds = {r.kind for r in self.made(0.5)}
        self.assertEqual(kinds, {"good", "cancel", "replace", "replace without a time", "replace to a denied target"})
