/* SPDX-License-Identifier: Apache-2.0 */
/* settings: what a step machine is made with, and what may change while it runs. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_SETTINGS_H
#define DELAYBRIDGE_BRIDGE_CORE_SETTINGS_H

#include "bridge/core/stats.h"
#include "levels/plan.h"
#include "levels/request.h"

/* Borrowed pointers inside rules must outlive the bridge. */
struct bridge_config {
    struct ladder ladder;
    const int64_t *retired_ms;
    int retired_n;
    int lanes; /* partitions of S */
    struct request_rules rules;
    int max_attempts;
    int64_t memory_bytes; /* of this worker: held and in flight */
    int64_t bulk_bytes;  /* more than this at hand and not admitted makes a schedule queue bulky: of
                            these one is read at a time. 0: any number is */
    int64_t large_bytes; /* beyond memory_bytes, a queue may hold one record of so many bytes, and
                            one queue a larger one. 0: each a record of any size */
    uint8_t
        target_labels[TARGET_LABELS]; /* by which targets[] of the stats the first entries of
                                         rules.allowlist are counted; LABEL_OTHER: all further */
    /* What any broker takes of one record, key, value and headers uncompressed; 0: any size. */
    size_t record_max_bytes;
    bool exactly_once;
    bool skip_unreadable; /* a batch that cannot be read is dead-lettered as a range, and passed */
    size_t commit_text_max;  /* bytes that a commit's text may have; 0: WINDOW_TEXT_MAX */
    int64_t commit_again_ms; /* progress that does not change is committed again; 0: each hour */
    int64_t session_ms; /* after half of it without a turn, ownership is proved before forwarding */
};

/* What may change between two turns. */
struct bridge_live {
    struct request_rules rules; /* as in bridge_config */
    int max_attempts;
    uint8_t target_labels[TARGET_LABELS];
    size_t record_max_bytes;
};

#endif
