# SPDX-License-Identifier: Apache-2.0
"""Which test makes each log message happen that README.md or the runbook quotes. A scenario that passed without its
messages in a log fails (run.py); documented.py checks that the table is whole, and that the other tests have theirs."""
from __future__ import annotations

from pathlib import Path

# A phrase as the documents quote it, and a scenario, or a file of another test.
SAID = {
    "Kafka answers again": "broker_restart_exactly",
    "Kafka unreachable, lanes wait until a broker answers": "broker_restart_exactly",
    "a Kafka client does not end": "level_deleted_exactly",
    "a batch cannot be read": "unreadable",
    "a batch cannot be read, its partition is held until the range is skipped": "unreadable",
    "a broker quota was exceeded, forwarding waits": "throttled",
    "a lane without level partitions is not served": "histories",
    "a level topic does not exist any more": "level_deleted_exactly",
    "a newer delaybridge wrote this record": "histories",
    "a newer delaybridge wrote this record: upgrade this process, the partition is blocked until then": "histories",
    "a target takes nothing": "bad_targets",
    "a topic was deleted and created again under the running bridge": "level_replaced",
    "a transaction was aborted": "tests/faults/said.c",
    "a transactional producer cannot start": "tests/faults/said.c",
    "a transactional producer waits for the brokers": "broker_restart_exactly",
    "beyond the log's end … the partition is held": "histories",
    "cannot commit the first offsets of lanes": "tests/faults/said.c",
    "cannot read the lanes' offsets": "tests/faults/said.c",
    "cannot start": "bad_topics",
    "cannot write to our own topics": "tests/faults/said.c",
    "cannot write to our own topics, tried again": "tests/faults/said.c",
    "commit failed": "tests/faults/said.c",
    "commit metadata that is not ours is ignored": "histories",
    "deleted and created again under the running bridge, the partition is blocked": "level_replaced",
    "delivery failed": "bad_targets",
    "delivery failed, tried again": "bad_targets",
    "lanes gained": "rebalance",
    "lanes given back": "rebalance",
    "no transactional producer can start now": "tests/integration/test_transactions.c",
    "own partition unavailable, its lane waits": "tests/faults/said.c",
    "record refused, written to the dead-letter topic": "mixed",
    "records were deleted before they were read": "deleted_unread",
    "the brokers do not serve idempotent producers": "no_transactions",
    "the brokers do not serve transactions": "no_transactions",
    "the clock went back": "clock_step",
    "the committed position is beyond the log's end": "histories",
    "the group has no offsets though records wait in the levels, or did": "lost_offsets",
    "the group will not have this member any more": "fenced",
    "the group's commit metadata is damaged or of a newer delaybridge": "histories_exactly",
    "the login was refused": "secured",
    "the partition is blocked": "level_replaced",
    "the partition is held": "histories",
    "this process stood still": "stalled",
    "unknown, ignored": "bad_config",
    "waiting for Kafka": "promises",
}


def parts(phrase: str) -> list[str]:
    """What stands around an ellipsis."""
    return [part.strip() for part in phrase.split("…")]


def unsaid(scenario: str, logs: list[Path]) -> list[str]:
    """The messages of this scenario that no line of these logs has."""
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
    return [phrase for phrase, test in SAID.items()
            if test == scenario and not any(all(part in line for part in parts(phrase)) for line in lines)]
