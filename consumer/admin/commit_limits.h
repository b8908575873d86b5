/* SPDX-License-Identifier: Apache-2.0 */
/* commit_limits: how much a commit may hold, and how long brokers keep an offset. Offsets expire
   after offsets.retention.minutes if no member subscribes to their topic, even in an active group.
   That holds for level topics, so the bridge commits the offset of an idle level again before it
   expires. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_COMMIT_LIMITS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_COMMIT_LIMITS_H

#include "consumer/admin/broker_limits.h"

struct commit_limits {
    size_t text_max;  /* bytes of commit metadata that every broker accepts */
    int64_t again_ms; /* span after which an idle offset is committed again */
    /* If false, brokers must keep offsets for COMMIT_AGAIN_MAX_MS or longer. */
    bool retention_known;
    struct error error; /* the reason if a limit is not known; "" otherwise */
};

enum { COMMIT_AGAIN_MAX_MS = 3600 * 1000 };

/* Requests the limits from all brokers, each for admin->timeout_ms at most. A limit that no broker
   returns has Kafka's default. */
void commit_limits_ask(struct admin *admin, struct commit_limits *limits);

/* Computes the limits from offset.metadata.max.bytes and offsets.retention.minutes. */
struct commit_limits commit_limits_of(const struct broker_limit *metadata_bytes,
                                      const struct broker_limit *retention_minutes);

#endif
