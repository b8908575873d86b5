# SPDX-License-Identifier: Apache-2.0
"""A real broker on the host's loopback for one part, and kcat as an independent client."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from parts import ROOT, Failed, require, run

sys.path.append(str(ROOT / "tests"))

from harness import reserve_ports  # noqa: E402  pylint: disable=wrong-import-position

KAFKA = ROOT / "tests" / "kafka" / "kafka"


class Broker:
    """A broker for a with statement: with Broker(folder) as broker: broker.bootstrap"""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, reserve_ports()
        self.bootstrap = f"127.0.0.1:{self.port}"

    def __enter__(self) -> "Broker":
        run(KAFKA, "start", "--port", self.port, "--dir", self.folder, "--prop", "auto.create.topics.enable=false",
            "--prop", "group.min.session.timeout.ms=1000")
        return self

    def __exit__(self, *_) -> None:
        run(KAFKA, "clean", "--dir", self.folder)

    def create(self, *topics: NewTopic) -> None:
        """Creates topics, and waits until they are visible."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        for future in admin.create_topics(list(topics)).values():
            future.result(30)
        deadline = time.monotonic() + 30
        while missing := {t.topic for t in topics} - set(admin.list_topics(timeout=20).topics):
            require(time.monotonic() < deadline, f"not visible: {sorted(missing)}")
            time.sleep(0.2)

    def await_value(self, topic: str, value: str, timeout: float) -> int:
        """Waits until a record with this value is in the topic. Returns its timestamp."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            said = subprocess.run(["kcat", "-C", "-q", "-e", "-b", self.bootstrap, "-t", topic, "-f", "%T %s\n"],
                                  capture_output=True, text=True, check=False, timeout=60).stdout
            for line in said.splitlines():
                stamp, seen = line.split(" ", 1)
                if seen == value:
                    return int(stamp)
            time.sleep(0.2)
        raise Failed(f"{value} is not in {topic} after {timeout:.0f} s")


def journey(broker: Broker, send, topic: str = "orders.timeout") -> str:
    """Sends requests by send(args...), and checks that each is delivered and none is early. The bridge has hold: 1s."""
    late = []
    for delay_ms, value in ((0, "at once"), (700, "soon"), (6200, "through a level")):
        before = time.time_ns() // 1_000_000
        send("send", "--delay", f"{delay_ms}ms", "--key", "k", "--target", topic, "--value", value)
        after = time.time_ns() // 1_000_000
        stamp = broker.await_value(topic, value, 30 + delay_ms / 1000)
        require(stamp >= before + delay_ms, f"{value}: {before + delay_ms - stamp} ms early")
        late.append(max(0, stamp - after - delay_ms))
    require(max(late) < 3000, f"late by {late} ms")
    return f"3 requests delivered, late by at most {max(late)} ms"
