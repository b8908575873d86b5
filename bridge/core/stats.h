/* SPDX-License-Identifier: Apache-2.0 */
/* stats: the counters, gauges and histograms of one worker. The worker's thread writes them, and
   any thread may read them at any time: all accesses are relaxed and atomic. Counters only grow. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_STATS_H
#define DELAYBRIDGE_BRIDGE_CORE_STATS_H

#include "levels/code.h"
#include "levels/compat.h"
#include "levels/event.h"
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

/* Buckets of the fine histogram of lateness. Below 16 ms each ms has a bucket. Above, each doubling
   has sixteen buckets, so the error is at most 6 %. The last bucket is open. */
enum { LATENESS_BUCKETS = 16 * 22 };

/* A histogram of spans. n[i] counts spans of at most SPAN_BOUNDS_MS[i] that no smaller bound
   includes. The last bucket is open. */
enum { SPAN_BUCKETS = 17 };
extern const double SPAN_BOUNDS_MS[SPAN_BUCKETS - 1];

struct spans {
    struct counter n[SPAN_BUCKETS];
    struct counter sum_ms;
};

/* Counts one span. A negative span counts as 0. */
void spans_add(struct spans *spans, int64_t ms);

/* The tables below declare counters and say how those of several workers merge. ADD: their sum.
   MAX: the largest. EARLIEST: the earliest instant, where 0 is none. */
#define STATS_DECLARE(name, merge) struct counter name;

/* One input topic, over all owned lanes. The first three are counters of acknowledged records, by
   the topic that acknowledged them. The others are gauges, which bridge_survey writes. */
#define STATS_SLOT(X)                                                                              \
    X(hops, ADD)                          /* level topics */                                       \
    X(deliveries, ADD)                    /* targets */                                            \
    X(dead, ADD)                          /* the dead-letter topic */                              \
    X(cancelled, ADD)                     /* a counter: records that a cancel voids */             \
    X(reading, ADD)                       /* partitions */                                         \
    X(paused, ADD)                        /* partitions whose next record is not near */           \
    X(blocked, ADD)                       /* partitions that wait for an operator */               \
    X(pending, ADD)                       /* offsets that are not done, up to the known end of the \
                                             log; with exactly-once also ends of transactions */   \
    X(head_deadline_wall_ms, EARLIEST)    /* release of the first waiting record; 0: none */       \
    X(redelivering, ADD)                  /* records that wait because of their target */          \
    X(redelivering_due_wall_ms, EARLIEST) /* oldest due time of those that are known; 0: none */   \
    X(withheld, ADD)                      /* records whose target is paused or limited */

struct slot_stats {
    STATS_SLOT(STATS_DECLARE)
    struct spans lateness; /* of deliveries, without the time that their target delayed them */
};

/* An index in stats.targets (labels.h). NONE: no entry of `targets` matches, or the canary. OTHER:
   the entries for which there is no room. */
enum { LABEL_NONE = 0, LABEL_OTHER = 63, TARGET_LABELS = LABEL_OTHER + 1 };
enum { DELIVERY_ERRORS = DELIVERY_UNFIT }; /* the last one */

/* The targets that one entry of `targets` matches. */
struct target_stats {
    struct counter deliveries;       /* acknowledged */
    struct counter deferrals;        /* returned to a level without an attempt */
    struct counter paused, limited;  /* the same, because operators pause or limit it */
    struct counter limit_per_minute; /* gauge: the lowest limit in force; 0: none */
    struct counter pause;            /* gauge: enum control_share of the pauses in force */
    struct counter topics;           /* gauge: its topics that the worker knows */
    struct counter failing;          /* gauge: those whose last delivery failed */
    struct counter slow;             /* gauge: exactly-once: those that delay others */
    struct spans lateness;           /* of deliveries, as in struct slot_stats */
    struct counter failures[DELIVERY_ERRORS + 1]; /* by enum delivery_error */
    struct counter dead[CODE_N];                  /* acknowledged by the dead-letter topic */
};

/* Retries by their number, from 1; the last entry counts all above. */
enum { RETRY_NUMBERS = 11 };
struct retry_stats {
    struct counter requests[RETRY_NUMBERS];
};

enum { SLOTS_MAX = 1 + 2 * LADDER_MAX }; /* the schedule topic, levels and retired levels */

/* One worker. The sum over workers is read in this order, so refused is never above requests. */
#define STATS_COUNTERS(X)                                                                          \
    X(refused, ADD)          /* requests that were written to the dead-letter topic */             \
    X(requests, ADD)         /* read from the schedule topic, refused ones included */             \
    X(hops, ADD)             /* acknowledged by a level topic */                                   \
    X(deliveries, ADD)       /* acknowledged by a target */                                        \
    X(redeliveries, ADD)     /* deliveries that failed and will be tried again */                  \
    X(deferrals, ADD)        /* returned to a level without an attempt: the target was down */     \
    X(resends, ADD)          /* failed because of the client or the cluster, and sent again */     \
    X(already_done, ADD)     /* records that were read again although done */                      \
    X(reread, ADD)           /* records that were read again because they were not done */         \
    X(kept, ADD)             /* records that waited in memory in place of a level (hold.h) */      \
    X(spilled, ADD)          /* those that went to a level after all, for lack of room */          \
    X(kept_records, ADD)     /* gauge: those that wait */                                          \
    X(kept_bytes, ADD)       /* gauge: their memory */                                             \
    X(order_violations, ADD) /* records of a level further out of order than slack + hold */       \
    X(window_full, ADD)      /* records that had to wait for room */                               \
    X(missing_offsets, ADD)  /* offsets that do not exist, counted as done */                      \
    X(lost_positions, ADD)   /* times that the position of a queue was deleted */                  \
    X(stall_recoveries, ADD) /* silent queues that were read again */                              \
    X(commits, ADD)          /* that succeeded */                                                  \
    X(commits_failed, ADD)                                                                         \
    X(aborts, ADD)       /* exactly-once: aborted transactions */                                  \
    X(targets_slow, ADD) /* gauge: exactly-once: targets that delay others (slowness.h) */         \
    X(throttled_ms, ADD) /* total time for which a broker's quota stopped requests */              \
    X(rebalances, ADD)                                                                             \
    X(cancels, ADD)                   /* cancels that were acknowledged by the topic of cancels */ \
    X(replaces, ADD)                  /* the same of replaces */                                   \
    X(cancels_refused, ADD)           /* for lack of room */                                       \
    X(cancelled, ADD)                 /* records that were dropped because of a cancel */          \
    X(events_lost, ADD)               /* with events_lossy */                                      \
    X(events_blocked, ADD)            /* gauge: lanes whose partition of events is down */         \
    X(cancels_misplaced, ADD)         /* whose key belongs to another lane */                      \
    X(cancel_entries, ADD)            /* gauge: entries of lanes that are not closed */            \
    X(cancel_entries_limit, ADD)      /* gauge: the shares of owned lanes */                       \
    X(oldest_seal_wall_ms, EARLIEST)  /* gauge: 0: none keeps cancels */                           \
    X(schedule_lag_ms, MAX)           /* gauge: for how long requests wait to be read */           \
    X(schedule_unread, ADD)           /* gauge: requests that wait to be read: of pending, those   \
                                         above all admitted ones */                                \
    X(lanes_restoring, ADD)           /* gauge: lanes that apply their cancels before they open */ \
    X(pauses, MAX)                    /* gauge: entries in force that pause targets */             \
    X(limits, MAX)                    /* gauge: the same that limit them */                        \
    X(oldest_pause_wall_ms, EARLIEST) /* gauge: 0: no pause is in force */                         \
    X(limits_full, ADD)               /* withheld records whose target got no bucket */            \
    X(lanes, ADD)                     /* gauge: owned lanes */                                     \
    X(paused, ADD)                    /* gauge: paused queues */                                   \
    X(buffered_records, ADD)          /* gauge: parcels in work, in memory or in flight */         \
    X(buffered_bytes, ADD)            /* gauge: their share of memory_bytes */                     \
    X(lateness_max_ms, MAX)           /* since the start */

struct stats {
    STATS_COUNTERS(STATS_DECLARE)
    struct counter dead[CODE_N];        /* acknowledged by the dead-letter topic, by code */
    struct counter events[EVENT_TYPES]; /* acknowledged by the topic of events, by type */
    struct counter formats[COMPAT_N];   /* requests by the foreign format of their headers */
    struct counter lateness[LATENESS_BUCKETS];
    struct spans commit;         /* from the start of a commit to its answer */
    struct spans restore;        /* from the assignment of a lane until its cancels are in force */
    struct spans target_delay;   /* of deliveries that were tried before or deferred: from the due
                                    time to the last try */
    struct spans withheld_delay; /* the same of deliveries that were last withheld */
    struct slot_stats slots[SLOTS_MAX];
    struct target_stats targets[TARGET_LABELS];
    struct retry_stats retry[TARGET_LABELS]; /* by policy; LABEL_NONE is not used */
};

/* Counts an accepted request for retry number n, from 1. */
void stats_retry(struct stats *stats, int label, int n);

/* The canary's own records. Their thread writes these counters. */
struct canary_stats {
    struct counter sent;             /* acknowledged by the schedule topic */
    struct counter received;         /* read back from the canary topic */
    struct counter received_wall_ms; /* of the last one; 0: none yet */
    struct spans round_trip, lateness;
};

/* Counts a delivery of a record that was read from slot. */
void stats_lateness(struct stats *stats, int slot, int64_t late_ms);

/* Merges from into sum. */
void stats_sum(struct stats *sum, const struct stats *from);

/* Returns the q-quantile (0 to 1) of the lateness of the deliveries between two snapshots, rounded
   down to its bucket. Returns 0 if there were none. before may be NULL: since the start. */
int64_t stats_quantile_ms(const struct stats *now, const struct stats *before, double q);

/* Returns the largest lateness of the deliveries between two snapshots, rounded up to the end of
   its bucket. It is at least 1 ms, because the clock counts whole ms. Returns 0 if there were none.
   before may be NULL: since the start. */
int64_t stats_max_ms(const struct stats *now, const struct stats *before);

#endif
