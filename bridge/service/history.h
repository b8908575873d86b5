/* SPDX-License-Identifier: Apache-2.0 */
/* history: the figures of each second of the last hour, kept in memory. Its size is fixed. Not safe
   for threads: the owner guards it. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_HISTORY_H
#define DELAYBRIDGE_BRIDGE_SERVICE_HISTORY_H

#include "bridge/core/stats.h"

#include <stdbool.h>

enum { HISTORY_MAX = 3600 };

/* One second: the growth of the counters in it, and the gauges at its end. */
struct history_second {
    int64_t wall_ms; /* its end */
    int64_t span_ms; /* from the end of the one before */
    uint64_t requests, hops, deliveries, cancelled, dead_letters, redeliveries, deferrals;
    uint64_t waiting;                /* gauge: records in levels and in memory */
    uint64_t backlog;                /* gauge: requests that are not read yet */
    int64_t p50_ms, p99_ms, max_ms;  /* of the lateness of the deliveries */
    uint32_t lateness[SPAN_BUCKETS]; /* deliveries by the bounds SPAN_BOUNDS_MS */
};

struct history {
    struct history_second *seconds; /* owned; a ring of HISTORY_MAX */
    int first, n;
    struct stats last; /* at the end of the last one; large */
    int64_t last_mono_ms;
    bool started; /* last is set */
};

/* Return NULL without memory. The caller frees the history with history_free. A copy has no
   counters, so nothing may be added to it. */
struct history *history_new(void);
struct history *history_copy(const struct history *history);
void history_free(struct history *history);

/* Adds the second that ends now. The first call only notes where the counters stand. */
void history_add(struct history *history, const struct stats *now, int64_t wall_ms,
                 int64_t mono_ms);

/* Returns a second, from 0, the oldest one, to history->n - 1. */
const struct history_second *history_at(const struct history *history, int i);

/* Adds up the last `seconds` seconds, or fewer if there are fewer. Gauges are those of the last
   one, and p50_ms and p99_ms are bounds of SPAN_BOUNDS_MS or max_ms, the smaller one. span_ms is 0
   if there is none. */
struct history_second history_sum(const struct history *history, int seconds);

#endif
