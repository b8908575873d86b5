#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of docs/page.md from a bridge with little traffic for some minutes. One target fails, one is paused, and
one is limited:

  ./dev build && ./dev e2e page                                               # once: the cache
  $DEV_CACHE/venv/bin/python tests/page/gallery.py [MINUTES] [FOLDER]         # 15, docs/images"""
from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import shots

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from client import now_ms  # noqa: E402  pylint: disable=wrong-import-position
from processes import Bridge  # noqa: E402  pylint: disable=wrong-import-position
from stage import Stage  # noqa: E402  pylint: disable=wrong-import-position

TOKEN = "0123456789abcdef0123456789abcdef"
MINUTE = 60_000
TOPICS = {"shop.orders": 3, "shop.reminders": 1, "audit.orders": 1, "mail.invoices": 1}
ENTRIES = ["shop.*", "mail.*", "audit.orders", "broken.*"]
DELAYS = (2_000, 9_000, 45_000, 4 * MINUTE, 9 * MINUTE, 18 * MINUTE, 50 * MINUTE, 110 * MINUTE)
SHARES = {"shop.orders": 60, "audit.orders": 20, "shop.reminders": 12, "mail.invoices": 4, "broken.ledger": 2}
PER_S = 10
AT_FIRST = 4_000
VALUE = json.dumps({"order": 4711, "customer": "Åsa Öberg", "total": 99.5, "currency": "EUR"}).encode()


class Shop:
    """Sends requests like a shop."""

    def __init__(self, stage: Stage):
        self.producer, self.chance, self.number = stage.sender.producer, random.Random(stage.seed), 0

    def send(self, name: str, target: str, headers: dict[str, str]) -> None:
        known = {"dlb-id": name, "dlb-target": target, **headers}
        self.producer.produce("schedule", VALUE, name.encode(), headers=[(k, v.encode()) for k, v in known.items()])

    def some(self, count: int) -> None:
        for _ in range(count):
            self.number += 1
            target = self.chance.choices(list(SHARES), list(SHARES.values()))[0]
            due = now_ms() + int(self.chance.choice(DELAYS) * (0.3 + self.chance.random()))
            self.send(f"order-{self.number}", target, {"dlb-deliver-at": str(due)})
            if self.number % 150 == 0:
                self.send(f"late-{self.number}", "shop.orders", {"dlb-deliver-at": "tomorrow"})
            if self.number % 200 == 0:
                self.send(f"foreign-{self.number}", "payroll", {"dlb-delay": "1s"})
        self.producer.flush(30)

    def keep_on(self, minutes: float) -> None:
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            self.some(PER_S)
            time.sleep(1)


def open_shop(stage: Stage) -> str:
    """Starts the bridge. Returns the address of its page."""
    stage.broker()
    token = stage.folder / "token"
    token.write_text(TOKEN)
    address = f"127.0.0.1:{stage.spare_port}"
    config = stage.ready(TOPICS, targets=ENTRIES, default_target="shop.orders", partitions=4, events=["all"],
                         admin=address, admin_token={"file": str(token)})
    stage.bridge(config)
    stage.run("pause", "mail.*", "--for", "2h", "-c", str(config))
    stage.run("limit", "shop.reminders", "1/s", "-c", str(config))
    return f"http://{address}/"


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 15
    images = Path(sys.argv[2]) if len(sys.argv) > 2 else shots.IMAGES
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), ROOT / "build" / "release" / "delaybridge", False, 1)
        try:
            url = open_shop(stage)
            shop = Shop(stage)
            shop.some(AT_FIRST)
            shop.send("order-4711-reminder", "shop.reminders", {"dlb-delay": "1d"})
            shop.keep_on(minutes)
            shots.take_all(url, TOKEN, "order-4711-reminder", images)
        finally:
            Bridge.end_all()
            if stage.kafka is not None:
                stage.kafka.stop()


if __name__ == "__main__":
    main()
