# SPDX-License-Identifier: Apache-2.0
"""Judges the deliveries to targets that operators have paused or limited, by the times of their commands and the stamps of
the deliveries. Pure, like the verifier, which judges all else."""
from __future__ import annotations

from dataclasses import dataclass, field

from contract import Seen

BUCKET_S = 1  # a limit may save up so much of its rate
NEVER = float("inf")


@dataclass(frozen=True)
class Act:
    """A pause or a limit of one target, by the clock of this machine. A command runs from its begin to its end."""
    target: str
    set_ms: float              # End of the first command.
    lift_ms: float             # Begin of the command that lifts it.
    lifted_ms: float           # End of that command.
    bound_ms: int              # The longest wait that it printed.
    rate: float | None = None  # Records a second. None: a pause.


@dataclass(frozen=True)
class Margins:
    effect_ms: int = 1000  # Until an entry is effective in all processes.
    behind_ms: int = 0     # Of the clock of a process, at most.
    ahead_ms: int = 0      # The same.
    late_ms: int = 1000    # Further delay of a delivery after a pause, by faults.


@dataclass
class Verdict:
    faults: list[str] = field(default_factory=list)
    held: int = 0     # deliveries that waited until a pause was lifted
    limited: int = 0  # deliveries within a limit

    def line(self) -> str:
        return f"held_by_pauses={self.held} within_limits={self.limited}"


def due_of(seen: Seen) -> int:
    return int(seen.header("dlb-due") or b"0")


def first_ones(delivered: list[Seen], target: str) -> list[Seen]:
    """Returns the first delivery of each request to the target. A crash may cause others."""
    first: dict[bytes | None, Seen] = {}
    for seen in delivered:
        if seen.topic == target:
            source = seen.header("dlb-source")
            if source not in first or seen.received_ms < first[source].received_ms:
                first[source] = seen
    return list(first.values())


def judge_pause(verdict: Verdict, act: Act, seen: list[Seen], acked: dict[bytes | None, float],
                margins: Margins) -> None:
    """No delivery within the pause. A record that waited in it comes within the bound after it. A record did not wait if its
    request was written after the pause, and perhaps not if it has no acknowledgement."""
    begin, end = act.set_ms + margins.effect_ms, act.lift_ms
    for one in seen:
        where = f"{(one.header('dlb-source') or b'').decode()} to {act.target}"
        if begin + margins.ahead_ms <= one.timestamp_ms < end - margins.behind_ms:
            verdict.faults.append(f"{where} was sent {one.timestamp_ms - act.set_ms:.0f} ms after a pause was set, which lasted "
                                  f"{end - act.set_ms:.0f} ms")
        elif begin <= max(due_of(one), acked.get(one.header("dlb-source"), NEVER)) < end <= one.received_ms:
            verdict.held += 1
            if one.received_ms > act.lifted_ms + act.bound_ms + margins.late_ms:
                verdict.faults.append(f"{where} came {one.received_ms - act.lifted_ms:.0f} ms after a pause was lifted, and "
                                      f"the command printed {act.bound_ms} ms")


def judge_limit(verdict: Verdict, act: Act, rate: float, seen: list[Seen], margins: Margins) -> None:
    """In no span are there more deliveries than the rate allows."""
    begin, end = act.set_ms + margins.effect_ms + margins.ahead_ms, act.lift_ms - margins.behind_ms
    times = sorted(one.timestamp_ms for one in seen if begin <= one.timestamp_ms < end)
    verdict.limited += len(times)
    skew_ms = margins.behind_ms + margins.ahead_ms
    for first, at in enumerate(times):
        for number, until in enumerate(times[first:], 1):
            most = rate * ((until - at + skew_ms) / 1000 + BUCKET_S) + 1  # a stamp may be later than its turn
            if number > most:
                verdict.faults.append(f"{number} records were sent to {act.target} within {until - at} ms, and the limit is "
                                      f"{rate}/s")
                return


def judge_acts(acts: list[Act], delivered: list[Seen], acked: dict[bytes | None, float], margins: Margins) -> Verdict:
    """acked: when each request was acknowledged, by its dlb-source, by the clock of this machine."""
    verdict = Verdict()
    for act in acts:
        seen = first_ones(delivered, act.target)
        if act.rate is None:
            judge_pause(verdict, act, seen, acked, margins)
        else:
            judge_limit(verdict, act, act.rate, seen, margins)
    return verdict
