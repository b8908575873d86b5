/* SPDX-License-Identifier: Apache-2.0 */
/* event: one fact in the life of a request, as the value of a record of the topic of events. The
   format is CloudEvents 1.0 in structured JSON. docs/events.md and docs/schemas/events.json
   describe it.

   The id is the place of the request, the type and the number of failed deliveries. So an event
   that is written again, for example after a crash, has the same id. That of a request that is sent
   again has the place of the new request in place of the number. A text of a request that is no
   valid UTF-8 is written as base64, in a member of another name. A text above EVENT_TEXT_MAX bytes
   is left out. Pure: no clock, no allocation. */
#ifndef DELAYBRIDGE_LEVELS_EVENT_H
#define DELAYBRIDGE_LEVELS_EVENT_H

#include "levels/bytes.h"
#include "levels/origin.h"

#include <stdbool.h>
#include <stdint.h>

/* Users see the names: add rows at the end, never rename or remove one. */
#define EVENT_TABLE(X)                                                 \
    X(EVENT_ACCEPTED, "accepted")                                      \
    X(EVENT_DELIVERED, "delivered")                                    \
    X(EVENT_CANCEL_ACCEPTED, "cancel_accepted")                        \
    X(EVENT_CANCELLED, "cancelled")                                    \
    X(EVENT_REPLACED, "replaced")                                      \
    X(EVENT_TOO_LATE, "too_late")                                      \
    X(EVENT_DELIVERY_RETRIED, "delivery_retried")                      \
    X(EVENT_DEAD_LETTERED, "dead_lettered")                            \
    X(EVENT_EXPIRED, "expired")                                        \
    X(EVENT_CANCEL_UNMATCHED, "cancel_unmatched")                      \
    X(EVENT_REDRIVEN, "redriven") /* written by the command redrive */ \
    X(EVENT_RETRY_ACCEPTED, "retry_accepted")

#define EVENT_ENUM(id, name) id,
enum event_type { EVENT_TABLE(EVENT_ENUM) EVENT_TYPES };
#undef EVENT_ENUM

/* A set of types: the bit of each. */
#define EVENT_BIT(type) (1u << (type))
/* Each end of a request except its delivery, each failure on the way, and each dead letter that is
   sent again. */
#define EVENTS_DEFAULT                                                                         \
    (EVENT_BIT(EVENT_CANCELLED) | EVENT_BIT(EVENT_TOO_LATE) | EVENT_BIT(EVENT_DEAD_LETTERED) | \
     EVENT_BIT(EVENT_EXPIRED) | EVENT_BIT(EVENT_DELIVERY_RETRIED) | EVENT_BIT(EVENT_REDRIVEN))
#define EVENTS_ALL (EVENT_BIT(EVENT_TYPES) - 1)

/* Returns the name that users see. */
const char *event_name(enum event_type type);
/* Returns the type of this name, or -1. */
int event_type_of(struct bytes name);

enum { EVENT_TEXT_MAX = 256, EVENT_MAX = 12288 };

/* An instant or offset that an event does not have. */
#define EVENT_NONE INT64_MIN

/* All pointers are borrowed. A null text or EVENT_NONE leaves its member out. */
struct event {
    enum event_type type;
    const char *source; /* of the CloudEvent: the group */
    const char *topic;  /* of the request */
    int64_t lane, offset;
    int64_t time_ms; /* wall clock */
    struct bytes traceparent;
    struct bytes id;  /* its dlb-id */
    struct bytes key; /* its record key */
    struct bytes target;
    int64_t due_ms;
    int attempt;           /* failed deliveries; -1: not known */
    int64_t partition;     /* delivered: on the target */
    int64_t stored_offset; /* delivered: on the target */
    int64_t in_force_ms;   /* cancel_accepted, replaced */
    int64_t by_offset;     /* cancelled: of the newest cancel of its name, on the schedule topic */
    bool certain;          /* cancelled: the request was certainly not delivered before */
    int64_t late_offset;   /* too_late: of the request that was delivered, on the schedule topic */
    int64_t next_try_ms;   /* delivery_retried */
    int64_t sent_lane;     /* redriven: of the new request */
    int64_t sent_offset;   /* redriven: the same */
    int64_t retry;         /* retry_accepted: its number, from 1 */
    struct origin origin;  /* retry_accepted: the first request; with a null topic: unknown */
    const char *code;      /* dead_lettered, expired, delivery_retried */
    struct bytes reason;   /* of the same types */
};

/* Returns an event of this request without any other member. */
struct event event_of(enum event_type type, int64_t lane, int64_t offset);

/* Writes the value of the record, without a terminator, and returns its length. */
size_t event_write(const struct event *event, char out[EVENT_MAX]);

#endif
