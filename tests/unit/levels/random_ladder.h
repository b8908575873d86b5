/* SPDX-License-Identifier: Apache-2.0 */
/* random_ladder: legal ladders of one to eight levels, most with levels close to one another. */
#ifndef DELAYBRIDGE_TESTS_UNIT_LEVELS_RANDOM_LADDER_H
#define DELAYBRIDGE_TESTS_UNIT_LEVELS_RANDOM_LADDER_H

#include "levels/plan.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>

static inline struct ladder random_ladder(void)
{
    struct ladder ladder = {.n = (int)random_between(1, 8)};
    struct ladder_fault fault;
    ladder.hold_ms = random_between(1, random_between(1, 3000));
    ladder.slack_ms = random_between(0, 1000);
    ladder.level_ms[0] = random_between(ladder.slack_ms + 1, ladder.slack_ms + ladder.hold_ms);
    for (int i = 1; i < ladder.n; i++)
        ladder.level_ms[i] =
            ladder.level_ms[i - 1] + random_between(1, random_between(1, 5 * ladder.level_ms[0]));
    cr_assert_eq(ladder_check(&ladder, &fault), 0, "%s", fault.why);
    return ladder;
}

#endif
