/* SPDX-License-Identifier: Apache-2.0 */
/* plan: which level a record waits in next, and when that stop ends. Pure arithmetic; planner and
   reader come to the same answer because both see the same timestamp, due time and ladder. */
#ifndef DELAYBRIDGE_LEVELS_PLAN_H
#define DELAYBRIDGE_LEVELS_PLAN_H

#include "levels/err.h"

#include <stddef.h>
#include <stdint.h>

enum { LADDER_MAX = 64 };
/* A thousand years: sums cannot overflow. */
#define LADDER_MS_MAX ((int64_t)365000 * 24 * 3600 * 1000)

/* The levels that are written, ascending, and the two allowances.
   Invariants (ladder_check): 1 <= n <= LADDER_MAX; hold_ms and slack_ms are not negative; each
   level > slack_ms and longer than the one before; level_ms[0] - slack_ms <= hold_ms, so that every
   remainder either fits a level or is held; nothing is more than LADDER_MS_MAX.
   Every other function here takes a ladder that ladder_check has passed. */
struct ladder {
    int64_t level_ms[LADDER_MAX];
    int n;
    int64_t hold_ms;  /* a remainder up to this is held in the wheel, in no level */
    int64_t slack_ms; /* what a record may have lost on its way and still fit its level */
};

/* Proves the invariants. Returns 0, or ERR_CONFIG with a sentence in why (which level to add, or
   which value to change). */
int ladder_check(const struct ladder *ladder, char *why, size_t why_size) must_check;

/* How far ahead of its release a level record is read: slack + hold + a margin of PLAN_MARGIN_MS.
   Inside one level log, releases are out of order by at most slack + hold. */
enum { PLAN_MARGIN_MS = 250 };
int64_t plan_lookahead_ms(const struct ladder *ladder);

/* Index of the longest level L with remaining >= L - slack, or PLAN_HOLD if remaining <= hold (late
   records and those already due included). */
enum { PLAN_HOLD = -1 };
int plan_level(const struct ladder *ladder, int64_t remaining_ms);

/* When the stop of a record ends that was stamped at stamped_ms (its timestamp on the level topic)
   on a level of length level_ms (written or retired) and must be forwarded at until_ms: with rest =
   until - stamped - level, until less the sum of all levels planned for rest. Never later than
   until_ms. Any times are safe, foreign ones too. Costs O(n), however far away. */
int64_t plan_release_ms(const struct ladder *ladder, int64_t level_ms, int64_t stamped_ms,
                        int64_t until_ms);

/* The chain that a delay takes, for people: writes up to out_n level indices in order, returns how
   many hops there are in all (which may be more than out_n; INT_MAX at most). The rest after the
   last is held. */
int plan_chain(const struct ladder *ladder, int64_t delay_ms, int *out, int out_n);

#endif
