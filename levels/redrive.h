/* SPDX-License-Identifier: Apache-2.0 */
/* redrive: turns a dead-lettered record into the request that is sent again. The clock is a
   parameter. */
#ifndef DELAYBRIDGE_LEVELS_REDRIVE_H
#define DELAYBRIDGE_LEVELS_REDRIVE_H

#include "levels/compat.h"

/* How a relative delay counts: dlb-delay, or a foreign one such as x-delay. */
enum redrive_delay {
    REDRIVE_UNCHOSEN,
    REDRIVE_KEEP_DUE, /* from dlb-sent-at: dlb-deliver-at replaces it, or precedes a foreign one */
    REDRIVE_RESTART_DELAY /* from the moment of sending */
};

struct redrive_rules {
    enum redrive_delay delay;
    bool drop_expiry; /* send an expired request without dlb-expires-at */
    unsigned compat;  /* the foreign formats that the bridge translates */
};

enum redrive_verdict {
    REDRIVE_SEND,
    REDRIVE_CHOOSE,  /* it has a relative delay, and the rules do not say how that counts */
    REDRIVE_EXPIRED, /* dlb-expires-at passes before it can be delivered */
    REDRIVE_UNDATED  /* KEEP_DUE, but the time of sending is unknown */
};

enum { REDRIVE_DUE_MAX = 24 };

/* The headers of the new request. Starts zeroed; due holds the text of dlb-deliver-at. */
struct redrive {
    struct header *headers; /* the caller's array, with room for the record's headers and one */
    size_t headers_n;
    char due[REDRIVE_DUE_MAX];
};

/* Fills redrive with the record's headers in their order. Drops those of dead letters (dlb-error,
   dlb-reason, dlb-source, dlb-sent-at, dlb-failed-at, dlb-truncated, dlb-range), those of retries
   (dlb-attempt, dlb-first-at, dlb-origin) and dlb-due. With its old origin, the new count from 1
   would repeat deliveries that the consumer has seen, and it would drop them as duplicates. A
   malformed time stays as it is, since only request_parse judges it. sent_wall_ms: of the request,
   or -1. Returns the verdict; the headers are complete only with REDRIVE_SEND. */
enum redrive_verdict redrive_rewrite(const struct redrive_rules *rules, const struct record *record,
                                     int64_t sent_wall_ms, int64_t now_wall_ms,
                                     struct redrive *redrive);

#endif
