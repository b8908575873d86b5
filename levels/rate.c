/* SPDX-License-Identifier: Apache-2.0 */
/* rate: a bucket of tokens, and the slots of records that wait for one. */
#include "levels/rate.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The sums of many parts of a token are a little less than the number of tokens. */
#define NEARLY 1e-6

static const struct unit {
    char name;
    int64_t ms;
} UNITS[] = {{'s', 1000}, {'m', 60000}};
enum { UNITS_N = sizeof UNITS / sizeof UNITS[0] };

int rate_parse(struct bytes text, struct rate *rate)
{
    const char *at = text.data;
    int64_t records = 0;
    size_t i = 0;
    for (; i < text.len && at[i] >= '0' && at[i] <= '9' && records <= RATE_RECORDS_MAX; i++)
        records = 10 * records + (at[i] - '0');
    if (records == 0 || records > RATE_RECORDS_MAX || at[0] == '0' || text.len != i + 2 ||
        at[i] != '/')
        return ERR_DATA;
    for (int unit = 0; unit < UNITS_N; unit++) {
        if (UNITS[unit].name != at[i + 1])
            continue;
        *rate = (struct rate){records, UNITS[unit].ms};
        return 0;
    }
    return ERR_DATA;
}

const char *rate_format(const struct rate *rate, char out[RATE_TEXT_MAX])
{
    int unit = UNITS[0].ms == rate->unit_ms ? 0 : 1;
    snprintf(out, RATE_TEXT_MAX, "%" PRId64 "/%c", rate->records, UNITS[unit].name);
    return out;
}

double rate_share(const struct rate *rate, int own, int all)
{
    assert(own >= 0 && own <= all && all > 0);
    return (double)rate->records / (double)rate->unit_ms * own / all;
}

void bucket_start(struct bucket *b, double per_ms, int64_t now_mono_ms)
{
    assert(per_ms > 0);
    *b = (struct bucket){.per_ms = per_ms, .at_mono_ms = now_mono_ms};
}

double bucket_most(double per_ms)
{
    return fmax(per_ms * RATE_SPAN_MS, 1 + per_ms * RATE_LATE_MS);
}

static void refill(struct bucket *b, int64_t now_mono_ms)
{
    double passed_ms = fmax((double)(now_mono_ms - b->at_mono_ms), 0);
    b->tokens = fmin(b->tokens + passed_ms * b->per_ms, bucket_most(b->per_ms));
    b->free_ms = fmax(b->free_ms - passed_ms, 0);
    b->at_mono_ms = now_mono_ms;
}

bool bucket_is_open(struct bucket *b, bool has_slot, int64_t now_mono_ms)
{
    refill(b, now_mono_ms);
    return b->tokens >= 1 - NEARLY && (has_slot || b->free_ms <= NEARLY);
}

void bucket_take(struct bucket *b)
{
    assert(b->tokens >= 1 - NEARLY);
    b->tokens = fmax(b->tokens - 1, 0);
}

/* Returns the time from at_mono_ms to the next free slot. */
static double next_ms(const struct bucket *b)
{
    return fmax(b->free_ms, (1 - b->tokens) / b->per_ms);
}

static int64_t whole_ms(double wait_ms)
{
    int64_t whole_ms = (int64_t)ceil(wait_ms - NEARLY);
    return whole_ms > 0 ? whole_ms : 1;
}

int64_t bucket_wait_ms(const struct bucket *bucket, int64_t now_mono_ms)
{
    struct bucket b = *bucket;
    refill(&b, now_mono_ms);
    return whole_ms(next_ms(&b));
}

bool bucket_is_idle(const struct bucket *bucket, int64_t now_mono_ms)
{
    struct bucket b = *bucket;
    refill(&b, now_mono_ms);
    return b.free_ms <= NEARLY && b.tokens >= bucket_most(b.per_ms) - NEARLY;
}

int64_t bucket_give_slot(struct bucket *b, int64_t now_mono_ms)
{
    refill(b, now_mono_ms);
    double wait_ms = next_ms(b);
    b->free_ms = wait_ms + 1 / b->per_ms;
    return whole_ms(wait_ms);
}

void bucket_return_slot(struct bucket *b)
{
    b->free_ms = fmax(b->free_ms - 1 / b->per_ms, 0);
}

void bucket_forget_slots(struct bucket *b)
{
    b->free_ms = 0;
}
