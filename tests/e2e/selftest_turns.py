# SPDX-License-Identifier: Apache-2.0
"""The places of the machine are never given twice, and none is free while a scenario that fits waits. Run by selftest.py."""
from __future__ import annotations

import os
import subprocess
import threading
import unittest

from turns import play_in_turns, stopped

PLACES = 3
NEEDED = {"heavy": 2, "heavier": 2, "light": 1, "lighter": 1, "last": 1, "whole": 9}


class Turns(unittest.TestCase):
    def setUp(self):
        self.lock, self.running, self.most, self.met = threading.Lock(), [], 0, []

    def play(self, name: str) -> str:
        with self.lock:
            self.running.append(name)
            self.most = max(self.most, sum(min(NEEDED[n], PLACES) for n in self.running))
            self.met.append(set(self.running))
        threading.Event().wait(0.05)
        with self.lock:
            self.running.remove(name)
        return name.upper()

    def run_turns(self, names: list[str], places: int = PLACES) -> list[str]:
        return play_in_turns(names, places, NEEDED.get, self.play)

    def test_outcomes_are_in_the_order_of_turns(self):
        names = list(NEEDED)
        self.assertEqual(self.run_turns(names), [name.upper() for name in names])

    def test_no_place_is_given_twice(self):
        self.run_turns(list(NEEDED))
        self.assertEqual(self.most, PLACES)

    def test_a_large_one_does_not_hold_back_small_ones(self):
        self.run_turns(["heavy", "heavier", "light"])
        self.assertIn({"heavy", "light"}, self.met)

    def test_one_that_needs_all_places_runs_alone(self):
        self.assertEqual(self.run_turns(["whole", "light"], places=1), ["WHOLE", "LIGHT"])
        self.assertEqual(self.run_turns(["light", "whole"]), ["LIGHT", "WHOLE"])
        self.assertFalse([names for names in self.met if "whole" in names and len(names) > 1])

    def test_other_work_is_stopped_meanwhile(self):
        with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
            with self.assertRaises(ValueError), stopped(other.pid):
                self.assertTrue(os.WIFSTOPPED(os.waitpid(other.pid, os.WUNTRACED)[1]))
                raise ValueError
            self.assertTrue(os.WIFCONTINUED(os.waitpid(other.pid, os.WCONTINUED)[1]))
            other.kill()
        with stopped(other.pid), stopped(None):
            pass  # it has ended

    def test_a_failure_of_the_runner_itself_is_not_swallowed(self):
        def play(name: str) -> str:
            raise OSError(name)
        with self.assertRaises(OSError):
            play_in_turns(["light"], PLACES, NEEDED.get, play)
