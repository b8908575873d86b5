/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of the counters of targets, in a ring. */
#include "bridge/service/target_recent.h"

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0; /* a service that started again begins at 0 */
}

void target_recent_add(struct target_recent *recent, const struct stats *now, int64_t mono_ms)
{
    struct target_snapshot *s = &recent->all[(recent->first + recent->n) % TARGET_SNAPSHOTS];
    if (recent->n < TARGET_SNAPSHOTS)
        recent->n++;
    else
        recent->first = (recent->first + 1) % TARGET_SNAPSHOTS;
    s->mono_ms = mono_ms;
    for (int label = 0; label < TARGET_LABELS; label++) {
        const struct target_stats *t = &now->targets[label];
        s->deliveries[label] = counter_read(&t->deliveries);
        for (int i = 0; i < SPAN_BUCKETS; i++)
            s->lateness[label][i] = counter_read(&t->lateness.n[i]);
    }
}

/* Returns the smallest bound that a share q of the deliveries does not exceed. */
static int64_t quantile_ms(const uint64_t n[SPAN_BUCKETS], uint64_t all, double q)
{
    uint64_t seen = 0;
    int i = 0;
    for (; i < SPAN_BUCKETS - 2; i++) {
        seen += n[i];
        if ((double)seen >= q * (double)all)
            break;
    }
    return all == 0 ? 0 : (int64_t)(SPAN_BOUNDS_MS[i] + 0.5);
}

struct target_growth target_recent_of(const struct target_recent *recent, int label)
{
    struct target_growth g = {0};
    if (recent->n < 2)
        return g;
    uint64_t n[SPAN_BUCKETS];
    const struct target_snapshot *from = &recent->all[recent->first];
    const struct target_snapshot *to =
        &recent->all[(recent->first + recent->n - 1) % TARGET_SNAPSHOTS];
    g.span_ms = to->mono_ms - from->mono_ms;
    g.deliveries = growth(to->deliveries[label], from->deliveries[label]);
    for (int i = 0; i < SPAN_BUCKETS; i++) {
        n[i] = growth(to->lateness[label][i], from->lateness[label][i]);
        g.lateness_n += n[i];
    }
    g.p50_ms = quantile_ms(n, g.lateness_n, 0.5);
    g.p99_ms = quantile_ms(n, g.lateness_n, 0.99);
    return g;
}
