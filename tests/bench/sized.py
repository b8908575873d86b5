# SPDX-License-Identifier: Apache-2.0
"""The estimate of `delaybridge size`, next to a run with the same load."""
from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from compressed import stored
from place import BINARY, LANES, Place, peak_mib
from processes import cpu_seconds
from table import Row

SIZE, KEY = 1000, 8  # bytes of value and key
DELAY_MS, SETTLE_S = 8000, 2
CORE_SHARE = 0.5  # of a core, for which a worker is planned
NEAR = 0.1  # a figure that follows from the code may differ by so much


@dataclass(frozen=True)
class Measured:
    hops: float  # of a request
    waiting: int
    record_bytes: float  # on a level
    written_bytes: float  # of a request, in all topics
    disk_bytes: int  # of the levels
    cores: float
    peak_mib: float
    whole: bool


def estimate(config: Path, rate: int, target: str) -> dict:
    """Returns the output of size, for requests as the tool writes them."""
    headers = {"dlb-deliver-at": "1790000000000", "dlb-target": target, "order": "0123456789"}
    command = [BINARY, "size", "-c", config, "--rate", rate, "--delay", f"{DELAY_MS}ms", "--payload", SIZE + KEY,
               "--headers", sum(len(name) + len(value) + 2 for name, value in headers.items()), "-o", "json"]
    return json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)


def run(place: Place, name: str, config: Path, target: str, rate: int, watch_s: int) -> Measured:
    bridge = place.bridge(config, wait=True)
    count = rate * (DELAY_MS // 1000 + SETTLE_S + watch_s)
    read = place.tool("read", topic=target, count=count, idle=20).await_ready()
    load = place.tool("load", topic=name, kind="request", target=target, count=count, rate=rate, size=SIZE, delay=DELAY_MS,
                      delay_max=DELAY_MS)
    place.rest(DELAY_MS / 1000 + SETTLE_S)  # from here on as many records leave as arrive
    began, used_s = time.monotonic(), cpu_seconds(bridge.pid)
    place.rest(watch_s / 2)
    delivered, sent = sum(place.ends(target)), sum(place.ends(name))
    place.rest(watch_s / 2)
    cores = (cpu_seconds(bridge.pid) - used_s) / (time.monotonic() - began)
    load.result()
    seen, levels = read.result(), place.levels(name)
    hops, on_levels = sum(place.ends(*levels)), stored(place, levels)
    found = Measured(hops / count, sent - delivered, on_levels / hops, (on_levels + stored(place, [name, target])) / count,
                     on_levels, cores, peak_mib(bridge.pid), seen["complete"])
    bridge.stop()
    return found


def sized_at(place: Place, rate: int, watch_s: int) -> list[Row]:
    name, config = place.schedule(LANES)
    target = place.topic("bench.target")
    told, seen = estimate(config, rate, target), run(place, name, config, target, rate, watch_s)
    mib = 1 << 20

    def near(what: str, said: float, was: float, form: str) -> Row:
        return Row(f"{rate:,}/s of 1 KB, delayed by 8 s: {what}, estimated / measured", f"{said:{form}} / {was:{form}}", "within 10 %",
                   abs(was - said) <= NEAR * said, sound=seen.whole)

    def below(what: str, said: float, was: float, form: str) -> Row:
        return Row(f"{rate:,}/s of 1 KB, delayed by 8 s: {what}, planned / used", f"{said:{form}} / {was:{form}}", "not more than planned",
                   was <= said, sound=seen.whole)

    return [near("hops of a request", told["mix"][0]["hops"], seen.hops, ".2f"),
            near("waiting records", told["waiting"], seen.waiting, ",.0f"),
            near("bytes of a record on a level", told["record_bytes"], seen.record_bytes, ",.0f"),
            near("bytes written for a request", told["written_bytes_per_s"] / rate, seen.written_bytes, ",.0f"),
            below("MiB of the levels on disk", told["disk_bytes"] / mib, seen.disk_bytes / mib, ",.0f"),
            below("cores of the bridge", told["workers"] * CORE_SHARE, seen.cores, ".2f"),
            below("MiB of memory of the bridge", told["memory_bytes"] / mib, seen.peak_mib, ",.0f")]


def sized(place: Place, rates: tuple[int, ...] = (1000, 10_000), watch_s: int = 10) -> list[Row]:
    """The estimate of `delaybridge size` and a run with the same load."""
    return [row for rate in rates for row in sized_at(place, rate, watch_s)]
