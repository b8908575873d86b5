# SPDX-License-Identifier: Apache-2.0
"""A failure of the harness is no failure of the product: its ports, and how the runner treats it. Run by selftest.py."""
from __future__ import annotations

import contextlib
import fcntl
import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from pathlib import Path
from unittest.mock import MagicMock, patch

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import harness  # noqa: E402  pylint: disable=wrong-import-position
from harness import BLOCK, HarnessError, blocks, reserve_ports  # noqa: E402  pylint: disable=wrong-import-position

RESERVE = "import sys; sys.path.insert(0, sys.argv[1]); from harness import reserve_ports; print(reserve_ports(), flush=True); input()"
JAVA = """#!/usr/bin/env python3
import re, socket, sys, time
broker = socket.socket()
broker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
broker.bind(("127.0.0.1", int(re.search(r"^listeners=.*?:(\\d+)", open(sys.argv[-1]).read(), re.M)[1])))
broker.listen()
print("Kafka Server started", flush=True)
time.sleep(60)
"""
CLIENTS = MagicMock(KafkaException=type("KafkaException", (Exception,), {}))  # the system's Python does not have them
with patch.dict(sys.modules, {"confluent_kafka": CLIENTS, "confluent_kafka.admin": MagicMock()}):
    import run
    import stage


class Ports(unittest.TestCase):
    def test_each_caller_gets_other_ports(self):
        others = [subprocess.Popen([sys.executable, "-c", RESERVE, str(TESTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True) for _ in range(6)]
        got = [reserve_ports(), reserve_ports(), *(int(other.stdout.readline()) for other in others)]
        for other in others:
            other.communicate("\n")
        self.assertEqual(len(set(got)), len(got), got)

    def test_ports_on_which_a_foreign_process_listens_are_not_given(self):
        first = reserve_ports()
        os.close(harness.reserved.pop())
        with socket.create_server(("127.0.0.1", first + 30)):
            self.assertNotEqual(reserve_ports(), first)

    def test_ports_of_connections_are_the_last_to_be_given(self):
        firsts = blocks(16_000, 65_535)
        self.assertEqual(len(firsts), len(blocks(32_768, 60_999)))
        self.assertTrue(all(first + BLOCK <= 16_000 for first in firsts[:50]))
        self.assertEqual(len(blocks(1, 65_535)), len(firsts))


class Brokers(unittest.TestCase):
    """kafka restart, with a program that listens in place of Java."""

    def setUp(self):
        self.folder, self.port = Path(self.enterContext(tempfile.TemporaryDirectory())), reserve_ports()
        (self.folder / "java").write_text(JAVA)
        (self.folder / "java").chmod(0o755)
        (self.folder / "kafka-fake").mkdir()
        (self.folder / "broker-1.properties").write_text(
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.port + 1}\n")
        self.addCleanup(self.kafka, "drop")

    def kafka(self, *args: str, **more) -> subprocess.CompletedProcess:
        env = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "DEV_CACHE": str(self.folder), "KAFKA_VERSION": "fake"}
        return subprocess.run([str(TESTS / "kafka" / "kafka"), *args, "--dir", str(self.folder)], capture_output=True, text=True,
                              check=False, env=env, **more)

    def test_a_broker_starts_when_its_port_is_free(self):
        taken = socket.create_server(("127.0.0.1", self.port))
        threading.Timer(1, taken.close).start()
        done = self.kafka("restart", "1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_broker_keeps_no_lock_of_the_process_that_started_it(self):
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.kafka("restart", "1", pass_fds=[lock.fileno()])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def raising(problem: BaseException):
    def play(stage) -> str:
        raise problem
    return play


class Blamed(unittest.TestCase):
    """Scenarios that fail, played by the runner."""

    def played(self, problem: BaseException) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder, patch.dict(run.ALL, idle=raising(problem)), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            options = types.SimpleNamespace(binary=Path("build/release/delaybridge"), full=False, seed=1)
            return run.play("idle", options, Path(folder)), out.getvalue()

    def ended(self, *outcomes: str, jobs: int = 1) -> tuple[int, str]:
        """Runs one scenario with these outcomes, one after the other."""
        left = list(outcomes)

        def play(turn, options, tally) -> str:
            tally.causes[turn.label()] = "the cause"
            return left.pop(0)
        with patch.object(run, "play_apart", play), patch.object(run, "make_archive"), \
                patch.object(sys, "argv", ["run.py", "--binary", "/bin/true", "--jobs", str(jobs), "idle"]), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            code = run.main()
        self.assertFalse(left, "it was not played once more")
        return code, out.getvalue().splitlines()[-1]

    def test_the_harness_is_blamed_for_its_errors(self):
        for problem in (HarnessError("no free ports"), CLIENTS.KafkaException("fatal"), subprocess.CalledProcessError(1, "mount")):
            code, text = self.played(problem)
            self.assertEqual(code, run.ENDS["HARNESS"], text)
            self.assertTrue(text.startswith("HARNESS idle"), text)

    def test_the_product_is_blamed_for_all_other_errors(self):
        for problem in (run.Fault("1 lost"), KeyError("waiting"), OSError("refused"), AssertionError()):
            self.assertEqual(self.played(problem)[0], run.ENDS["FAILED"])

    def test_the_harness_is_blamed_for_a_signal_that_ends_a_scenario(self):
        for code, outcome in ((-11, "harness"), (1, "failed"), (137, "failed"), (0, "passed")):
            done = subprocess.CompletedProcess([], code)
            with tempfile.TemporaryDirectory() as folder, patch.object(run.tempfile, "mkdtemp", return_value=folder), \
                    patch.object(run.subprocess, "run", return_value=done), contextlib.redirect_stdout(io.StringIO()):
                options = types.SimpleNamespace(seed=1, full=False, keep=True)
                self.assertEqual(run.play_apart(run.Turn("idle", Path("bridge")), options, run.Tally()), outcome)

    def test_a_failure_of_the_harness_is_played_once_more_and_counted(self):
        code, last = self.ended("harness", "passed")
        self.assertEqual(code, 0)
        self.assertIn("1 passed, 0 failed", last)
        self.assertIn("1 failed by the harness", last)

    def test_a_second_failure_of_the_harness_fails(self):
        self.assertEqual(self.ended("harness", "harness")[0], 1)

    def test_a_failure_of_the_product_is_not_played_once_more(self):
        self.assertEqual(self.ended("failed")[0], 1)

    def test_a_failure_of_the_product_after_one_of_the_harness_fails(self):
        self.assertEqual(self.ended("harness", "failed")[0], 1)

    def test_a_late_scenario_fails_only_if_none_ran_next_to_it(self):
        self.assertEqual(self.ended("late")[0], 1)
        code, last = self.ended("late", jobs=2)
        self.assertEqual(code, 0)
        self.assertIn("1 late next to others", last)

    def test_an_unsure_scenario_is_played_once_more(self):
        self.assertEqual(self.ended("unsure", "passed")[0], 0)
        self.assertEqual(self.ended("unsure", "unsure")[0], 1)

    def test_a_scenario_that_needs_levels_fails_if_no_record_enters_one(self):
        def levels(on_stage, hops: int) -> str:
            on_stage.use_levels(6000)
            on_stage.admin = MagicMock(topics=lambda: {"schedule": 1, "schedule.1m30s": 1},
                                       offsets=lambda places, which: {place: hops * (place[0] != "schedule") for place in places})
            return "done"

        for hops, outcome, said in ((3, "PASSED", "done in_levels=3"), (0, "FAILED", "no record has entered a level")):
            with tempfile.TemporaryDirectory() as folder, \
                    patch.dict(run.ALL, idle=lambda on_stage, hops=hops: levels(on_stage, hops)), \
                    contextlib.redirect_stdout(io.StringIO()) as out:
                options = types.SimpleNamespace(binary=Path("build/release/delaybridge"), full=False, seed=7)
                self.assertEqual(run.play("idle", options, Path(folder)), run.ENDS[outcome])
            self.assertRegex(out.getvalue(), rf"seed 7, hold [15]s\): {said}")

    def test_a_seed_repeats_its_hold(self):
        def holds(longest_ms: int | None) -> list[str]:
            found = []
            for seed in range(50):
                one = stage.Stage(Path("delaybridge-idle.x"), Path(), False, seed)
                if longest_ms is not None:
                    one.use_levels(longest_ms)
                found.append(one.hold)
            return found

        for longest_ms, drawn in ((None, {"1s", "5s", "30s"}), (40_000, {"1s", "5s", "30s"}), (30_000, {"1s", "5s"}), (0, {"1s"})):
            self.assertEqual(set(holds(longest_ms)), drawn)
            self.assertEqual(holds(longest_ms), holds(longest_ms))

    def test_an_exceeded_time_limit_ends_no_scenario(self):
        def slow(lost: bool):
            stage.require_prompt(False, "it took 9 s")
            stage.require(not lost, "1 lost")

        for lost, outcome in ((False, "LATE"), (True, "FAILED")):
            with tempfile.TemporaryDirectory() as folder, \
                    patch.dict(run.ALL, idle=lambda _, lost=lost: slow(lost)), contextlib.redirect_stdout(io.StringIO()):
                options = types.SimpleNamespace(binary=Path("build/release/delaybridge"), full=False, seed=1)
                self.assertEqual(run.play("idle", options, Path(folder)), run.ENDS[outcome])
            run.late.clear()
