/* SPDX-License-Identifier: Apache-2.0 */
/* pace: decides how much the clients of a producer send, so that a broker quota delays records and
   has no other effect.

   Why: a broker answers a request that exceeds a quota at once. It then reads no request from that
   connection for the throttle time that its answer gives (KIP-219). Requests sent meanwhile stay
   unread while their timeouts run. When the broker reads such a request, it writes the records even
   if they have timed out. A record that timed out is then written twice, or its transaction fails.
   The client also sends all these records again on another connection, and they count again.

   A broker sums the bytes of ten to eleven seconds (quota.window.num). It accepts the quota of this
   whole window at once. Each later request must wait until enough of these bytes have left the
   window.
     - Not throttled: a client's bytes in flight are limited to a part of the largest sum that
       brokers accepted within one window. So few requests are in flight when one exceeds a quota.
       Only records of the last half second count. Older ones wait for another reason, such as a
       missing leader, and must not delay others.
     - Throttled within the last minute: no record is sent while a broker reads none, then a single
       one. If that one does not exceed the quota, the clients send at the rate that the quota
       allows, evenly. The rate follows from the bytes that brokers took and from the throttle time.
       A second without throttling raises it a little. A record without an acknowledgement counts
       for two seconds in which brokers read. If it counted longer, a record that waits for a leader
       would stop all others.
   All clients of the producer share the second rule, since a quota of the user sums their bytes.

   Pure: no client, no clock, no allocation. Times are monotonic milliseconds. */
#ifndef DELAYBRIDGE_CONSUMER_PACE_H
#define DELAYBRIDGE_CONSUMER_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An epoch is a quarter of a second in which brokers read. EPOCHS: the number of epochs that are
   kept. */
enum { PACE_SECONDS = 12, PACE_CLIENTS = 7, PACE_EPOCHS = 8 };

/* The limit on a client's young records while brokers do not throttle. The larger of the two
   applies. */
struct pace_share {
    int part; /* 1/part of the most bytes that brokers took */
    size_t least_bytes;
};

/* A record that was sent. */
struct pace_item {
    size_t bytes;  /* size as written; 0: not sent, or answered */
    int64_t epoch; /* in which it was sent; set by pace_sent */
    int client;
};

struct pace {
    /* Live records have no answer and were sent within PACE_EPOCHS. By epoch, then the sums. */
    size_t live_bytes_by_epoch[PACE_CLIENTS][PACE_EPOCHS];
    size_t live_by_epoch[PACE_EPOCHS]; /* records of all clients */
    size_t live_n, live_bytes;
    size_t in_flight_bytes[PACE_CLIENTS]; /* without an answer, of any age */
    struct pace_share share[PACE_CLIENTS];
    int64_t now_mono_ms;
    int64_t epoch, quarter,
        second; /* the current ones; quarters pass also while brokers do not read */
    size_t took_bytes[PACE_SECONDS]; /* acknowledged, by second */
    size_t took_sum, took_most; /* their sum, and the largest sum since brokers last throttled */
    bool probing;               /* no record was acknowledged since brokers throttled */
    bool probed;                /* while probing: a record was acknowledged */
    size_t epoch_bytes, second_bytes; /* sent in this quarter and in this second */
    size_t rate_bytes;                /* while throttled: limit for one second */
    int64_t muted_until_mono_ms;      /* a broker reads no request until then */
    int64_t throttled_mono_ms;        /* last time at which brokers throttled; 0: never */
};

void pace_init(struct pace *pace, const struct pace_share share[PACE_CLIENTS]);

/* Returns whether a client may send a record of about this many bytes now. False: try in a later
   turn. */
bool pace_takes(struct pace *pace, int client, size_t bytes, int64_t now_mono_ms);

/* A record goes to the client. The caller has set the item's bytes and client. */
void pace_sent(struct pace *pace, struct pace_item *item, int64_t now_mono_ms);

/* The client has reported the record. acknowledged: a broker took it. Ignores a record that was not
   sent. */
void pace_answered(struct pace *pace, struct pace_item *item, bool acknowledged,
                   int64_t now_mono_ms);

/* A quota was exceeded: a broker reads no request from a client for for_ms from now on. Call
   pace_answered first for all records that were acknowledged before. */
void pace_throttled(struct pace *pace, int64_t for_ms, int64_t now_mono_ms);

/* Asserts the invariants. */
void pace_check(const struct pace *pace);

#endif
