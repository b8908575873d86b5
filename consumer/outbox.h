/* SPDX-License-Identifier: Apache-2.0 */
/* outbox: decides how many records of one partition the client has. One batch is in flight; records
   that arrive meanwhile are held in the outbox and form the next batch.

   Why: librdkafka lets an idempotent producer have five records of a partition in flight, since it
   counts records where a broker counts requests. If a sixth record waits longer than its linger,
   the broker's thread polls with a timeout of zero until an acknowledgement arrives. The thread
   then uses a whole core, and on a broker's machine it even delays that acknowledgement (librdkafka
   2.0 to 2.12). In rd_kafka_toppar_producer_serve, rdkafka_broker.c sets next_wakeup before it
   checks the limit. So the client gets no record that it cannot send at once.

   Acknowledgements are slow if the last measured one took OUTBOX_SLOW_MS longer than the linger.
   They are also slow if the one that is being measured has already taken so long. Then the client
   has one request at most, however many records are held. The next request waits for a turn of the
   worker, which is short compared to a slow acknowledgement. If acknowledgements are fast, the
   thread polls only for a moment, so the client may stream: no request waits for a turn. It never
   streams with one_request. Then request_bytes limits the batches that are stored, whatever the
   client's own limit is.

   A transaction of hops gets most of its records at once. So its partitions gather for the turn.
   Each record is held until the client's reports are read next. All that are held by then form one
   batch. Otherwise the first ones would be sent without the others.

   Each request costs a broker and each replica as much as dozens of records. So a busy partition
   gathers: it begins at most one batch in each period of gather_ms. Records that arrive meanwhile
   share the next batch. The periods of all partitions begin together, so that their batches share
   requests. A partition is busy if it sent OUTBOX_BUSY_N records within OUTBOX_WINDOW_MS. At a
   lower rate no record waits, since it would wait for few others.

   While no record is held, and the partition does not gather for the turn, a record goes to the
   client at once
     - if no record is in flight, or fewer than OUTBOX_SINGLES and the client does not linger, and
       the partition does not gather;
     - if the client still gathers the batch, by its linger;
     - if the client streams and acknowledgements are fast. It streams after it had more than a
       batch to send, while a good part of a batch is still in flight.
   Other records are held. They go to the client when no record is in flight any more and the
   partition has gathered. If they form a full batch and acknowledgements are fast, they go at
   once: holding would only cost time. The client streams from then on.

   Records reach the client in the order in which they arrived. Pure: no client, no clock, no
   allocation. Times are monotonic milliseconds. */
#ifndef DELAYBRIDGE_CONSUMER_OUTBOX_H
#define DELAYBRIDGE_CONSUMER_OUTBOX_H

#include "levels/list.h"

#include <stdint.h>

/* SINGLES: one less than the five records that the client allows. */
enum { OUTBOX_SINGLES = 4, OUTBOX_SLOW_MS = 50, OUTBOX_BUSY_N = 20, OUTBOX_WINDOW_MS = 50 };

struct outbox_limits {
    int gather_ms;        /* period in which one batch of a busy partition begins; 0: none */
    int linger_ms;        /* linger.ms of the client */
    bool gathers_turn;    /* the records of a turn form one batch */
    size_t batch_bytes;   /* held records of this size form a full batch */
    size_t request_bytes; /* size of the largest request of the client */
    bool one_request; /* the client has one request at most, even if acknowledgements are fast */
};

/* A record that is held or in flight. The caller embeds it and owns it. */
struct outbox_item {
    struct link link; /* in held */
    size_t bytes;     /* size of the record as written */
};

struct outbox {
    struct list held; /* oldest first */
    size_t held_bytes;
    size_t in_flight_n, in_flight_bytes; /* the client has them and has not reported them */
    int64_t batch_mono_ms;               /* when a record was sent while no other was in flight */
    bool streaming;
    bool busy;              /* of the last window that ended */
    int64_t window_mono_ms; /* when the window began that counts the records sent */
    size_t window_n;
    size_t probe_n; /* reports until the measured record is acknowledged; 0: none is measured */
    int64_t probe_mono_ms; /* when the measured record was sent */
    bool acks_slow;        /* the last measured acknowledgement was slow */
};

void outbox_init(struct outbox *outbox);

/* Returns whether a record that arrives now goes to the client. False: hold it. */
bool outbox_is_open(const struct outbox *outbox, const struct outbox_limits *limits,
                    int64_t now_mono_ms);

/* Appends a record to the held ones. */
void outbox_hold(struct outbox *outbox, struct outbox_item *item);

/* Returns whether held records go to the client now, outbox_first before all others. */
bool outbox_batch_is_due(const struct outbox *outbox, const struct outbox_limits *limits,
                         int64_t now_mono_ms);

/* Returns the ms until held records are due, or INT64_MAX if they wait for a report or none is
 * held. */
int64_t outbox_wait_ms(const struct outbox *outbox, const struct outbox_limits *limits,
                       int64_t now_mono_ms);

/* Returns whether the oldest held record joins the batch that is being handed over. */
bool outbox_batch_takes(const struct outbox *outbox, const struct outbox_limits *limits,
                        int64_t now_mono_ms);

/* Returns the oldest held record and leaves it in place, or NULL. */
struct outbox_item *outbox_first(const struct outbox *outbox);

/* Removes a record from the held ones. */
void outbox_take(struct outbox *outbox, struct outbox_item *item);

/* The client now has the record. */
void outbox_sent(struct outbox *outbox, const struct outbox_limits *limits,
                 const struct outbox_item *item, int64_t now_mono_ms);

/* The client has reported the record. It reports the records of a partition in order of sending.
 */
void outbox_reported(struct outbox *outbox, const struct outbox_limits *limits,
                     const struct outbox_item *item, int64_t now_mono_ms);

/* Asserts the invariants. */
void outbox_check(const struct outbox *outbox);

#endif
