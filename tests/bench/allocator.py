# SPDX-License-Identifier: Apache-2.0
"""What the allocator that is linked buys."""
from __future__ import annotations

from pathlib import Path
from statistics import median

from forwarding import ROUNDS, bridge_rate, due_in_level
from place import Place
from table import Row


def c_library() -> str:
    """Preloaded, its allocator is found before the one that is linked."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split()[-1] for line in maps if "/libc.so.6" in line or "/libc-2." in line)


def allocator(place: Place, count: int = 600_000) -> list[Row]:
    """Delivery with the C library's allocator in place of jemalloc."""
    seen: dict[str, list[dict]] = {"jemalloc": [], "glibc": []}
    for number in range(ROUNDS):
        for name in list(seen) if number % 2 else reversed(seen):
            config, target = due_in_level(place, count)
            place.rest()
            env = {"LD_PRELOAD": c_library()} if name == "glibc" else {}
            seen[name].append(bridge_rate(place, config, target, count, env))
    cpu = {name: median(r["cpu_us"][0] for r in results) for name, results in seen.items()}
    rate = {name: median(r["per_second"] for r in results) for name, results in seen.items()}
    return [Row("delivery: CPU of the bridge a record, glibc's allocator / jemalloc",
                f"{cpu['glibc']:.2f} / {cpu['jemalloc']:.2f} µs ({rate['glibc'] / 1000:.0f}k/s, "
                f"{rate['jemalloc'] / 1000:.0f}k/s)", "jemalloc takes less", cpu["jemalloc"] < cpu["glibc"])]
