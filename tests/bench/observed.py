# SPDX-License-Identifier: Apache-2.0
"""The cost of monitoring for the forwarding path."""
from __future__ import annotations

import threading
import urllib.request

from forwarding import bridge_rate, due_in_level
from place import Place
from processes import reserve_ports
from table import Row

EVERY_S = 0.1


class Scraper(threading.Thread):
    """Reads /metrics continuously, as several Prometheus servers would."""

    def __init__(self, port: int):
        super().__init__(daemon=True)
        self.url, self.stopping, self.read = f"http://127.0.0.1:{port}/metrics", threading.Event(), 0
        self.start()

    def run(self) -> None:
        while not self.stopping.wait(EVERY_S):
            try:
                with urllib.request.urlopen(self.url, timeout=2) as answer:
                    self.read += b"delaybridge_lanes" in answer.read()
            except OSError:
                pass  # not started yet, or ended


def observed(place: Place, count: int = 600_000) -> list[Row]:
    """Delivery at full speed with /metrics read ten times a second, and with no listener."""
    scrapes = 0

    def watched() -> dict:
        nonlocal scrapes
        port = reserve_ports()
        config, target = due_in_level(place, count, listen=f"127.0.0.1:{port}")
        place.rest()
        scraper = Scraper(port)
        result = bridge_rate(place, config, target, count)
        scraper.stopping.set()
        scraper.join()
        scrapes = scraper.read
        return result

    def alone() -> dict:
        config, target = due_in_level(place, count)
        place.rest()
        return bridge_rate(place, config, target, count)

    seen = place.in_turns(watched=watched, alone=alone)
    cpu = {name: result["cpu_us"][0] for name, result in seen.items()}
    ratio = cpu["watched"] / cpu["alone"]
    return [Row("delivery: CPU of the bridge a record, /metrics read ten times a second / no listener",
                f"{ratio:.2f} ({cpu['watched']:.2f} / {cpu['alone']:.2f} µs; "
                f"{seen['watched']['per_second'] / 1000:.0f}k/s, {seen['alone']['per_second'] / 1000:.0f}k/s; "
                f"{scrapes} reads)", "≤ 1.05", ratio <= 1.05, ratio,
                scrapes > 0 and all(result["complete"] for result in seen.values()))]
