/* SPDX-License-Identifier: Apache-2.0 */
/* stay: the part of a level in which a record with a known due time can be, compared with random
   walks of plan.c. */
#include "levels/stay.h"
#include "tests/unit/levels/random_ladder.h"

#include <criterion/criterion.h>
#include <inttypes.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, WALKS = 200000 };
static const int64_t NOW_MS = 1795219200000;

static const struct ladder LADDER = {
    .level_ms = {1 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, 1 * MINUTE, 2 * MINUTE,
                 3 * MINUTE, 4 * MINUTE, 5 * MINUTE, 6 * MINUTE, 7 * MINUTE, 8 * MINUTE, 9 * MINUTE,
                 10 * MINUTE, 20 * MINUTE, 30 * MINUTE, 1 * HOUR, 2 * HOUR},
    .n = 18,
    .hold_ms = 1000,
    .slack_ms = 500,
};

/* Walks a record from level to level and checks each stop. Each hop may be late. The reader knows
   the due time only up to unsure_ms. Returns the number of stops. */
static int64_t walk(const struct ladder *ladder, int64_t delay_ms, int64_t unsure_ms)
{
    int64_t at_ms = NOW_MS, due_ms = NOW_MS + delay_ms, stops = 0;
    for (int level; (level = plan_level(ladder, due_ms - at_ms)) != PLAN_HOLD; stops++) {
        int64_t level_ms = ladder->level_ms[level], early_ms = random_between(0, unsure_ms);
        struct stay stay = stay_in(ladder, level_ms, due_ms - early_ms,
                                   due_ms - early_ms + random_between(early_ms, unsure_ms));
        cr_assert(stay_holds(&stay, at_ms),
                  "level %" PRId64 ", due %" PRId64 ", stamped %" PRId64 ", not in (%" PRId64
                  ", %" PRId64 "]",
                  level_ms, due_ms, at_ms, stay.after_ms, stay.up_to_ms);
        at_ms = plan_release_ms(ladder, level_ms, at_ms, due_ms);
        at_ms += random_between(0, 3) == 0 ? random_between(0, 2 * level_ms) : random_between(0, 5);
    }
    return stops;
}

Test(stay, every_stop_of_the_plan_is_inside)
{
    int64_t stops = 0;
    random_start("stay");
    for (int i = 0; i < WALKS; i++) {
        struct ladder random = random_ladder();
        const struct ladder *ladder = i % 2 == 0 ? &LADDER : &random;
        int64_t longest_ms = ladder->level_ms[ladder->n - 1];
        stops += walk(ladder, random_between(0, random_between(0, 3 * longest_ms)),
                      random_between(0, 1) * random_between(0, MINUTE));
    }
    cr_expect_gt(stops, WALKS, "%" PRId64 " stops", stops);
}

Test(stay, both_bounds_are_exact)
{
    const int64_t due_ms = NOW_MS;
    for (int i = 0; i < LADDER.n; i++) {
        struct stay stay = stay_in(&LADDER, LADDER.level_ms[i], due_ms, due_ms);
        int64_t last_ms = i == 0 ? due_ms - LADDER.hold_ms - 1 : stay.up_to_ms;
        cr_expect_eq(plan_level(&LADDER, due_ms - last_ms), i);
        cr_expect_eq(plan_level(&LADDER, due_ms - stay.up_to_ms - 1), i == 0 ? PLAN_HOLD : i - 1);
        if (i + 1 == LADDER.n) {
            cr_expect_eq(stay.after_ms, STAY_UNBOUNDED);
            continue;
        }
        cr_expect_eq(plan_level(&LADDER, due_ms - stay.after_ms - 1), i);
        cr_expect_eq(plan_level(&LADDER, due_ms - stay.after_ms), i + 1);
    }
}

Test(stay, a_retired_level_has_no_lower_bound)
{
    struct stay stay = stay_in(&LADDER, 45 * MINUTE, NOW_MS, NOW_MS + 7);
    cr_expect_eq(stay.after_ms, STAY_UNBOUNDED);
    cr_expect_eq(stay.up_to_ms, NOW_MS + 7 - 45 * MINUTE + LADDER.slack_ms);
}

Test(stay, no_time_overflows)
{
    struct stay stay = stay_in(&LADDER, 5 * SECOND, INT64_MIN, INT64_MIN);
    cr_expect_eq(stay.after_ms, INT64_MIN);
    cr_expect_eq(stay.up_to_ms, INT64_MIN);
}
