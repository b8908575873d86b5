# SPDX-License-Identifier: Apache-2.0
"""A scenario keeps its ports while its brokers are stopped, and a broker starts on a port that is late to be free. Run by
selftest.py."""
from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import harness  # noqa: E402  pylint: disable=wrong-import-position
from harness import BLOCK, blocks, reserve_ports  # noqa: E402  pylint: disable=wrong-import-position

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

    def test_a_broker_starts_when_its_port_is_free(self):
        with tempfile.TemporaryDirectory() as name:
            folder, port = Path(name), reserve_ports()
            (folder / "java").write_text(JAVA)
            (folder / "java").chmod(0o755)
            (folder / "kafka-fake").mkdir()
            (folder / "broker-1.properties").write_text(
                f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}\n")
            taken = socket.create_server(("127.0.0.1", port))
            threading.Timer(1, taken.close).start()

            def kafka(*args: str) -> subprocess.CompletedProcess:
                return subprocess.run([str(TESTS / "kafka" / "kafka"), *args, "--dir", name], capture_output=True, text=True, check=False,
                                      env={**os.environ, "PATH": f"{name}:{os.environ['PATH']}", "DEV_CACHE": name,
                                           "KAFKA_VERSION": "fake"})
            done = kafka("restart", "1")
            kafka("drop")
            self.assertEqual(done.returncode, 0, done.stderr)
