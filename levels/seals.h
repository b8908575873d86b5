/* SPDX-License-Identifier: Apache-2.0 */
/* seals: decides when the cancels of one lane are no longer needed.

   A seal notes the log ends of a lane's partitions (cancel_log.h). All cancels below its end of the
   schedule topic are in force by then, and each waiting record is checked against them at every
   stop. When each partition was committed up to its end, no record is left that these cancels could
   void.

     seals_add(s, seal)            a seal was written, or read at the start
     seals_judge(s, passed, ...)   the lane's progress: which cancels are dead, what to trim

   A seal has passed when each partition of the lane has passed the seal's end of it. It then ends
   the cancels of the seal that is SEALS_FLOOR seals older, which takes five minutes or more. A
   write is given up after two minutes. So no hop of an earlier owner can still arrive below an end
   that has passed.

   The seals are kept in memory in order of their numbers, at most SEALS_MAX. When there is no room,
   every second one is dropped, and the caller seals half as often (`thinned`). That keeps cancels
   longer, never shorter. When most seals have passed, the usual time applies again.

   Pure: no clock, no I/O. Memory: SEALS_MAX * 8 bytes for each partition of the lane. */
#ifndef DELAYBRIDGE_LEVELS_SEALS_H
#define DELAYBRIDGE_LEVELS_SEALS_H

#include "levels/cancel_log.h"

enum { SEALS_MAX = 128, SEALS_FLOOR = 5, SEALS_FEW = SEALS_MAX / 4 };

/* An end that no partition passes: the seal does not name this partition. */
#define SEAL_UNNAMED INT64_MAX

struct seals {
    int64_t *ends; /* of seal i: ends[i * parts_n ..], in the order of parts_ms */
    int64_t numbers[SEALS_MAX];
    int64_t timestamps_ms[SEALS_MAX]; /* of their records */
    int64_t cancels_ends[SEALS_MAX];  /* end of the topic of cancels at the query for the seal */
    bool foreign[SEALS_MAX];          /* it names a level that the lane does not have */
    const int64_t *parts_ms;
    size_t parts_n, n;
    int64_t last;     /* number of the newest seal; -1: none was added */
    unsigned thinned; /* times that seals were dropped, since there were fewer than SEALS_FEW */
};

/* parts_ms names the lane's partitions: SEAL_SCHEDULE first, then each level by its duration,
   retired ones included. It stays the caller's and must outlive the seals. Returns 0 or
   ERR_NO_MEMORY. */
int seals_init(struct seals *seals, const int64_t *parts_ms, size_t parts_n) must_check;
void seals_deinit(struct seals *seals);

/* Forgets all seals. The numbers continue. */
void seals_forget(struct seals *seals);

/* Returns the number for the next seal of this lane. */
int64_t seals_next(const struct seals *seals);

/* Returns the timestamp of the oldest seal that is kept, or 0. */
int64_t seals_oldest_ms(const struct seals *seals);

/* Adds a seal. Ignores it if its number is not above the last one: an earlier owner wrote it, and
   it arrived late. */
void seals_add(struct seals *seals, const struct cancel_seal *seal);

/* passed[i]: all records of parts_ms[i] below this offset are finished, and the group has committed
   that. Returns false if no cancel is dead. Otherwise all cancels below *dead_below are, and the
   topic of cancels holds nothing needed below *trim_below. */
bool seals_judge(const struct seals *seals, const int64_t *passed, int64_t *dead_below,
                 int64_t *trim_below);

/* Drops the seals that no later judgment needs. */
void seals_prune(struct seals *seals, const int64_t *passed);

#endif
