# SPDX-License-Identifier: Apache-2.0
"""Tests of the verifier: faults of a retry's delivery."""
from __future__ import annotations

import unittest

from contract import Header, Request, Retry, Seen
from verifier import READ_MS, verify

SENT = 1_763_712_000_000
ORIGIN = b"schedule/3/17"


class Retried(unittest.TestCase):
    def report(self, wait: int = 1000, late: int = 3, due_ms: int | None = None, **changes: bytes):
        request = Request(b"k", b"v", [("own", b"1"), ("dlb-attempt", b"1"), ("dlb-retry", b"list")], "retry",
                          target="e2e.a", out_key=b"k", partition=2, offset=40, sent_ms=SENT, stamped_ms=SENT,
                          due_ms=due_ms, retry=Retry(2, 800, 1200, SENT - 5000, ORIGIN))
        due = SENT + wait
        ours = {"dlb_attempt": b"2", "dlb_first_at": str(SENT - 5000).encode(), "dlb_origin": ORIGIN,
                "dlb_due": str(due).encode(), "dlb_source": b"schedule/2/40", **changes}
        headers: list[Header] = [("own", b"1")] + [(name.replace("_", "-"), value) for name, value in ours.items() if value]
        seen = Seen("e2e.a", 0, 0, due + late, b"k", b"v", headers, due + late + 2)
        return verify([request], [seen], [], "schedule", {})

    def found(self, name: str, **plant) -> None:
        self.assertIn(name, self.report(**plant).faults)

    def test_correct_delivery_has_no_fault(self):
        self.assertFalse(self.report().faults)
        self.assertFalse(self.report(wait=1200 + READ_MS).faults)  # read late
        self.assertEqual(self.report(late=7).lateness_ms, [7])

    def test_retry_whose_request_has_a_due_time(self):
        self.assertFalse(self.report(wait=10, due_ms=SENT + 10).faults)
        self.found("headers", wait=1000, due_ms=SENT + 10)
        self.found("headers", wait=10, due_ms=SENT + 10, dlb_attempt=b"1")

    def test_wait_that_is_too_short(self):
        self.found("early", wait=799)

    def test_wait_that_is_too_long(self):
        self.found("wait", wait=1201 + READ_MS)

    def test_delivery_before_its_due_time(self):
        self.found("early", late=-1)

    def test_another_number(self):
        self.found("headers", dlb_attempt=b"1")
        self.found("headers", dlb_attempt=b"")

    def test_another_first_time(self):
        self.found("headers", dlb_first_at=str(SENT).encode())

    def test_another_origin(self):
        self.found("headers", dlb_origin=b"schedule/2/40")
        self.found("headers", dlb_origin=b"")


class Spread(unittest.TestCase):
    def report(self, after: int, expires_ms: int | None = None, late: int = 3):
        request = Request(b"k", b"v", [("dlb-spread", b"4s")], "spread", target="e2e.a", out_key=b"k", partition=2, offset=40,
                          sent_ms=SENT, stamped_ms=SENT, due_ms=SENT + 1000, spread_ms=4000, expires_ms=expires_ms)
        due = SENT + 1000 + after
        headers: list[Header] = [("dlb-due", str(due).encode()), ("dlb-source", b"schedule/2/40")]
        seen = Seen("e2e.a", 0, 0, due + late, b"k", b"v", headers, due + late + 2)
        return verify([request], [seen], [], "schedule", {})

    def test_time_in_the_spread_has_no_fault(self):
        self.assertFalse(self.report(0).faults or self.report(3999).faults)
        self.assertFalse(self.report(0, expires_ms=SENT + 1000).faults)  # no time is left
        self.assertEqual(self.report(3000, late=9).lateness_ms, [9])

    def test_time_before_the_spread(self):
        self.assertIn("spread", self.report(-1).faults)

    def test_time_after_the_spread(self):
        self.assertIn("spread", self.report(4000).faults)

    def test_time_at_the_expiry(self):
        self.assertIn("spread", self.report(2000, expires_ms=SENT + 3000).faults)

    def test_delivery_before_the_chosen_time(self):
        self.assertIn("early", self.report(2000, late=-1).faults)


if __name__ == "__main__":
    unittest.main()
