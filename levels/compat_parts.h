/* SPDX-License-Identifier: Apache-2.0 */
/* compat_parts: a record while its foreign headers are read, for the files compat*.c alone. */
#ifndef DELAYBRIDGE_LEVELS_COMPAT_PARTS_H
#define DELAYBRIDGE_LEVELS_COMPAT_PARTS_H

#include "levels/compat.h"

/* The headers of all formats. */
enum compat_header {
    ROCKETMQ_LEVEL,
    ROCKETMQ_DELAY_S,
    ROCKETMQ_DELAY_MS,
    ROCKETMQ_DELIVER_MS,
    ROCKETMQ_RECALL,
    RABBITMQ_DELAY,
    ETF1_EPOCH,
    ETF1_TOPIC,
    ETF1_KEY,
    KARAFKA_VERSION,
    KARAFKA_TYPE,
    KARAFKA_EPOCH,
    KARAFKA_TOPIC,
    KARAFKA_KEY,
    KARAFKA_PARTITION,
    KARAFKA_PARTITION_KEY,
    SPRING_BACKOFF,
    SPRING_ATTEMPTS,
    SPRING_FIRST,
    SPRING_TOPIC,
    SPRING_PARTITION,
    SPRING_OFFSET,
    SHARE_DLQ_TOPIC,
    SHARE_DLQ_PARTITION,
    SHARE_DLQ_OFFSET,
    COMPAT_HEADERS_N
};

/* A record while its foreign headers are read. */
struct translation {
    const struct record *record;
    const struct header *given[COMPAT_HEADERS_N]; /* NULL: not given */
    const struct header *first;                   /* foreign header; NULL: none */
    struct foreign foreign;
};

/* Keeps the fault that comes first in code.h, and of two equal ones the first that was found. */
void compat_note(struct translation *t, enum code code, const struct header *header,
                 const char *why);

/* Sets the time of the request. */
void compat_set_time(struct translation *t, const struct header *header, bool is_delay, int64_t ms);

/* The translators of retries. */
void compat_read_spring(struct translation *t);
void compat_read_share_dlq(struct translation *t);

#endif
