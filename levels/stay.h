/* SPDX-License-Identifier: Apache-2.0 */
/* stay: when a record could be written to a level, if the time of its forwarding is known. A level
   partition is sorted by its timestamps, so this is the part of the log that can hold the record.

   plan_level puts a record into level L if L is the longest level with remaining >= L - slack. Let
   d be the time of the forwarding and N the next longer level of the ladder. Then the record's
   timestamp T on the level topic obeys

     d - (N - slack) < T <= d - (L - slack)

   The longest level has no lower bound. Neither has a retired level, whose ladder is not known. The
   present gives no bound, because an overdue record waits for longer than its level. Records that
   were written with another ladder can lie outside. */
#ifndef DELAYBRIDGE_LEVELS_STAY_H
#define DELAYBRIDGE_LEVELS_STAY_H

#include "levels/plan.h"

#include <stdbool.h>

#define STAY_UNBOUNDED INT64_MIN

/* Timestamps on a level topic, epoch ms. */
struct stay {
    int64_t after_ms; /* excluded; STAY_UNBOUNDED: no lower bound */
    int64_t up_to_ms; /* included */
};

/* Returns the timestamps in level_ms of a record that must be forwarded at some time from
   earliest_ms to latest_ms. */
struct stay stay_in(const struct ladder *ladder, int64_t level_ms, int64_t earliest_ms,
                    int64_t latest_ms);

static inline bool stay_holds(const struct stay *stay, int64_t stamped_ms)
{
    return stay->after_ms < stamped_ms && stamped_ms <= stay->up_to_ms;
}

#endif
