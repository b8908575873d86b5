# SPDX-License-Identifier: Apache-2.0
"""The test that produces each log message that the documents quote. A scenario fails if its messages are in no
log (run.py). documented.py checks that the table is complete, and that other tests contain their messages."""
from __future__ import annotations

from pathlib import Path

# A phrase of the documents, and its scenario, or the file of another test.
SAID = {
    "Kafka answers again": "broker_restart_exactly",
    "Kafka client does not end": "promises",
    "Kafka unreachable, lanes wait until a broker answers": "broker_restart_exactly",
    "a target acknowledges slowly and delays the other targets of this bridge": "among_slow_exactly",
    "batch is unreadable, partition blocked until the range is skipped": "unreadable",
    "broker quota exceeded, forwarding waits": "throttled_exactly",
    "cannot commit initial offsets": "tests/faults/said.c",
    "cannot read committed offsets": "tests/faults/said.c",
    "cannot start": "bad_topics",
    "cannot write to a topic of the bridge": "tests/faults/said.c",
    "cannot write to a topic of the bridge, trying again": "tests/faults/said.c",
    "clock stepped back": "clock_step",
    "commit failed": "tests/faults/said.c",
    "commit metadata is damaged or newer, refusing exactly-once": "histories_exactly",
    "commit metadata of another program ignored": "histories",
    "schedule topic has lost its records from this offset on": "cut",
    "committed offset is beyond the end of the log": "histories",
    "committed offset is beyond the end of the log, partition blocked": "histories",
    "committed offsets are lost": "lost_offsets",
    "delivery failed": "bad_targets",
    "delivery failed at every attempt, the record goes to the dead-letter topic": "bad_targets",
    "delivery failed, trying again": "bad_targets",
    "fenced by the group coordinator again within a minute": "instance_ids",
    "fenced by the group coordinator, rejoining": "instance_ids",
    "lanes assigned": "rebalance",
    "lanes revoked": "rebalance",
    "lanes were added to the schedule topic, not served": "histories",
    "level topic does not exist": "level_deleted_exactly",
    "no coordinator admits this process to its group": "group_refused",
    "no transactional producer can start now": "tests/integration/test_transactions.c",
    "partition blocked": "histories",
    "partition of the bridge unavailable, its lane waits": "tests/faults/said.c",
    "process stalled": "stalled",
    "record expires before its delivery, it goes to the dead-letter topic": "mixed",
    "record refused, it goes to the dead-letter topic": "mixed",
    "record was written by a newer delaybridge": "histories",
    "record was written by a newer delaybridge, partition blocked": "histories",
    "records were deleted before they were read": "deleted_unread",
    "target unavailable, deliveries deferred": "bad_targets",
    "the brokers do not serve idempotent producers": "no_transactions",
    "the brokers do not serve transactions": "no_transactions",
    "the login was refused": "secured",
    "topic was recreated under the running bridge": "level_replaced_exactly",
    "topic was recreated under the running bridge, partition blocked": "level_replaced_exactly",
    "transaction aborted, reading its records again": "tests/faults/said.c",
    "transactional producer cannot start": "tests/faults/said.c",
    "transactional producer waits for the brokers": "broker_restart_exactly",
    "unknown, ignored": "bad_config",
    "waiting for Kafka": "promises",
    "waiting for the topics": "topics_awaited",
    "waiting until every broker shows the changes": "learns_late",
}


def parts(phrase: str) -> list[str]:
    """Returns the parts of a phrase around an ellipsis."""
    return [part.strip() for part in phrase.split("…")]


def unsaid(scenario: str, logs: list[Path]) -> list[str]:
    """Returns the messages of this scenario that are in no line of these logs."""
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
    return [phrase for phrase, test in SAID.items()
            if test == scenario and not any(all(part in line for part in parts(phrase)) for line in lines)]
