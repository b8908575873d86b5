/* SPDX-License-Identifier: Apache-2.0 */
/* compat: translators for the headers of other schedulers. Each translator turns the headers of its
   format into the time, target, key and operation of a request. request_parse then judges these as
   it judges dlb- headers. docs/migrating describes the formats. Pure, without allocation. */
#ifndef DELAYBRIDGE_LEVELS_COMPAT_H
#define DELAYBRIDGE_LEVELS_COMPAT_H

#include "levels/code.h"
#include "levels/envelope.h"
#include "levels/origin.h"
#include "levels/record.h"

/* Users see the names: add rows at the end, never rename one. A row needs a translator. */
#define COMPAT_TABLE(X)            \
    X(COMPAT_ROCKETMQ, "rocketmq") \
    X(COMPAT_RABBITMQ, "rabbitmq") \
    X(COMPAT_ETF1, "etf1")         \
    X(COMPAT_KARAFKA, "karafka")   \
    X(COMPAT_SPRING, "spring")     \
    X(COMPAT_SHARE_DLQ, "share-dlq")

#define COMPAT_ENUM(id, name) id,
enum compat { COMPAT_NONE, COMPAT_TABLE(COMPAT_ENUM) COMPAT_N };
#undef COMPAT_ENUM

/* The bit of a format in a set of formats. A set without bits translates nothing. */
#define COMPAT_BIT(format) (1U << (format))
#define COMPAT_ALL         ((1U << COMPAT_N) - (1U << (COMPAT_NONE + 1)))

/* A request as its foreign headers describe it. All pointers point into the record. */
struct foreign {
    enum compat format;             /* COMPAT_NONE: the record has no header of the formats */
    enum request_op op;             /* a cancel has no time */
    const struct header *op_header; /* names the operation; NULL: the format implies it */
    const struct header *time;      /* NULL: it has no time, or a fault */
    bool is_delay;                  /* ms counts from the record's timestamp; else it is epoch ms */
    int64_t ms;
    const struct header *target; /* NULL: none is named */
    bool key_overridden; /* the delivery gets the value of `key`, or a null key without it */
    const struct header *key;

    /* A retry of a consumer. `retry` stands for dlb-retry, in place of a time. NULL: none.
       counted: the record has a time, and is the retry of this number. */
    const struct header *retry;
    bool counted;
    uint16_t attempt; /* from 1 */
    int64_t first_ms; /* epoch: the timestamp of the record that failed first; -1: not known */
    bool has_origin;
    struct origin origin; /* of the record that failed first */

    /* The first fault, in the order of code.h. Its sentence is: header 'value' why [other 'value'].
       CODE_OK: none. */
    enum code fault;
    const struct header *faulty;
    const char *why;
    const struct header *other; /* NULL: the sentence ends with `why` */
};

/* Reads the headers of the formats. A record with headers of two formats has the fault
   CODE_TWO_TIMES. Foreign headers are ignored, and the result has COMPAT_NONE, if the record has
   one of these headers:
   - dlb-delay, dlb-deliver-at or dlb-retry, with any value: the record is a request of this bridge.
   - dlb-due, with any value: the record is a delivery that was sent again. Headers of
     COMPAT_SHARE_DLQ count nevertheless, because brokers copy those of the delivery.
   - dlb-op with the value cancel. */
struct foreign compat_read(unsigned formats, const struct record *record);

/* Returns true if a record may cancel or replace others by its foreign headers. Costs much less
   than compat_read. */
bool compat_may_void(unsigned formats, const struct record *record);

/* Returns the name of a format. */
const char *compat_name(enum compat format);

/* Returns the format of this name, or COMPAT_NONE. */
enum compat compat_of_name(const char *name);

#endif
