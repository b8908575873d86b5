/* SPDX-License-Identifier: Apache-2.0 */
/* outbox: decides how much of one partition is with the client. One batch is in flight; what comes
   meanwhile is held here and becomes the next batch.

   Why: librdkafka allows an idempotent producer five records of a partition in flight (it counts
   records where a broker counts requests). While a sixth waits past its linger, the broker's thread
   polls with a timeout of zero until an acknowledgement comes: it burns a core, and on the brokers'
   own machine it delays the acknowledgement that it waits for (rdkafka_broker.c,
   rd_kafka_toppar_producer_serve: next_wakeup is set before the limit is checked; 2.0 to 2.12). So
   the client gets no record that it could not send at once.

   Acknowledgements are slow if the last one took OUTBOX_SLOW_MS longer than the linger, or if one
   that is still out has. Then at most one request is with the client, however much is held: the
   turn that hands the next one over is short next to the acknowledgement. If they are fast, a
   client that streams polls for a moment only, and it saves that turn.

   A record goes to the client at once
     - if nothing is in flight, or fewer than OUTBOX_SINGLES and the client does not linger;
     - if the client still gathers the batch, by its linger;
     - if the client streams: it had more than a batch to send, still has a good part of one, and
       acknowledgements are fast.
   Else it is held. Held records go when nothing is in flight any more, or when they are a batch of
   their own and acknowledgements are fast: then the client streams, since holding would only cost.

   Records reach the client in the order in which they came. Pure: no client, no clock, no
   allocation. Times are monotonic milliseconds. */
#ifndef DELAYBRIDGE_CONSUMER_OUTBOX_H
#define DELAYBRIDGE_CONSUMER_OUTBOX_H

#include "levels/list.h"

#include <stdint.h>

/* SINGLES: one less than the client's five. */
enum { OUTBOX_SINGLES = 4, OUTBOX_SLOW_MS = 50 };

struct outbox_limits {
    int linger_ms;        /* the client's */
    size_t batch_bytes;   /* from so many on held records are a batch */
    size_t request_bytes; /* the client sends so many in one request */
};

/* A record that is held or in flight, at the front of what the caller keeps of it. */
struct outbox_item {
    struct link link; /* held */
    size_t bytes;     /* as written */
};

struct outbox {
    struct list held; /* oldest first */
    size_t held_bytes;
    size_t in_flight_n, in_flight_bytes; /* with the client, not reported */
    int64_t batch_mono_ms; /* when the first record went after nothing was in flight */
    bool streaming;
    size_t probe_n;        /* reports until the record that measures is acknowledged; 0: none is */
    int64_t probe_mono_ms; /* when that record went */
    bool acks_slow;        /* as last measured */
};

void outbox_init(struct outbox *outbox);

/* Whether a record that comes now goes to the client. False: hold it. */
bool outbox_is_open(const struct outbox *outbox, const struct outbox_limits *limits,
                    int64_t now_mono_ms);

void outbox_hold(struct outbox *outbox, struct outbox_item *item);

/* Whether held records go now: outbox_first is the first of them. */
bool outbox_batch_is_due(const struct outbox *outbox, const struct outbox_limits *limits,
                         int64_t now_mono_ms);

/* Whether the oldest held record goes with the batch that is being handed over. */
bool outbox_batch_takes(const struct outbox *outbox, const struct outbox_limits *limits,
                        int64_t now_mono_ms);

/* The oldest held record, left in place; NULL: none. */
struct outbox_item *outbox_first(const struct outbox *outbox);

/* The record is held no longer. */
void outbox_take(struct outbox *outbox, struct outbox_item *item);

/* The client has the record. */
void outbox_sent(struct outbox *outbox, const struct outbox_limits *limits,
                 const struct outbox_item *item, int64_t now_mono_ms);

/* The client has reported it. Of one partition it reports records in the order of sending. */
void outbox_reported(struct outbox *outbox, const struct outbox_limits *limits,
                     const struct outbox_item *item, int64_t now_mono_ms);

/* Asserts the invariants. */
void outbox_check(const struct outbox *outbox);

#endif
