# SPDX-License-Identifier: Apache-2.0
"""The gain from the linked allocator."""
from __future__ import annotations

from pathlib import Path

from forwarding import bridge_rate, due_in_level
from place import Place
from table import Row


def c_library() -> str:
    """Returns the path of the C library. If it is preloaded, its allocator precedes the linked one."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split()[-1] for line in maps if "/libc.so.6" in line or "/libc-2." in line)


def allocator(place: Place, count: int = 600_000) -> list[Row]:
    """Delivery with the C library's allocator instead of jemalloc."""
    def delivery(env: dict[str, str]) -> dict:
        config, target = due_in_level(place, count)
        place.rest()
        return bridge_rate(place, config, target, count, env)

    seen = place.in_turns(jemalloc=lambda: delivery({}), glibc=lambda: delivery({"LD_PRELOAD": c_library()}))
    cpu = {name: result["cpu_us"][0] for name, result in seen.items()}
    ratio = cpu["glibc"] / cpu["jemalloc"]
    return [Row("delivery: CPU of the bridge a record, glibc's allocator / jemalloc",
                f"{ratio:.2f} ({cpu['glibc']:.2f} / {cpu['jemalloc']:.2f} µs; "
                f"{seen['glibc']['per_second'] / 1000:.0f}k/s, {seen['jemalloc']['per_second'] / 1000:.0f}k/s)",
                "jemalloc takes less", ratio > 1, ratio, all(result["complete"] for result in seen.values()))]
