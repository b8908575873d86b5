/* SPDX-License-Identifier: Apache-2.0 */
/* commit_limits: what the brokers allow a commit to hold, and how long they keep one. Offsets of
   topics that no member subscribes to, as level topics are, expire after offsets.retention.minutes
   even while the group is active: an idle level's offset is committed again before that. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_COMMIT_LIMITS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_COMMIT_LIMITS_H

#include "consumer/admin/broker_limits.h"

struct commit_limits {
    size_t text_max;      /* bytes of commit metadata that every broker takes */
    int64_t again_ms;     /* an idle offset is committed again after this span */
    bool retention_known; /* else brokers must keep offsets for COMMIT_AGAIN_MAX_MS or longer */
    char why[ADMIN_ERROR_MAX]; /* the reason, if something is not known */
};

enum { COMMIT_AGAIN_MAX_MS = 3600 * 1000 };

/* Asks all brokers, each for admin->timeout_ms at most. What no broker tells has Kafka's default.
 */
void commit_limits_ask(struct admin *admin, struct commit_limits *limits);

/* The same of two answers: offset.metadata.max.bytes and offsets.retention.minutes. */
struct commit_limits commit_limits_of(const struct broker_limit *metadata_bytes,
                                      const struct broker_limit *retention_minutes);

#endif
