# SPDX-License-Identifier: Apache-2.0
"""Tests of the judge of duplicates, with evidence that excuses a duplicate and without it. Run by selftest.py."""
from __future__ import annotations

import asyncio
import math
import struct
import unittest
from unittest.mock import patch

from contract import Seen
from doubles import Doubles, Evidence, Line, Take, Write, done_above, judge_doubles
from proxy import Reader

A, B = "a", "b"  # processes
LANE, LEVEL, END = 3, "schedule.10s", "e2e.a"
SOURCE = ("schedule", LANE, 7)


class Doubled(unittest.TestCase):
    """Process A has the lane from 500 on. It sends a request to a level at 1,000 and delivers it at 20,000."""

    def setUp(self):
        self.evidence = Evidence()
        self.ends: list[Seen] = []
        self.hops: list[Seen] = []
        self.take(A, 500)
        self.hop(0, 1000)
        self.end(0, 20_000)

    def hop(self, offset: int, at: float | None) -> None:
        self.wrote(LEVEL, LANE, offset, at)
        self.hops.append(Seen(LEVEL, LANE, offset, 0, b"k", bytes(48) + struct.pack("<qI", 7, LANE), [], 0))

    def end(self, offset: int, at: float | None, stamp: int = 0) -> None:
        self.wrote(END, 1, offset, at)
        self.ends.append(Seen(END, 1, offset, stamp, b"k", b"v", [("dlb-source", b"schedule/3/7")], 0))

    def wrote(self, topic: str, partition: int, offset: int, at: float | None) -> None:
        """Adds a write at this time, acknowledged 30 ms later. None: it was never acknowledged."""
        if at is not None:
            self.evidence.write((topic, partition), offset, 1, Write(at, at + 30, self.line))

    def take(self, process: str, at: float, schedule=(7, ""), level=(0, ""), lane: int = LANE) -> None:
        """The process takes the lane, and writes all later records."""
        self.evidence.take(Take((process, 1), at - 5, at, {("schedule", lane): schedule, (LEVEL, lane): level}))
        self.line = Line(process)

    def committed(self, at: float, told: float | None = None, kept: bool = True, level=None) -> None:
        """Adds a commit. level: its progress on the level. None: new progress of another topic."""
        progress = {("other", 0): (int(at), "")} if level is None else {(LEVEL, LANE): level}
        commit = self.evidence.commit((A, 1), at, progress)
        if told is not None:
            commit.kept_ms, commit.told_ms = told if kept else math.inf, told

    def lived(self, until: int, since: int = 500, process: str = A, joins: int = 1) -> None:
        for at in range(since, until, 100):
            self.evidence.sign((process, joins), at)
            self.evidence.live(process, at)

    def left(self, at: float) -> None:
        """The bridge closes its connection and opens another."""
        self.line.left_ms = at
        self.line = Line(A)

    def judge(self) -> Doubles:
        return judge_doubles(self.ends, self.hops, "schedule", self.evidence)

    def excused(self, **kinds: int) -> None:
        doubles = self.judge()
        self.assertEqual((doubles.unexplained, dict(doubles.excused)),
                         ({}, {kind.replace("_", " "): n for kind, n in kinds.items()}))

    def unexplained(self) -> None:
        doubles = self.judge()
        self.assertEqual((list(doubles.unexplained), doubles.excused.total()), ([b"schedule/3/7"], 0))

    def handed_over(self) -> None:
        """B has the lane from 27,000 on, knows the record on the level, and delivers it again."""
        self.take(B, 27_000, schedule=(8, ""))
        self.end(1, 27_010)

    def test_record_that_came_once(self):
        self.take(B, 20_100)
        self.excused()

    def test_record_whose_write_was_never_acknowledged(self):
        self.ends.clear()
        self.end(5, None)
        self.end(6, 27_000)
        self.excused(not_acknowledged=1)

    def test_record_whose_answer_came_while_its_bridge_was_stalled(self):
        self.lived(20_000)
        self.lived(40_000, since=23_100)
        self.left(23_100)
        self.end(1, 27_010)
        self.excused(not_acknowledged=1)

    def test_record_whose_bridge_lived_when_its_answer_came(self):
        self.lived(40_000)
        self.left(23_100)
        self.end(1, 27_010)
        self.unexplained()

    def test_record_whose_bridge_sent_more_on_the_same_line(self):
        self.lived(20_000)
        self.line.alive_ms = 20_040
        self.left(23_100)
        self.end(1, 27_010)
        self.unexplained()

    def test_record_that_was_forwarded_just_before_its_bridge_died(self):
        self.lived(20_700)
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_that_was_known_for_long_before_its_bridge_died(self):
        self.lived(21_800)
        self.handed_over()
        self.unexplained()

    def test_record_whose_bridge_was_a_member_again_when_it_was_known(self):
        self.lived(20_000)
        self.lived(25_000, since=20_500, joins=2)
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_bridge_was_known_to_no_coordinator(self):
        self.lived(20_000)
        for at in range(20_100, 25_000, 250):
            self.evidence.live(A, at)  # it sent a request, and was referred to another coordinator
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_commit_was_not_answered(self):
        self.lived(22_000)
        self.committed(20_100)
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_commits_were_refused(self):
        self.lived(22_000, since=550)
        for at in range(20_100, 22_000, 100):
            self.committed(at, at + 10, kept=False)
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_commits_were_refused_each_time_that_a_coordinator_was_found(self):
        self.lived(20_000)
        for at in range(20_100, 25_000, 600):
            self.evidence.sign((A, 1), at)
            self.committed(at + 1, at + 10, kept=False)
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_bridge_lived_on_without_a_commit_after_one_was_refused(self):
        self.lived(20_000)
        for at in range(20_100, 25_000, 600):
            self.lived(at + 300, since=at)
            self.committed(at + 1, at + 10, kept=False)
        self.lived(25_500, since=25_200)
        self.handed_over()
        self.unexplained()

    def test_record_whose_bridge_died_just_after_an_earlier_commit_was_answered_at_last(self):
        self.lived(21_250)
        self.committed(20_000, 21_100, kept=True)
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_bridge_lived_on_after_an_earlier_commit_was_answered_at_last(self):
        self.lived(21_900)
        self.committed(20_000, 21_100, kept=True)
        self.handed_over()
        self.unexplained()

    def test_record_after_which_other_progress_was_committed(self):
        self.lived(20_000)
        self.committed(20_150, 20_800)
        self.committed(21_600, 21_610)
        self.handed_over()
        self.unexplained()

    def test_record_after_which_only_progress_of_others_was_committed(self):
        self.lived(20_000)
        self.committed(15_000, 15_010, level=(0, ""))
        self.committed(20_150, 20_800)
        self.committed(21_600, 21_610)
        self.handed_over()
        self.unexplained()

    def test_first_commit_in_a_while_proves_nothing(self):
        """The commit may have waited in the client for a coordinator."""
        self.lived(20_000)
        self.committed(23_000, 23_010)
        self.handed_over()
        self.excused(not_committed=1)

    def test_commit_right_after_another_proves_nothing(self):
        self.lived(20_000)
        self.committed(20_150, 20_800)
        self.committed(20_810, 20_820)
        self.handed_over()
        self.unexplained()

    def test_commit_after_an_immediate_answer_proves_nothing(self):
        """Its thread may not have processed both answers yet."""
        self.lived(20_000)
        self.committed(20_040, 20_050)
        self.committed(21_000, 21_010)
        self.handed_over()
        self.excused(not_committed=1)

    def test_repeated_commit_after_another_proves_nothing(self):
        self.lived(20_000)
        self.committed(20_010, level=(0, ""))
        self.committed(22_000, 22_010)
        self.committed(24_000, 24_010, level=(0, ""))
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_that_was_committed(self):
        self.lived(20_000)
        self.committed(21_600, 21_610, level=(1, ""))
        self.handed_over()
        self.unexplained()

    def test_record_whose_bridge_committed_without_it(self):
        self.lived(20_000)
        self.committed(20_150, 20_800)
        self.committed(21_600, 21_610, level=(0, "1 0 8f3c9a11 Ag"))
        self.handed_over()
        self.unexplained()

    def test_repeated_earlier_commit_proves_nothing(self):
        self.lived(20_000)
        self.committed(20_010, level=(0, ""))
        self.committed(24_000, 24_010, level=(0, ""))
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_commit_lies_below_an_earlier_one_that_was_sent_again(self):
        self.lived(20_000)
        self.committed(20_010, level=(0, ""))
        self.committed(24_000, 24_010, level=(1, ""))
        self.committed(24_001, 24_020, level=(0, ""))
        self.handed_over()
        self.excused(not_committed=1)

    def test_record_whose_commit_lies_above_an_earlier_one_that_was_sent_again(self):
        self.lived(20_000)
        self.committed(20_010, level=(0, ""))
        self.committed(24_000, 24_010, level=(0, ""))
        self.committed(24_001, 24_020, level=(1, ""))
        self.handed_over()
        self.unexplained()

    def test_record_whose_bridge_repeats_progress_that_was_kept_before_it(self):
        self.lived(20_000)
        self.committed(20_010, 20_020, level=(0, ""))
        self.committed(22_000, 22_010)
        self.committed(24_000, 24_010, level=(0, ""))
        self.handed_over()
        self.unexplained()

    def test_record_whose_commit_lies_below_a_later_one(self):
        self.lived(20_000)
        self.committed(21_000, 21_010, level=(1, ""))
        self.committed(22_000, 22_010, level=(0, "1 0 8f3c9a11 Ag"))
        self.handed_over()
        self.unexplained()

    def test_record_whose_commit_lies_below_an_earlier_one_with_the_same_progress(self):
        self.lived(20_000)
        self.committed(20_100, level=(1, ""))
        self.committed(24_000, 24_010, level=(2, ""))
        self.committed(24_001, 24_020, level=(1, ""))
        self.handed_over()
        self.unexplained()

    def test_record_whose_commit_was_refused_and_never_tried_again(self):
        self.lived(22_000)
        self.committed(20_100, 20_110, kept=False)
        self.handed_over()
        self.unexplained()

    def test_record_that_the_next_owner_knew(self):
        self.lived(20_700)
        self.take(B, 27_000, schedule=(8, ""), level=(1, ""))
        self.end(1, 27_010)
        self.unexplained()

    def test_record_that_the_next_owner_knew_above_the_base(self):
        self.ends.clear()
        self.hops.clear()
        self.hop(3, 1100)
        self.end(2, 20_000)
        self.take(B, 27_000, schedule=(8, ""), level=(0, "1 0 8f3c9a11 CA"))
        self.end(3, 27_010)
        self.unexplained()

    def test_record_whose_lane_was_not_taken_again(self):
        self.lived(20_700)
        self.end(1, 27_010)
        self.unexplained()

    def test_record_whose_lane_was_taken_before_it_and_another_lane_after(self):
        self.take(A, 19_000, schedule=(8, ""))
        self.take(B, 20_100, lane=4)
        self.line = Line(A)
        self.end(1, 27_010)
        self.unexplained()

    def test_record_that_was_hopped_twice(self):
        self.lived(1100)
        self.take(B, 8000)
        self.hop(1, 8010)
        self.lived(30_000, since=8000, process=B)
        self.end(1, 20_010)
        self.excused(not_committed=1)

    def sent_after_its_lane_was_lost(self, *others: int) -> None:
        """others: times at which the same process sent other records to the partition."""
        self.ends.clear()
        self.handed_over()
        self.wrote(END, 1, 50, 27_100)
        self.wrote(END, 1, 51, 27_200)
        self.line = Line(A)
        for offset, at in enumerate(others, start=52):
            self.wrote(END, 1, offset, at)
        self.end(60, 28_000)

    def test_record_that_waited_in_its_process_when_the_lane_was_lost(self):
        self.sent_after_its_lane_was_lost(26_000, 27_300, 27_310, 27_320, 27_330, 27_340)
        self.excused(sent_late=1)

    def test_record_that_was_sent_behind_others_that_were_not_answered_yet(self):
        self.sent_after_its_lane_was_lost(27_300, 27_310, 27_320, 27_330, 27_340, 27_980, 27_990)
        self.excused(sent_late=1)

    def test_record_that_was_sent_after_all_waiting_ones_were_gone(self):
        self.sent_after_its_lane_was_lost(27_300, 27_310, 27_320, 27_330, 27_340, 27_400)
        self.unexplained()

    def sent_after_its_lane_came_back(self, stamp: int) -> None:
        """A loses the lane to B and gets it again. Then it sends a record that B has delivered. stamp: of that record."""
        self.ends.clear()
        self.take(B, 27_000, schedule=(8, ""))
        self.end(1, 27_010, stamp=27_005)
        self.take(A, 35_000, schedule=(8, ""), level=(1, ""))
        self.end(60, 48_000, stamp=stamp)

    def test_record_that_waited_in_its_process_until_the_lane_came_back(self):
        self.sent_after_its_lane_came_back(stamp=26_000)
        self.excused(sent_late=1)

    def test_record_that_was_forwarded_again_after_the_lane_came_back(self):
        self.sent_after_its_lane_came_back(stamp=47_900)
        self.unexplained()

    def test_record_with_more_copies_than_excuses(self):
        self.lived(20_700)
        self.handed_over()
        self.lived(40_000, since=27_000, process=B)
        self.end(2, 30_000)
        doubles = self.judge()
        self.assertEqual((list(doubles.unexplained), dict(doubles.excused)), ([b"schedule/3/7"], {"not committed": 1}))

    def test_later_copy_is_not_the_source_of_an_earlier_forward(self):
        self.lived(20_700)
        self.hop(1, 21_000)
        self.take(B, 27_000, schedule=(8, ""), level=(1, ""))
        self.end(1, 27_010)
        self.unexplained()

    def test_excusable_forwards_are_counted(self):
        self.lived(1100)
        self.ends.clear()
        self.take(B, 1100)
        self.end(4, 20_000)
        doubles = self.judge()
        self.assertEqual((doubles.about, doubles.forwards), (1, 2))

    def test_progress_is_read_as_the_bridge_writes_it(self):
        self.assertEqual(done_above("1 41 0dd3f1a0 CgE"), {1, 3, 8})
        self.assertEqual(done_above("1 41 0dd3f1a0"), frozenset())
        self.assertEqual(done_above(""), frozenset())

    def test_arrival_time_of_a_request_that_was_read_later(self):
        reader = Reader(loop=asyncio.new_event_loop())
        with patch("time.time", side_effect=[1, 2, 3]):
            for data in (b"aab", b"b", b"c"):
                reader.feed_data(data)
        self.assertEqual([reader.came_ms(size) for size in (2, 2, 1)], [1000, 2000, 3000])
