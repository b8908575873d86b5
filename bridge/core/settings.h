/* SPDX-License-Identifier: Apache-2.0 */
/* settings: the configuration of a step machine, and the part of it that may change at run time. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_SETTINGS_H
#define DELAYBRIDGE_BRIDGE_CORE_SETTINGS_H

#include "bridge/core/stats.h"
#include "levels/plan.h"
#include "levels/request.h"
#include "levels/target_rule.h"

enum { TXN_RECORDS_MIN = 21 }; /* a record with all its events */

/* All pointers, those inside rules included, are borrowed and must outlive the bridge. */
struct bridge_config {
    struct ladder ladder;
    int64_t hold_ms; /* longest rest for which a record waits in memory, if there is room (hold.h).
                        At most ladder.hold_ms: no record waits for longer than that */
    const int64_t *retired_ms; /* lengths of retired levels */
    int retired_n;
    int lanes; /* partitions of the schedule topic */
    struct request_rules rules;
    int max_attempts; /* deliveries of a record before it goes to the dead-letter topic */
    const struct target_rule *target_rules; /* by entry of rules.allowlist; NULL: none has one */
    bool exactly_once;
    /* Exactly-once: a transaction closes before it exceeds these bounds. */
    size_t txn_records_max; /* records and events, at least TXN_RECORDS_MIN; 0: TXN_RECORDS_MAX */
    size_t txn_bytes_max;   /* a larger record has a transaction to itself; 0: TXN_BYTES_MAX */

    /* Memory, in bytes. */
    int64_t memory_bytes; /* for records of this worker in memory and in flight */
    /* A schedule queue is bulky if more bytes than this are fetched and not admitted. Bulky queues
       are read one at a time. 0: no queue is bulky. */
    int64_t bulk_bytes;
    /* A queue without records in work may exceed memory_bytes by one record of this size. One queue
       may exceed it by a larger record. 0: each queue may exceed it by one record of any size. */
    int64_t large_bytes;

    /* Cancels. */
    size_t cancel_memory; /* bytes of the table; 0: cancel and replace are refused as bad_op */
    int64_t seal_ms;      /* between two seals of a lane; 0: a minute */

    bool control;       /* lanes wait for bridge_control_known */
    size_t limited_max; /* limited targets with a bucket at a time; 0: LIMITED_MAX */

    uint64_t hash_seed; /* of the names in tables, random for each process */

    /* Events. */
    unsigned events;          /* EVENT_BIT of each type that is written */
    bool events_lossy;        /* at-least-once: no record waits for its events */
    const char *event_source; /* of CloudEvents */

    /* Limits of the brokers. */
    size_t record_max_bytes; /* of a record: key, value and headers, uncompressed; 0: none */
    size_t commit_text_max;  /* of commit metadata; 0: WINDOW_TEXT_MAX */
    int64_t commit_again_ms; /* unchanged progress is committed again after this; 0: an hour */
    int64_t session_ms;      /* after half of it without a turn, a commit must prove ownership of
                                the lanes before anything is forwarded */
    bool skip_unreadable; /* unreadable ranges are dead-lettered and skipped without an operator */
    /* For each of the first entries of rules.allowlist, its index in stats.targets. All further
       entries share LABEL_OTHER. retry_labels: the same for rules.retry and stats.retry. */
    uint8_t target_labels[TARGET_LABELS];
    uint8_t retry_labels[TARGET_LABELS];
};

/* The members of bridge_config that bridge_reconfigure replaces. */
struct bridge_live {
    struct request_rules rules;
    int max_attempts;
    const struct target_rule *target_rules;
    uint8_t target_labels[TARGET_LABELS];
    uint8_t retry_labels[TARGET_LABELS];
    size_t record_max_bytes;
    unsigned events;
};

#endif
