/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one span, from two sums of the workers' counters. */
#include "bridge/service/heartbeat.h"

#include "bridge/base/log.h"

#include <string.h>

/* Returns the growth of a counter in one second. */
static double rate(const struct counter *now, const struct counter *before, int64_t ms)
{
    return (double)(counter_read(now) - counter_read(before)) * 1000.0 / (double)(ms > 0 ? ms : 1);
}

static uint64_t dead_letters(const struct stats *stats)
{
    uint64_t n = 0;
    for (int code = 0; code < CODE_N; code++)
        n += counter_read(&stats->dead[code]);
    return n;
}

void heartbeat_log(struct heartbeat *h, const struct stats *now, int64_t now_mono_ms)
{
    const struct stats *last = &h->last;
    int64_t ms = now_mono_ms - h->last_mono_ms;
    log_info("heartbeat", F_COUNT("lanes", counter_read(&now->lanes)),
             F_RATE("requests_per_s", rate(&now->requests, &last->requests, ms)),
             F_RATE("hops_per_s", rate(&now->hops, &last->hops, ms)),
             F_RATE("deliveries_per_s", rate(&now->deliveries, &last->deliveries, ms)),
             F_MS("late_p50_ms", stats_quantile_ms(now, last, 0.5)),
             F_MS("late_p99_ms", stats_quantile_ms(now, last, 0.99)),
             F_MS("late_max_ms", stats_max_ms(now, last)),
             F_COUNT("buffered_records", counter_read(&now->buffered_records)),
             F_COUNT("buffered_bytes", counter_read(&now->buffered_bytes)),
             F_COUNT("paused", counter_read(&now->paused)),
             F_COUNT("dead_letters", dead_letters(now)),
             F_COUNT("redeliveries", counter_read(&now->redeliveries)),
             F_COUNT("order_violations", counter_read(&now->order_violations)));
    memcpy(&h->last, now, sizeof h->last);
    h->last_mono_ms = now_mono_ms;
}
