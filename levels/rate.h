/* SPDX-License-Identifier: Apache-2.0 */
/* rate: how many records a target may receive, as people write it (100/s), and the bucket of one
   worker. The bucket gives each record over the rate a slot: the time at which it may be sent.
   Pure: the clock is a parameter. It is monotonic, so that a step of the wall clock adds no tokens.

   Slots are spaced by the rate, and each is given once. A record that returns in its slot needs a
   token, like any other. The tokens alone limit the rate, so a slot that another bucket gave does
   no harm. If no token is left, the record gets another slot. A bucket holds the tokens of a
   second. A small share would lose a token with each record that returns late, so it holds one
   token, and those of RATE_LATE_MS. In any span of T ms, at most per_ms * T + bucket_most(per_ms)
   records pass. */
#ifndef DELAYBRIDGE_LEVELS_RATE_H
#define DELAYBRIDGE_LEVELS_RATE_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RATE_RECORDS_MAX = 1000000, /* records in one unit */
    RATE_SPAN_MS = 1000,        /* a bucket holds the tokens of this span, */
    RATE_LATE_MS = 100,         /* or one token, and those of this span, if that is more */
    RATE_TEXT_MAX = 16
};

struct rate {
    int64_t records; /* from 1 to RATE_RECORDS_MAX */
    int64_t unit_ms; /* a second or a minute */
};

/* Parses "100/s" or "6000/m". Returns 0, or ERR_DATA. *rate is unchanged on error. */
int rate_parse(struct bytes text, struct rate *rate) must_check;

/* Returns the records in a minute. */
static inline int64_t rate_per_minute(const struct rate *rate)
{
    return rate->records * (60000 / rate->unit_ms);
}

/* Writes the form that rate_parse reads. Returns out. */
const char *rate_format(const struct rate *rate, char out[RATE_TEXT_MAX]);

/* Returns the part of the rate that a worker with `own` of `all` lanes may use, in records a ms. */
double rate_share(const struct rate *rate, int own, int all);

struct bucket {
    double per_ms;      /* tokens that it gets in a ms */
    double tokens;      /* at at_mono_ms */
    double free_ms;     /* from at_mono_ms to the first slot that is not given */
    int64_t at_mono_ms; /* tokens were last added */
};

/* Empties the bucket, and forgets its slots. */
void bucket_start(struct bucket *bucket, double per_ms, int64_t now_mono_ms);

/* Returns the tokens that a bucket holds at most. */
double bucket_most(double per_ms);

/* Returns whether a record may be sent now. has_slot: it waited for a slot. Every other record
   waits behind the slots that are given. Changes nothing but the time of the bucket. */
bool bucket_is_open(struct bucket *bucket, bool has_slot, int64_t now_mono_ms);

/* Takes the token of a record that was sent. Requires bucket_is_open. */
void bucket_take(struct bucket *bucket);

/* Returns the time until the slot that bucket_give_slot would give. */
int64_t bucket_wait_ms(const struct bucket *bucket, int64_t now_mono_ms);

/* Returns whether it holds all its tokens, and no record waits for a slot of it. */
bool bucket_is_idle(const struct bucket *bucket, int64_t now_mono_ms);

/* Gives the next free slot. Returns the time until then, at least 1 ms. Requires a record for which
   the bucket is not open. */
int64_t bucket_give_slot(struct bucket *bucket, int64_t now_mono_ms);

/* Takes back a slot that a record does not need any more. */
void bucket_return_slot(struct bucket *bucket);

/* Takes back all slots. The tokens stay. */
void bucket_forget_slots(struct bucket *bucket);

#endif
