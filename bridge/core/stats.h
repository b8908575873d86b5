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

/* How the counters of several workers merge: ADD them up, take the MAX, or the EARLIEST instant, of
   which 0 is none. Each table below declares its counters and says so for each. */
#define STATS_DECLARE(name, merge) struct counter name;

/* Of one input topic, over the lanes that are owned. The first three count. The others are how it
   stands, written by bridge_survey:

     reading, paused, blocked  partitions
     pending                records not done yet, as far as the log's end is known; exactly once the
                            ends of transactions among them count
     head_ms                wall: release of the first of them; 0: none waits
     retrying               records that wait because of their target
     retrying_due_ms        wall: due time of the first of those that are in memory; 0: none */
#define STATS_SLOT(X)                                      \
    X(hops, ADD)       /* acknowledged by a level topic */ \
    X(deliveries, ADD) /* by a target */                   \
    X(dead, ADD)       /* by the dead-letter topic */      \
    X(reading, ADD)                                        \
    X(paused, ADD)                                         \
    X(blocked, ADD)                                        \
    X(pending, ADD)                                        \
    X(head_deadline_wall_ms, EARLIEST)                     \
    X(retrying, ADD)                                       \
    X(retrying_due_wall_ms, EARLIEST)

struct slot_stats {
    STATS_SLOT(STATS_DECLARE)
    struct spans lateness; /* of what was sent to targets: the bridge's own part */
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

/* Of one worker. Sums are read in this order, so that refused is never more than requests. */
#define STATS_COUNTERS(X)                                                                        \
    X(refused, ADD)          /* of the requests, sent to the dead-letter topic */                \
    X(requests, ADD)         /* taken from the schedule topic */                                 \
    X(hops, ADD)             /* acknowledged by a level topic */                                 \
    X(deliveries, ADD)       /* acknowledged by a target */                                      \
    X(retries, ADD)          /* deliveries that failed and went back to a level */               \
    X(deferrals, ADD)        /* went back to a level untried: the target was known to be away */ \
    X(resends, ADD)          /* failed for reasons of the client or the cluster, sent again */   \
    X(already_done, ADD)     /* read again though done: the bitmap said so */                    \
    X(order_violations, ADD) /* level records further out of order than slack + hold */          \
    X(window_full, ADD)      /* admissions that waited for acknowledgements */                   \
    X(missing_offsets, ADD)  /* offsets that did not exist any more, counted as done */          \
    X(lost_positions, ADD)   /* positions that did not exist any more */                         \
    X(stall_recoveries, ADD) /* queues that had to be woken again */                             \
    X(commits, ADD)          /* that succeeded */                                                \
    X(commits_failed, ADD)   /* that did not */                                                  \
    X(aborts, ADD)           /* exactly once: transactions given up */                           \
    X(throttled_ms, ADD)     /* for which a broker read nothing, because of a quota */           \
    X(rebalances, ADD)       /* lanes gained or lost, counted once a change */                   \
    X(lanes, ADD)            /* owned now */                                                     \
    X(paused, ADD)           /* queues paused now */                                             \
    X(buffered_records, ADD) /* parcels in work now */                                           \
    X(buffered_bytes, ADD)   /* what they pin */                                                 \
    X(lateness_max_ms, MAX)

struct stats {
    STATS_COUNTERS(STATS_DECLARE)
    struct counter dead[CODE_N]; /* acknowledged by the dead-letter topic, by code */
    struct counter lateness[LATENESS_BUCKETS];
    struct spans commit;       /* from the request to its answer */
    struct spans target_delay; /* of deliveries that were tried before, or deferred: from due to
                                  their last next try */
    struct slot_stats slots[SLOTS_MAX];
    struct target_stats targets[TARGET_LABELS];
};

/* How the canary fares. */
struct canary_stats {
    struct counter sent;             /* acknowledged by the schedule topic */
    struct counter received;         /* and back again */
    struct counter received_wall_ms; /* wall: the last one; 0: none yet */
    struct spans round_trip, lateness;
};

void stats_lateness(struct stats *stats, int slot, int64_t late_ms);

/* Merges from into sum, each counter as its table says. */
void stats_sum(struct stats *sum, const struct stats *from);

/* Lateness in ms below which q (0..1) of the deliveries between two snapshots stayed; 0 if there
   were none. before may be NULL. */
int64_t stats_quantile_ms(const struct stats *now, const struct stats *before, double q);

#endif
