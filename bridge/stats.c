/* SPDX-License-Identifier: Apache-2.0 */
/* The lateness histogram, and adding up the counters of several workers. */
#include "bridge/stats.h"

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

void stats_lateness(struct stats *stats, int64_t late_ms)
{
    counter_add(&stats->lateness[bucket_of(late_ms)], 1);
    if (late_ms > (int64_t)counter_read(&stats->lateness_ms_max))
        counter_set(&stats->lateness_ms_max, (uint64_t)late_ms);
}

void stats_sum(struct stats *sum, const struct stats *from)
{
    uint64_t max = counter_read(&sum->lateness_ms_max);
    uint64_t other = counter_read(&from->lateness_ms_max);
    struct counter *to = (struct counter *)sum;
    const struct counter *add = (const struct counter *)from;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        counter_add(&to[i], counter_read(&add[i]));
    counter_set(&sum->lateness_ms_max, max > other ? max : other);
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
