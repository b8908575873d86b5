/* SPDX-License-Identifier: Apache-2.0 */
/* pace: decides how much the clients of a producer send, so that a broker quota makes records late
   and does nothing else.

   Why: a broker answers the request that exceeds a quota at once, then reads nothing from that
   connection for as long as the answer says (KIP-219). Requests that were sent meanwhile lie unread
   while their timeouts run. A record that timed out is written all the same when its request is
   read: it comes twice, or it breaks its transaction. And the client sends all of it again on
   another connection, which counts against the quota again.

   A broker counts the bytes of ten to eleven seconds (quota.window.num), so these are allowed at
   once, and every request after that has to wait until they are so old.
     - Not throttled: a client may have a part of the most that brokers took within that time on its
       way, so a quota is first met by few requests. Only records of the last half second count:
       older ones wait for something else, a leader perhaps, and must not hold others.
     - Throttled in the last minute: nothing while a broker reads nothing, then a single record. If
       that does not exceed the quota either, as many bytes a second as it allows, evenly. This
       follows from what brokers took and for how long they throttle; a second without throttling
       adds a little. Records without an answer count for two seconds in which brokers read: else
       one that waits for a leader, a hop for instance, would stop all others.
   All clients of the producer share the second rule: a quota of the user counts them together.

   Pure: no client, no clock, no allocation. Times are monotonic milliseconds. */
#ifndef DELAYBRIDGE_CONSUMER_PACE_H
#define DELAYBRIDGE_CONSUMER_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* EPOCHS: quarters of a second in which brokers read. */
enum { PACE_SECONDS = 12, PACE_CLIENTS = 5, PACE_EPOCHS = 8 };

/* Of a client, while brokers do not throttle: may be young. */
struct pace_share {
    int part; /* 1/part of the most that brokers took */
    size_t least_bytes;
};

/* A record that was sent. */
struct pace_item {
    size_t bytes;  /* as written; 0: it was not sent, or is answered */
    int64_t epoch; /* when it was sent, for pace.c */
    int client;
};

struct pace {
    /* Without an answer, by the epoch in which they were sent. */
    size_t flying_bytes[PACE_CLIENTS][PACE_EPOCHS];
    size_t live_by_epoch[PACE_EPOCHS]; /* records of all clients */
    size_t live_n, live_bytes;         /* the sums of these; older ones wait for something else */
    size_t sent_bytes[PACE_CLIENTS];   /* without an answer, whenever they were sent */
    struct pace_share share[PACE_CLIENTS];
    int64_t now_mono_ms;
    int64_t epoch, quarter, second;   /* now; quarter: of a second, whether brokers read or not */
    size_t took_bytes[PACE_SECONDS];  /* acknowledged, by the second */
    size_t took_sum, took_most;       /* most: of these sums, since brokers last throttled */
    bool probing;                     /* nothing was acknowledged since brokers throttled */
    bool probed;                      /* something was */
    size_t epoch_bytes, second_bytes; /* sent in this quarter, in this second */
    size_t rate_bytes;                /* throttled: to be sent in a second */
    int64_t muted_until_mono_ms;      /* a broker reads nothing until then */
    int64_t throttled_mono_ms;        /* the last time that this was so; 0: never */
};

void pace_init(struct pace *pace, const struct pace_share share[PACE_CLIENTS]);

/* Whether a client may send a record of about so many bytes now. False: at a later turn. */
bool pace_takes(struct pace *pace, int client, size_t bytes, int64_t now_mono_ms);

/* The item's bytes and client are set: it is sent, or on its way to the client. */
void pace_sent(struct pace *pace, struct pace_item *item, int64_t now_mono_ms);

/* It was reported. acknowledged: a broker took it. Does nothing for one that was not sent. */
void pace_answered(struct pace *pace, struct pace_item *item, bool acknowledged,
                   int64_t now_mono_ms);

/* A quota was exceeded: a broker reads nothing from a client for for_ms from now on. After
   pace_answered for what was acknowledged before. */
void pace_throttled(struct pace *pace, int64_t for_ms, int64_t now_mono_ms);

/* Asserts the invariants. */
void pace_check(const struct pace *pace);

#endif
