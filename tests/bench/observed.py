# SPDX-License-Identifier: Apache-2.0
"""What being looked at costs the forwarding path."""
from __future__ import annotations

import threading
import urllib.request
from statistics import median

from forwarding import ROUNDS, bridge_rate, due_in_level
from place import Place
from processes import free_port
from table import Row

EVERY_S = 0.1


class Scraper(threading.Thread):
    """Reads /metrics all the time, as many Prometheuses would."""

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
                pass  # not started yet, or over


def observed(place: Place, count: int = 600_000) -> list[Row]:
    """Delivery flat out with /metrics read ten times a second, and with no listener."""
    seen: dict[bool, list[dict]] = {True: [], False: []}
    scrapes = 0
    for number in range(ROUNDS):
        for watched in (True, False) if number % 2 else (False, True):
            port = free_port(1)
            config, target = due_in_level(place, count, listen=f"127.0.0.1:{port}" if watched else "")
            place.rest()
            scraper = Scraper(port) if watched else None
            seen[watched].append(bridge_rate(place, config, target, count))
            if scraper:
                scraper.stopping.set()
                scraper.join()
                scrapes += scraper.read
    cpu = {watched: median(r["cpu_us"][0] for r in results) for watched, results in seen.items()}
    rate = {watched: median(r["per_second"] for r in results) for watched, results in seen.items()}
    return [Row("delivery: CPU of the bridge a record, read ten times a second / no listener",
                f"{cpu[True]:.2f} / {cpu[False]:.2f} µs ({rate[True] / 1000:.0f}k/s, {rate[False] / 1000:.0f}k/s; "
                f"{scrapes} reads)", "≤ 1.05 times", cpu[True] <= 1.05 * cpu[False] and scrapes > 0)]
