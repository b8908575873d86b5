/* SPDX-License-Identifier: Apache-2.0 */
/* stats: what a worker counted. One thread writes, any may read at any time: plain relaxed stores.
 */
#ifndef DELAYBRIDGE_BRIDGE_CORE_STATS_H
#define DELAYBRIDGE_BRIDGE_CORE_STATS_H

#include "levels/code.h"
#include "levels/extras.h"
#include "levels/plan.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct counter {
    _Atomic uint64_t n;
};

static inline uint64_t counter_read(const struct counter *counter)
{
    return atomic_load_explicit(&counter->n, memory_order_relaxed);
}

static inline void counter_set(struct counter *counter, uint64_t n)
{
    atomic_store_explicit(&counter->n, n, memory_order_relaxed);
}

static inline void counter_add(struct counter *counter, uint64_t n)
{
    counter_set(counter, counter_read(counter) + n);
}

/* Lateness in ms, log-linear: exact below 16 ms, then sixteen buckets for each doubling (an error
   of at most 6 %), the last one open. */
enum { LATENESS_BUCKETS = 16 * 22 };

/* Spans of time for the world to see: how many took at most SPAN_BOUNDS_MS[i], in n[i] those that
   no smaller bound holds; the last one holds the rest. */
enum { SPAN_BUCKETS = 17 };
extern const double SPAN_BOUNDS_MS[SPAN_BUCKETS - 1];

struct spans {
    struct counter n[SPAN_BUCKETS];
    struct counter sum_ms;
};

void spans_add(struct spans *spans, int64_t ms);

/* Of one input topic, over the lanes that are owned. From reading on it is how it stands, written
   by bridge_survey; the others count. */
struct slot_stats {
    struct counter hops;                  /* acknowledged by a level topic */
    struct counter deliveries;            /* by a target */
    struct counter dead;                  /* by the dead-letter topic */
    struct spans lateness;                /* of what was sent to targets: the bridge's own part */
    struct counter reading, paused, held; /* partitions */
    struct counter pending;  /* records not done yet, as far as the log's end is known; exactly once
                                the ends of transactions among them count */
    struct counter head_ms;  /* wall: when the first of them was or is to go on; 0: none waits */
    struct counter retrying; /* records that wait because of their target */
    struct counter retrying_due_ms; /* wall: when the first of those that are seen was due; 0: none
                                       is seen */
};

/* Entries of `targets` that are counted apart (labels.h). NONE: no entry matches, or the canary;
   OTHER: there was no room. */
enum { DELIVERY_ERRORS = DELIVERY_UNFIT }; /* the last one */
enum { LABEL_NONE = 0, LABEL_OTHER = 63, TARGET_LABELS = LABEL_OTHER + 1 };

/* Of the targets that one entry of `targets` stands for. */
struct target_stats {
    struct counter deliveries;                    /* acknowledged */
    struct counter deferrals;                     /* as in struct stats */
    struct counter failures[DELIVERY_ERRORS + 1]; /* by enum delivery_error */
    struct counter dead[CODE_N];                  /* acknowledged by the dead-letter topic */
};

enum { SLOTS_MAX = 1 + 2 * LADDER_MAX }; /* the schedule topic, levels and retired levels */

struct stats {
    struct counter refused;    /* of the requests, sent to the dead-letter topic; read first, it is
                                  never more than the requests */
    struct counter requests;   /* taken from the schedule topic */
    struct counter hops;       /* acknowledged by a level topic */
    struct counter deliveries; /* acknowledged by a target */
    struct counter dead[CODE_N]; /* acknowledged by the dead-letter topic, by code */
    struct counter retries;      /* deliveries that failed and went back to a level */
    struct counter deferrals;    /* went back to a level untried: the target was known to be away */
    struct counter resends;      /* failed for reasons of the client or the cluster, sent again */
    struct counter skipped;      /* read again though done: the bitmap said so */
    struct counter breaches;     /* level records further out of order than slack + hold */
    struct counter window_full;  /* admissions that waited for acknowledgements */
    struct counter gaps;         /* offsets that did not exist any more, counted as done */
    struct counter out_of_range; /* positions that did not exist any more */
    struct counter watchdog;     /* queues that had to be woken again */
    struct counter commits;      /* that succeeded */
    struct counter commits_failed; /* that did not */
    struct counter aborts;         /* exactly once: transactions given up */
    struct counter rebalances;     /* lanes gained or lost, counted once a change */
    struct counter lanes;          /* owned now */
    struct counter paused;         /* queues paused now */
    struct counter held;           /* parcels in work now */
    struct counter held_bytes;     /* what they pin */
    struct counter lateness_ms_max;
    struct counter lateness[LATENESS_BUCKETS];
    struct spans commit;       /* from the request to its answer */
    struct spans target_delay; /* of deliveries that were tried before, or deferred: from due to
                                  their last next try */
    struct slot_stats slots[SLOTS_MAX];
    struct target_stats targets[TARGET_LABELS];
};

/* How the canary fares. */
struct canary_stats {
    struct counter sent;        /* acknowledged by the schedule topic */
    struct counter received;    /* and back again */
    struct counter received_ms; /* wall: the last one; 0: none yet */
    struct spans round_trip, lateness;
};

void stats_lateness(struct stats *stats, int slot, int64_t late_ms);

/* Add up from into sum: counters add, the maximum is the larger, instants the earlier. */
void stats_sum(struct stats *sum, const struct stats *from);

/* Lateness in ms below which q (0..1) of the deliveries between two snapshots stayed; 0 if there
   were none. before may be NULL. */
int64_t stats_quantile_ms(const struct stats *now, const struct stats *before, double q);

#endif
