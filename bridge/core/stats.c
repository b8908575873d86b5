/* SPDX-License-Identifier: Apache-2.0 */
/* The histograms, and adding up the counters of several workers. */
#include "bridge/core/stats.h"

const double SPAN_BOUNDS_MS[SPAN_BUCKETS - 1] = {1,   2.5, 5,    10,   25,  50,    100,   250,
                                                 500, 1e3, 2500, 5000, 1e4, 30000, 60000, 300000};

void spans_add(struct spans *spans, int64_t ms)
{
    int i = 0;
    while (i < SPAN_BUCKETS - 1 && (double)ms > SPAN_BOUNDS_MS[i])
        i++;
    counter_add(&spans->n[i], 1);
    counter_add(&spans->sum_ms, (uint64_t)(ms < 0 ? 0 : ms));
}

static int bucket_of(int64_t ms)
{
    if (ms < 16)
        return ms < 0 ? 0 : (int)ms;
    int doublings = 63 - __builtin_clzll((unsigned long long)ms) - 4;
    int bucket = 16 * (doublings + 1) + (int)((ms >> doublings) & 15);
    return bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1;
}

static int64_t bucket_low_ms(int bucket)
{
    if (bucket < 16)
        return bucket;
    int doublings = bucket / 16 - 1;
    return (int64_t)(16 + bucket % 16) << doublings;
}

void stats_lateness(struct stats *stats, int slot, int64_t late_ms)
{
    spans_add(&stats->slots[slot].lateness, late_ms);
    counter_add(&stats->lateness[bucket_of(late_ms)], 1);
    if (late_ms > (int64_t)counter_read(&stats->lateness_ms_max))
        counter_set(&stats->lateness_ms_max, (uint64_t)late_ms);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The one that is not 0. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void stats_sum(struct stats *sum, const struct stats *from)
{
    static const size_t counters = sizeof *sum / sizeof(struct counter);
    uint64_t max_ms =
        larger(counter_read(&sum->lateness_ms_max), counter_read(&from->lateness_ms_max));
    uint64_t head_ms[SLOTS_MAX], retrying_due_ms[SLOTS_MAX];
    for (int i = 0; i < SLOTS_MAX; i++) {
        const struct slot_stats *a = &sum->slots[i], *b = &from->slots[i];
        head_ms[i] = earlier(counter_read(&a->head_ms), counter_read(&b->head_ms));
        retrying_due_ms[i] =
            earlier(counter_read(&a->retrying_due_ms), counter_read(&b->retrying_due_ms));
    }
    struct counter *to = (struct counter *)sum;
    const struct counter *add = (const struct counter *)from;
    for (size_t i = 0; i < counters; i++)
        counter_add(&to[i], counter_read(&add[i]));
    counter_set(&sum->lateness_ms_max, max_ms);
    for (int i = 0; i < SLOTS_MAX; i++) {
        counter_set(&sum->slots[i].head_ms, head_ms[i]);
        counter_set(&sum->slots[i].retrying_due_ms, retrying_due_ms[i]);
    }
}

int64_t stats_quantile_ms(const struct stats *now, const struct stats *before, double q)
{
    uint64_t n[LATENESS_BUCKETS], total = 0;
    for (int i = 0; i < LATENESS_BUCKETS; i++) {
        n[i] = counter_read(&now->lateness[i]) - (before ? counter_read(&before->lateness[i]) : 0);
        total += n[i];
    }
    if (total == 0)
        return 0;
    uint64_t rank = (uint64_t)(q * (double)(total - 1)), seen = 0;
    for (int i = 0; i < LATENESS_BUCKETS; i++) {
        seen += n[i];
        if (seen > rank)
            return bucket_low_ms(i);
    }
    return 0;
}
