# SPDX-License-Identifier: Apache-2.0
"""A bound that excuses everything is no bound: what came twice, with a trouble that explains it and without. Run by
selftest.py."""
from __future__ import annotations

import struct
import unittest
from collections.abc import Iterable

from contract import Seen
from doubles import Commit, Doubles, Trouble, forwards_of, judge_doubles
from steps import Steps


class Doubled(unittest.TestCase):
    """A request that hopped at 1,000 and at 11,000 and came at 20,000, and a bridge that was killed."""

    def setUp(self):
        self.hops = [self.hop(1000), self.hop(11_000)]
        self.ends = [self.end(20_000)]

    @staticmethod
    def hop(at: int, lane: int = 3, offset: int = 7) -> Seen:
        return Seen("schedule.10s", lane, 0, at, b"k", bytes(48) + struct.pack("<qI", offset, lane), [], at + 30)

    @staticmethod
    def end(at: int) -> Seen:
        return Seen("e2e.a", 1, 0, at, b"k", b"v", [("dlb-source", b"schedule/3/7")], at + 30)

    def judge(self, *troubles: tuple, lead_ms: int = 200, commits: Iterable[Commit] = (), **more) -> Doubles:
        return judge_doubles(self.ends, forwards_of(self.ends, self.hops, "schedule", **more),
                             [Trouble(*trouble) for trouble in troubles], lead_ms, commits)

    def excused(self, *troubles: tuple, **more) -> dict[str, int]:
        doubles = self.judge(*troubles, **more)
        self.assertEqual(doubles.unexplained, {})
        return dict(doubles.excused)

    def unexplained(self, *troubles: tuple, **more) -> None:
        doubles = self.judge(*troubles, **more)
        self.assertEqual((list(doubles.unexplained), doubles.excused.total()), ([b"schedule/3/7"], 0))

    def test_one_that_came_once(self):
        self.assertEqual(self.excused(("kill", 20_100, 20_100)), {})

    def test_one_that_came_just_before_a_kill(self):
        self.ends.append(self.end(27_000))
        self.assertEqual(self.excused(("kill", 20_100, 20_100)), {"kill": 1})

    def test_one_that_had_long_come_when_the_bridge_was_killed(self):
        self.ends.append(self.end(27_000))
        self.unexplained(("kill", 20_261, 20_261))
        self.unexplained(("kill", 60_000, 60_000), ("kill", 5000, 5000))
        self.unexplained()

    def test_one_whose_commit_was_as_slow_as_itself(self):
        self.ends.append(self.end(27_000))
        self.ends[0].received_ms = 21_500
        self.assertEqual(self.excused(("kill", 23_200, 23_200)), {"kill": 1})
        self.unexplained(("kill", 23_201, 23_201))

    def test_one_that_was_forwarded_after_a_kill(self):
        self.ends = [self.end(20_005), self.end(27_000)]
        self.unexplained(("kill", 20_001, 20_002))

    def test_one_that_was_forwarded_again_just_before_a_kill(self):
        self.ends.append(self.end(27_000))
        self.unexplained(("kill", 27_100, 27_100))

    def test_a_hop_just_before_a_kill(self):
        self.hops.append(self.hop(18_000))
        self.ends.append(self.end(20_000))
        self.assertEqual(self.excused(("kill", 11_100, 11_100)), {"kill": 1})

    def test_one_that_came_more_often_than_there_were_kills(self):
        self.ends += [self.end(27_000), self.end(27_001)]
        doubles = self.judge(("kill", 20_100, 20_100))
        self.assertEqual((list(doubles.unexplained), dict(doubles.excused)), ([b"schedule/3/7"], {"kill": 1}))

    def test_the_narrowest_excuses(self):
        self.ends.append(self.end(27_000))
        self.assertEqual(self.excused(("cut", 15_000, 25_000), ("kill", 20_100, 20_100)), {"kill": 1})

    def known(self, *sent_ms: int, kept: bool = True, generations: tuple[int, ...] = (4, 4)) -> list[Commit]:
        return [Commit(("member", generation), frozenset({3}), at, kept) for at, generation in zip(sent_ms, generations)]

    def test_one_that_a_commit_showed_to_be_known_after_a_fault(self):
        self.ends.append(self.end(27_000))
        cut = ("cut", 15_000, 25_000)
        self.unexplained(cut, commits=self.known(19_900, 20_660))
        for commits in (self.known(19_900, 20_660, kept=False), self.known(19_900, 20_659), self.known(20_660),
                        self.known(19_900, 20_660, generations=(4, 5)), [Commit(("member", 4), frozenset({2}), at, True)
                                                                         for at in (19_900, 20_660)]):
            self.assertEqual(self.excused(cut, commits=commits), {"cut": 1})
        self.assertEqual(self.excused((*cut, True), commits=self.known(19_900, 20_660)), {"cut": 1})

    def test_one_whose_commit_waited_for_the_answer_to_the_one_before(self):
        self.ends.append(self.end(27_000))
        waited = [Commit(("member", 4), frozenset({lane}), at, True, answered)
                  for lane, at, answered in ((3, 19_000, 19_010), (5, 20_020, 21_000))]
        self.assertEqual(self.excused(("kill", 21_200, 21_200), commits=waited), {"kill": 1})
        self.unexplained(("kill", 21_201, 21_201), commits=waited)
        self.unexplained(("kill", 21_200, 21_200), commits=waited[:1])
        waited[1].answered_ms = 30_000
        self.assertEqual(self.excused(("kill", 25_220, 25_220), commits=waited), {"kill": 1})
        self.unexplained(("kill", 25_221, 25_221), commits=waited)

    def test_one_that_was_in_flight_when_a_fault_began(self):
        self.ends.append(self.end(27_000))
        self.assertEqual(self.excused(("kill", 20_010, 30_000), commits=self.known(19_900, 20_660)), {"kill": 1})

    def test_one_that_was_in_flight_for_so_long_that_it_may_have_been_given_up(self):
        self.ends.append(self.end(27_000))
        self.ends[0].received_ms = 24_100
        self.assertEqual(self.excused(("stop", 15_000, 25_000), commits=self.known(19_900, 29_000)), {"stop": 1})

    def test_what_could_excuse_is_counted(self):
        doubles = self.judge(("cut", 10_000, 30_000))
        self.assertEqual((doubles.about, doubles.forwards), (2, 3))

    def test_one_by_a_clock_that_was_ahead(self):
        clock = Steps()
        clock.add(0, 5000)
        self.ends = [self.end(25_000), self.end(27_000)]
        self.ends[0].received_ms = 20_030
        self.assertEqual(self.excused(("kill", 20_100, 20_100), moments=clock.moments), {"kill": 1})
        self.unexplained(("kill", 20_300, 20_300), moments=clock.moments)
