# SPDX-License-Identifier: Apache-2.0
"""Everyday rates, on one broker and on the usual production cluster: three brokers, three replicas of every record. Next
to them, plain records, and a bare loop that consumes and produces as many records."""
from __future__ import annotations

import time

from lateness import SETTLE_S, Bridged, Looped, Stream, plain_stream
from place import WARM, Place
from table import Row

RATES, SECONDS = (100, 1000, 5000, 10_000), 8
DELAY_MS, DELAY_MAX_MS, LEVELS = 1100, 1900, ["1s", "2s"]
STAY_S = 2  # the longest stay of a record; until then, more records arrive than leave
LAST_S = 0.5  # the end of a stream, which is not measured
LINGER_MS = 5  # of both generators
MOST_CPU, MOST_P99 = 1.5, 2.0
MOST_SUM = {1: 1.25, 3: 1.5}  # by brokers: the CPU of bridge and brokers, compared with the loop and its brokers
WARM_RATE, WARM_SECONDS, WARM_STREAMS = 1000, 6, 10
MODES = {"": "at-least-once", ", exactly once": "exactly-once"}
Streams = dict[tuple[int, str], tuple[dict, dict, dict]]


def with_cores(place: Place, stream: Bridged | Looped | Stream, rate: int, seconds: int) -> dict:
    """Returns the result of a stream. Adds the cores that the brokers used, and their CPU and that of the stream's process
    for a message. These count only while as many records leave as arrive. Deletes the stream's topics: idle partitions with
    three replicas cost CPU."""
    stream.start()
    time.sleep(SETTLE_S + STAY_S)
    own_s, brokers_s, since = stream.cpu_s(), place.brokers_s(), time.monotonic()
    time.sleep(seconds - STAY_S - LAST_S)
    own_s, brokers_s, took_s = stream.cpu_s() - own_s, place.brokers_s() - brokers_s, time.monotonic() - since
    result = stream.result()
    result["own_us"], result["brokers_us"] = (1e6 * used_s / took_s / rate for used_s in (own_s, brokers_s))
    result["cores"] = brokers_s / took_s
    place.clear()
    return result


def plain(place: Place, rate: int, seconds: int) -> dict:
    return with_cores(place, plain_stream(place, rate, seconds, linger=LINGER_MS), rate, seconds)


def looped(place: Place, rate: int, seconds: int) -> dict:
    return with_cores(place, Looped(place, rate, seconds, linger=LINGER_MS), rate, seconds)


def bridged(place: Place, rate: int, seconds: int, delivery: str) -> dict:
    return with_cores(place, Bridged(place, rate, DELAY_MS, DELAY_MAX_MS, seconds, linger=LINGER_MS, levels=LEVELS,
                                     delivery=delivery), rate, seconds)


def streams(place: Place, rates: tuple[int, ...], seconds: int) -> Streams:
    """Runs the bridge's stream for each rate and mode, and the plain stream and the loop of that rate, one after the
    other. Two cores with three brokers have no room for all."""
    found = {}
    for rate in rates:
        of_plain, of_loop = plain(place, rate, seconds), looped(place, rate, seconds)
        for mode, delivery in MODES.items():
            found[rate, mode] = bridged(place, rate, seconds, delivery), of_plain, of_loop
    return found


def warm(place: Place, streams_max: int) -> None:
    """Runs streams that do not count until the brokers have compiled their code: plain ones first, then the bridge's in
    both modes. Records at a low rate use other code of a broker than bulk. Three compilers on two cores delay every
    record by seconds. Streams that overload the brokers keep them compiling."""
    for kind in ("plain", *MODES.values()):
        for _ in range(streams_max):
            began, compiled = time.monotonic(), place.compiled()
            if kind == "plain":
                plain(place, WARM_RATE, WARM_SECONDS)
            else:
                bridged(place, WARM_RATE, WARM_SECONDS, kind)
            if place.compiled() - compiled < WARM * (time.monotonic() - began):
                break


def row(rate: int, mode: str, three: tuple[dict, dict, dict], one: dict) -> Row:
    bridge, of_plain, of_loop = three
    cpu, late = bridge["own_us"] / one["own_us"], bridge["p99"] / of_plain["p99"]
    return Row(f"three brokers, {rate:,}/s{mode}: the bridge's CPU a message, p99 of a delivery",
               f"{bridge['own_us']:.0f} µs ({one['own_us']:.0f} on one broker: {cpu:.2f} ×), "
               f"{bridge['p99']:.1f} ms (plain {of_plain['p99']:.1f}: {late:.2f} ×; loop {of_loop['p99']:.1f}); cores of "
               f"the brokers {bridge['cores']:.1f} (plain {of_plain['cores']:.1f}, loop {of_loop['cores']:.1f})",
               f"CPU ≤ {MOST_CPU:g} × one broker, p99 ≤ {MOST_P99:g} × plain", cpu <= MOST_CPU and late <= MOST_P99, cpu,
               all(stream["complete"] for stream in (*three, one)))


def sum_row(brokers: int, rate: int, streams_of_rate: tuple[dict, dict, dict]) -> Row:
    bridge, of_plain, of_loop = streams_of_rate
    ours, loops = bridge["own_us"] + bridge["brokers_us"], of_loop["own_us"] + of_loop["brokers_us"]
    cpu, late = ours / loops, bridge["p99"] / of_plain["p99"]
    return Row(f"{'three brokers' if brokers == 3 else 'one broker'}, {rate:,}/s: CPU a message of bridge and brokers, p99 of a "
               "delivery",
               f"{bridge['own_us']:.0f} + {bridge['brokers_us']:.0f} µs (loop {of_loop['own_us']:.0f} + "
               f"{of_loop['brokers_us']:.0f}: {cpu:.2f} ×; plain {of_plain['brokers_us']:.0f}), {bridge['p99']:.1f} ms (plain "
               f"{of_plain['p99']:.1f}: {late:.2f} ×; loop {of_loop['p99']:.1f})",
               f"CPU ≤ {MOST_SUM[brokers]:g} × loop, p99 ≤ {MOST_P99:g} × plain",
               cpu <= MOST_SUM[brokers] and late <= MOST_P99, cpu, all(stream["complete"] for stream in streams_of_rate))


def everyday(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS,
             warm_rounds: int = WARM_STREAMS) -> list[Row]:
    """100 to 10,000/s on one broker, with plain records and a bare loop at the same rate."""
    warm(place, warm_rounds)
    rows = []
    for rate in rates:
        of_plain, of_loop = plain(place, rate, seconds), looped(place, rate, seconds)
        rows.append(sum_row(1, rate, (bridged(place, rate, seconds, "at-least-once"), of_plain, of_loop)))
    return rows


def three_everyday(place: Place, rates: tuple[int, ...] = RATES, seconds: int = SECONDS,
                   warm_rounds: int = WARM_STREAMS) -> list[Row]:
    """100 to 10,000/s on three brokers, in both modes, with plain records and a bare loop, and on one broker."""
    warm(place, warm_rounds)
    three = streams(place, rates, seconds)
    alone = Place(place.folder / f"one{place.round}")
    try:
        warm(alone, warm_rounds)
        one = streams(alone, rates, seconds)
    finally:
        alone.close()
    return [*(row(rate, mode, three[rate, mode], one[rate, mode][0]) for rate, mode in three),
            *(sum_row(3, rate, three[rate, ""]) for rate in rates)]
