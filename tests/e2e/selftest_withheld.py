# SPDX-License-Identifier: Apache-2.0
"""Tests of the judge of pauses and limits: it must find each fault that is planted in a correct history. Run by selftest.py."""
from __future__ import annotations

import unittest

from contract import Seen
from withheld import Act, Margins, judge_acts

SET, LIFT, LIFTED, BOUND = 100_000, 130_000, 130_400, 9500
PAUSE = Act("e2e.c", SET, LIFT, LIFTED, BOUND)
LIMIT = Act("e2e.b", SET, LIFT, LIFTED, 7_202_000, rate=10)
SKEWED = Margins(effect_ms=1000, behind_ms=4000, ahead_ms=5000, late_ms=1000)


def delivery(n: int, target: str, due: int, at: int, received: int | None = None) -> Seen:
    source = f"schedule/0/{n}".encode()
    return Seen(target, 0, n, at, b"k", b"v", [("dlb-due", str(due).encode()), ("dlb-source", source)],
                (at if received is None else received) + 2)


def history() -> list[Seen]:
    """Returns deliveries each 200 ms to a target that is paused, and each 100 ms to one that is limited to as many."""
    seen = []
    for n, due in enumerate(range(80_000, 160_000, 200)):
        held = SET + 900 <= due < LIFT
        seen.append(delivery(n, "e2e.c", due, LIFTED + 5000 if held else due))
        seen.append(delivery(n, "e2e.a", due, due))
    seen += [delivery(n, "e2e.b", 90_000, at) for n, at in enumerate(range(95_000, 150_000, 100))]
    return seen


class Withheld(unittest.TestCase):
    def setUp(self):
        self.seen, self.margins = history(), Margins()
        self.acked = {one.header("dlb-source"): 80_000 for one in self.seen}

    def verdict(self):
        return judge_acts([PAUSE, LIMIT], self.seen, self.acked, self.margins)

    def found(self, *words: str):
        faults = self.verdict().faults
        self.assertEqual(len(faults), len(words), faults)
        for fault, word in zip(faults, words):
            self.assertIn(word, fault)

    def test_correct_history_has_no_fault(self):
        verdict = self.verdict()
        self.assertEqual(verdict.faults, [])
        self.assertEqual((verdict.held, verdict.limited), (145, 290))
        self.margins = SKEWED
        self.assertEqual(self.verdict().faults, [])

    def test_delivery_in_a_pause(self):
        self.seen.append(delivery(9000, "e2e.c", 110_000, 110_000))
        self.found("after a pause was set")

    def test_delivery_a_second_after_a_pause_was_set(self):
        self.seen.append(delivery(9000, "e2e.c", 100_000, SET + 999))
        self.found()
        self.seen.append(delivery(9001, "e2e.c", 100_000, SET + 1000))
        self.found("after a pause was set")

    def test_second_copy_counts_once(self):
        again = delivery(0, "e2e.c", 80_000, 115_000)
        self.seen.append(again)
        self.found()

    def test_clock_that_was_wrong_has_an_excuse(self):
        self.margins = SKEWED
        self.seen += [delivery(9000, "e2e.c", 100_000, SET + 5999), delivery(9001, "e2e.c", 100_000, LIFT - 4000)]
        self.found()
        self.seen += [delivery(9002, "e2e.c", 100_000, SET + 6000), delivery(9003, "e2e.c", 100_000, LIFT - 4001)]
        self.found("after a pause was set", "after a pause was set")

    def test_delivery_after_the_bound(self):
        late = LIFTED + BOUND + 1000
        self.acked |= {b"schedule/0/9000": 90_000, b"schedule/0/9001": LIFT - 1}
        self.seen.append(delivery(9000, "e2e.c", 110_000, late, late - 2))
        self.found()
        self.seen.append(delivery(9001, "e2e.c", 110_000, late, late + 1))
        self.found("the command printed 9500 ms")

    def test_time_in_a_pause_of_a_request_that_was_written_later(self):
        self.acked[b"schedule/0/9000"] = LIFT
        self.seen += [delivery(n, "e2e.c", 110_000, LIFTED + 60_000) for n in (9000, 9001)]  # one was not acknowledged
        self.found()

    def test_other_targets_are_not_judged(self):
        self.seen.append(delivery(9000, "e2e.a", 110_000, 110_000))
        self.found()

    def test_burst_above_a_limit(self):
        burst = [delivery(9000 + n, "e2e.b", 110_000, 110_000) for n in range(4)]
        self.seen += burst
        self.found()  # the bucket had saved them
        self.seen += [delivery(9100 + n, "e2e.b", 110_000, 110_000) for n in range(8)]
        self.found("the limit is 10/s")

    def test_rate_above_a_limit(self):
        self.seen += [delivery(9000 + n, "e2e.b", 90_000, at) for n, at in enumerate(range(105_000, 129_000, 1000))]
        self.found("the limit is 10/s")

    def test_wrong_clock_does_not_hide_a_rate_far_above_a_limit(self):
        self.margins = SKEWED
        self.seen += [delivery(9000 + n, "e2e.b", 90_000, at) for n, at in enumerate(range(105_000, 129_000, 60))]
        self.found("the limit is 10/s")
