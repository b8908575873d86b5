/* SPDX-License-Identifier: Apache-2.0 */
/* target_recent: deliveries of the last ten seconds by entry of `targets`. Its size is fixed. Not
   safe for threads: the owner guards it. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_TARGET_RECENT_H
#define DELAYBRIDGE_BRIDGE_SERVICE_TARGET_RECENT_H

#include "bridge/core/stats.h"

enum { TARGET_RECENT_SECONDS = 10, TARGET_SNAPSHOTS = TARGET_RECENT_SECONDS + 1 };

/* Counters at one instant. */
struct target_snapshot {
    int64_t mono_ms;
    uint64_t deliveries[TARGET_LABELS];
    uint64_t lateness[TARGET_LABELS][SPAN_BUCKETS];
};

/* Starts zeroed. Large. */
struct target_recent {
    struct target_snapshot all[TARGET_SNAPSHOTS]; /* a ring */
    int first, n;
};

/* The growth of the counters of one entry between the oldest snapshot and the last one. */
struct target_growth {
    int64_t span_ms; /* 0: there is none */
    uint64_t deliveries, lateness_n;
    int64_t p50_ms, p99_ms; /* bounds of SPAN_BOUNDS_MS, rounded up; above all, the last one */
};

/* Adds a snapshot. Call it once a second. */
void target_recent_add(struct target_recent *recent, const struct stats *now, int64_t mono_ms);

struct target_growth target_recent_of(const struct target_recent *recent, int label);

#endif
