/* SPDX-License-Identifier: Apache-2.0 */
/* plan: which level a record waits in next, and when that stop ends. The functions are pure
   arithmetic. The writer and the reader of a record compute the same plan, because both see the
   same timestamp, due time and ladder. */
#ifndef DELAYBRIDGE_LEVELS_PLAN_H
#define DELAYBRIDGE_LEVELS_PLAN_H

#include "levels/err.h"

#include <stdint.h>

enum { LADDER_MAX = 64 };
/* A thousand years, so that sums cannot overflow. */
#define LADDER_MS_MAX ((int64_t)365000 * 24 * 3600 * 1000)

/* The levels that new stops use, in ascending order, and the two allowances. Invariants
   (ladder_check):
   - 1 <= n <= LADDER_MAX, and no value is above LADDER_MS_MAX
   - hold_ms and slack_ms are not negative
   - each level is longer than slack_ms and longer than the level before it
   - level_ms[0] - slack_ms <= hold_ms, so every remainder either fits a level or fits the hold
   Every other function here requires a ladder that ladder_check accepts. */
struct ladder {
    int64_t level_ms[LADDER_MAX];
    int n;
    int64_t hold_ms;  /* the longest remainder that waits in memory, not in a level */
    int64_t slack_ms; /* tolerated transit time: how much shorter than its level a delay may be */
};

/* Returns the length of the level at a slot. Slots 1 to n are the ladder's levels, and the retired
   levels follow. slot >= 1. */
static inline int64_t ladder_slot_ms(const struct ladder *ladder, const int64_t *retired_ms,
                                     int slot)
{
    return slot <= ladder->n ? ladder->level_ms[slot - 1] : retired_ms[slot - 1 - ladder->n];
}

enum ladder_field { LADDER_LEVELS, LADDER_HOLD, LADDER_SLACK };

/* A broken invariant: the field at fault, and a sentence that names the level to add or the value
   to change. */
enum { LADDER_WHY_MAX = 200 };
struct ladder_fault {
    enum ladder_field field;
    char why[LADDER_WHY_MAX]; /* NUL-terminated */
};

/* Checks the invariants. Returns 0, or ERR_CONFIG and fills *fault. */
int ladder_check(const struct ladder *ladder, struct ladder_fault *fault) must_check;

/* Returns how long before its release a level record is read: slack + hold + PLAN_MARGIN_MS. Inside
   one level partition, releases are out of order by at most slack + hold. */
enum { PLAN_MARGIN_MS = 250 };
int64_t plan_lookahead_ms(const struct ladder *ladder);

/* Returns the index of the longest level L with remaining >= L - slack. Returns PLAN_HOLD if
   remaining <= hold, which includes due and late records. */
enum { PLAN_HOLD = -1 };
int plan_level(const struct ladder *ladder, int64_t remaining_ms);

/* Returns when the stop of a record in a level ends, never later than until_ms.
     level_ms      the length of the level, which may be a retired one
     stamped_ms    the record's timestamp on the level topic
     until_ms      when the record must be forwarded to its target
   With rest = until - stamped - level, the result is until minus the levels planned for rest. Any
   times are safe, also those of foreign records. Takes O(n) for any distance in time. */
int64_t plan_release_ms(const struct ladder *ladder, int64_t level_ms, int64_t stamped_ms,
                        int64_t until_ms);

/* Computes the chain of levels for a delay, for display. Writes up to out_n level indices in order.
   Returns the number of all hops, which may exceed out_n (INT_MAX at most). The remainder after the
   last hop waits in memory. */
int plan_chain(const struct ladder *ladder, int64_t delay_ms, int *out, int out_n);

#endif
