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
    if (late_ms > (int64_t)counter_read(&stats->lateness_max_ms))
        counter_set(&stats->lateness_max_ms, (uint64_t)late_ms);
}

static void merge_ADD(struct counter *sum, const struct counter *from)
{
    counter_add(sum, counter_read(from));
}

static void merge_MAX(struct counter *sum, const struct counter *from)
{
    if (counter_read(from) > counter_read(sum))
        counter_set(sum, counter_read(from));
}

/* Keeps the smaller value, which is not 0. */
static void merge_EARLIEST(struct counter *sum, const struct counter *from)
{
    uint64_t a = counter_read(sum), b = counter_read(from);
    if (a == 0 || (b != 0 && b < a))
        counter_set(sum, b);
}

static void add_all(struct counter *sum, const struct counter *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        merge_ADD(&sum[i], &from[i]);
}

static void add_spans(struct spans *sum, const struct spans *from)
{
    add_all(sum->n, from->n, SPAN_BUCKETS);
    merge_ADD(&sum->sum_ms, &from->sum_ms);
}

#define MERGE(name, merge) merge_##merge(&sum->name, &from->name);

static void sum_slot(struct slot_stats *sum, const struct slot_stats *from)
{
    STATS_SLOT(MERGE)
    add_spans(&sum->lateness, &from->lateness);
}

static void sum_target(struct target_stats *sum, const struct target_stats *from)
{
    merge_ADD(&sum->deliveries, &from->deliveries);
    merge_ADD(&sum->deferrals, &from->deferrals);
    merge_ADD(&sum->paused, &from->paused);
    merge_ADD(&sum->limited, &from->limited);
    merge_EARLIEST(&sum->limit_per_minute, &from->limit_per_minute);
    merge_MAX(&sum->pause, &from->pause);
    merge_MAX(&sum->topics, &from->topics); /* workers know the same topics */
    merge_MAX(&sum->failing, &from->failing);
    merge_MAX(&sum->slow, &from->slow);
    add_spans(&sum->lateness, &from->lateness);
    add_all(sum->failures, from->failures, DELIVERY_ERRORS + 1);
    add_all(sum->dead, from->dead, CODE_N);
}

void stats_retry(struct stats *stats, int label, int n)
{
    counter_add(&stats->retry[label].requests[n < RETRY_NUMBERS ? n - 1 : RETRY_NUMBERS - 1], 1);
}

void stats_sum(struct stats *sum, const struct stats *from)
{
    STATS_COUNTERS(MERGE)
    add_all(sum->dead, from->dead, CODE_N);
    add_all(sum->formats, from->formats, COMPAT_N);
    add_all(sum->events, from->events, EVENT_TYPES);
    add_all(sum->lateness, from->lateness, LATENESS_BUCKETS);
    add_spans(&sum->commit, &from->commit);
    add_spans(&sum->restore, &from->restore);
    add_spans(&sum->target_delay, &from->target_delay);
    add_spans(&sum->withheld_delay, &from->withheld_delay);
    for (int i = 0; i < SLOTS_MAX; i++)
        sum_slot(&sum->slots[i], &from->slots[i]);
    for (int i = 0; i < TARGET_LABELS; i++)
        sum_target(&sum->targets[i], &from->targets[i]);
    for (int i = 0; i < TARGET_LABELS; i++)
        add_all(sum->retry[i].requests, from->retry[i].requests, RETRY_NUMBERS);
}

/* Returns the bucket of the q-quantile, or -1 if there were no deliveries. */
static int quantile_bucket(const struct stats *now, const struct stats *before, double q)
{
    uint64_t n[LATENESS_BUCKETS], total = 0;
    for (int i = 0; i < LATENESS_BUCKETS; i++) {
        n[i] = counter_read(&now->lateness[i]) - (before ? counter_read(&before->lateness[i]) : 0);
        total += n[i];
    }
    if (total == 0)
        return -1;
    uint64_t rank = (uint64_t)(q * (double)(total - 1)), seen = n[0];
    int i = 0;
    while (seen <= rank && i < LATENESS_BUCKETS - 1)
        seen += n[++i];
    return i;
}

int64_t stats_quantile_ms(const struct stats *now, const struct stats *before, double q)
{
    int bucket = quantile_bucket(now, before, q);
    return bucket < 0 ? 0 : bucket_low_ms(bucket);
}

int64_t stats_max_ms(const struct stats *now, const struct stats *before)
{
    int bucket = quantile_bucket(now, before, 1);
    if (bucket < 0)
        return 0;
    int64_t most_ms = (int64_t)counter_read(&now->lateness_max_ms);
    if (bucket < LATENESS_BUCKETS - 1 && bucket_low_ms(bucket + 1) - 1 < most_ms)
        most_ms = bucket_low_ms(bucket + 1) - 1;
    return most_ms < 1 ? 1 : most_ms;
}
