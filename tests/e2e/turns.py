# SPDX-License-Identifier: Apache-2.0
"""Which scenario runs when, if several share the machine."""
from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Turn = TypeVar("Turn")


def play_in_turns(turns: list[Turn], places: int, places_of: Callable[[Turn], int], play: Callable[[Turn], str]) -> list[str]:
    """Plays at any time the first ones that fit into the free places. Returns the outcomes in the order of turns."""
    outcomes: dict[int, str] = {}
    running: dict[Future[str], tuple[int, int]] = {}  # -> which turn, and its places
    waiting, free = dict(enumerate(turns)), places
    with ThreadPoolExecutor(places) as pool:
        while waiting or running:
            for number, turn in list(waiting.items()):
                if (needed := min(places_of(turn), places)) <= free:
                    running[pool.submit(play, turn)] = number, needed
                    free -= needed
                    del waiting[number]
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                number, needed = running.pop(done)
                free += needed
                outcomes[number] = done.result()
    return [outcomes[number] for number in range(len(turns))]


@contextlib.contextmanager
def stopped(group: int | None) -> Iterator[None]:
    """Stops the processes of a process group meanwhile. The group may have ended."""
    def send(number: int) -> None:
        if group is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
    send(signal.SIGSTOP)
    try:
        yield
    finally:
        send(signal.SIGCONT)
