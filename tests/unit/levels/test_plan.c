/* SPDX-License-Identifier: Apache-2.0 */
/* plan: next levels, ends of stops and refused ladders, compared with the definition as a loop. */
#include "levels/plan.h"
#include "tests/unit/levels/random_ladder.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
static const int64_t DAY = (int64_t)24 * HOUR;

static const struct ladder LADDER = {
    .level_ms = {1 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, 1 * MINUTE, 2 * MINUTE,
                 3 * MINUTE, 4 * MINUTE, 5 * MINUTE, 6 * MINUTE, 7 * MINUTE, 8 * MINUTE, 9 * MINUTE,
                 10 * MINUTE, 20 * MINUTE, 30 * MINUTE, 1 * HOUR, 2 * HOUR},
    .n = 18,
    .hold_ms = 1500,
    .slack_ms = 500,
};

static int64_t release_by_definition(const struct ladder *ladder, int64_t level_ms,
                                     int64_t stamped_ms, int64_t until_ms)
{
    int64_t rest_ms = until_ms - stamped_ms - level_ms, sum_ms = 0;
    for (int i; (i = plan_level(ladder, rest_ms)) != PLAN_HOLD;) {
        rest_ms -= ladder->level_ms[i];
        sum_ms += ladder->level_ms[i];
    }
    return until_ms - sum_ms;
}

Test(plan, longest_level_that_fits_is_next)
{
    cr_assert_eq(plan_level(&LADDER, 30 * SECOND), 3);
    cr_assert_eq(plan_level(&LADDER, 59 * SECOND), 3);
    cr_assert_eq(plan_level(&LADDER, 2 * HOUR), 17);
    cr_assert_eq(plan_level(&LADDER, 400 * DAY), 17);
}

Test(plan, slack_covers_the_transit_time)
{
    cr_assert_eq(plan_level(&LADDER, 29997), 3);
    cr_assert_eq(plan_level(&LADDER, 29500), 3);
    cr_assert_eq(plan_level(&LADDER, 29499), 2);
}

Test(plan, remainder_up_to_hold_waits_in_memory)
{
    cr_assert_eq(plan_level(&LADDER, 1500), PLAN_HOLD);
    cr_assert_eq(plan_level(&LADDER, 1501), 0);
}

Test(plan, late_records_wait_in_memory)
{
    cr_assert_eq(plan_level(&LADDER, 0), PLAN_HOLD);
    cr_assert_eq(plan_level(&LADDER, -DAY), PLAN_HOLD);
    cr_assert_eq(plan_level(&LADDER, INT64_MIN), PLAN_HOLD);
}

Test(plan, odd_remainder_waits_at_the_first_stop)
{
    /* 45.7 s are 30, 10, 5 and 0.7 s. The first stop, of 30 s, also waits for the 0.7 s. */
    cr_assert_eq(plan_release_ms(&LADDER, 30 * SECOND, 0, 45700), 30700);
    cr_assert_eq(plan_release_ms(&LADDER, 10 * SECOND, 30700, 45700), 40700);
    cr_assert_eq(plan_release_ms(&LADDER, 5 * SECOND, 40700, 45700), 45700);
}

Test(plan, late_record_is_released_at_its_time)
{
    cr_assert_eq(plan_release_ms(&LADDER, 30 * SECOND, 100 * SECOND, 20 * SECOND), 20 * SECOND);
    cr_assert_eq(plan_release_ms(&LADDER, 30 * SECOND, 0, 30 * SECOND), 30 * SECOND);
}

Test(plan, retired_level_is_released_by_the_same_rule)
{
    cr_assert_eq(plan_release_ms(&LADDER, 15 * SECOND, 0, 45 * SECOND), 15 * SECOND);
    cr_assert_eq(plan_release_ms(&LADDER, 7 * DAY, 0, DAY), DAY);
}

Test(plan, release_equals_its_definition)
{
    random_start("plan");
    for (int round = 0; round < 20000; round++) {
        struct ladder ladder = random_ladder();
        int64_t longest_ms = ladder.level_ms[ladder.n - 1];
        int64_t level_ms = random_between(0, 3) ? ladder.level_ms[random_between(0, ladder.n - 1)]
                                                : random_between(1, 2 * longest_ms);
        int64_t stamped_ms = random_between(0, 1000000);
        int64_t until_ms = stamped_ms + random_between(-longest_ms, 40 * longest_ms);
        int64_t release_ms = plan_release_ms(&ladder, level_ms, stamped_ms, until_ms);
        cr_assert_leq(release_ms, until_ms);
        cr_assert_eq(release_ms, release_by_definition(&ladder, level_ms, stamped_ms, until_ms),
                     "round %d", round);
    }
}

Test(plan, far_release_equals_its_definition)
{
    for (int64_t ms = 40 * DAY - 3 * SECOND; ms < 40 * DAY + 3 * SECOND; ms += 7)
        cr_assert_eq(plan_release_ms(&LADDER, 2 * HOUR, 0, ms),
                     release_by_definition(&LADDER, 2 * HOUR, 0, ms));
}

Test(plan, foreign_times_are_safe)
{
    const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -DAY,          -1,       0,
                             1,         DAY,           INT64_MAX - 1, INT64_MAX};
    const size_t n = sizeof times / sizeof *times;
    for (size_t stamped = 0; stamped < n; stamped++)
        for (size_t until = 0; until < n; until++)
            cr_assert_leq(plan_release_ms(&LADDER, 2 * HOUR, times[stamped], times[until]),
                          times[until]);
}

Test(plan, stop_lasts_from_level_minus_slack_to_level_plus_hold)
{
    random_start("plan");
    for (int round = 0; round < 50000; round++) {
        struct ladder ladder = round % 2 ? random_ladder() : LADDER;
        int64_t stamped_ms = random_between(0, 1000000);
        int64_t until_ms =
            stamped_ms + random_between(0, random_between(1, 30 * ladder.level_ms[ladder.n - 1]));
        int i = plan_level(&ladder, until_ms - stamped_ms);
        if (i == PLAN_HOLD)
            continue;
        int64_t level_ms = ladder.level_ms[i];
        int64_t wait_ms = plan_release_ms(&ladder, level_ms, stamped_ms, until_ms) - stamped_ms;
        cr_assert_geq(wait_ms, level_ms - ladder.slack_ms, "round %d", round);
        cr_assert_leq(wait_ms, level_ms + ladder.hold_ms, "round %d", round);
    }
}

Test(plan, lookahead_covers_the_disorder_of_a_level)
{
    cr_assert_eq(plan_lookahead_ms(&LADDER), 2000 + PLAN_MARGIN_MS);
}

/* Simulates the chain from 0 to due, with a delay of up to half of slack at each hop. Returns the
   number of hops. */
static int travel(const struct ladder *ladder, int64_t due_ms)
{
    int hops = 0;
    int64_t now_ms = 0;
    for (int i; (i = plan_level(ladder, due_ms - now_ms)) != PLAN_HOLD; hops++) {
        int64_t release_ms = plan_release_ms(ladder, ladder->level_ms[i], now_ms, due_ms);
        cr_assert_leq(release_ms, due_ms);
        cr_assert_gt(release_ms, now_ms);
        now_ms = release_ms + random_between(0, ladder->slack_ms / 2);
    }
    cr_assert_leq(now_ms, due_ms + ladder->slack_ms / 2, "only the last hop's delay can be late");
    return hops;
}

Test(plan, delays_on_the_way_add_no_hops)
{
    random_start("plan");
    for (int round = 0; round < 20000; round++) {
        int64_t due_ms = random_between(0, random_between(1, 2 * DAY));
        cr_assert_leq(travel(&LADDER, due_ms), plan_chain(&LADDER, due_ms, NULL, 0),
                      "due in %" PRId64, due_ms);
    }
}

Test(plan, delays_on_the_way_add_no_hops_on_odd_ladders)
{
    random_start("plan");
    for (int round = 0; round < 20000; round++) {
        struct ladder ladder = random_ladder();
        int64_t due_ms = random_between(0, 20 * ladder.level_ms[ladder.n - 1]);
        int hops = travel(&ladder, due_ms), expected = plan_chain(&ladder, due_ms, NULL, 0);
        cr_assert_leq(hops, expected, "%d hops for %d, round %d", hops, expected, round);
    }
}

Test(plan, chain_lists_the_levels_of_a_delay)
{
    int chain[8];
    cr_assert_eq(plan_chain(&LADDER, 45700, chain, 8), 3);
    cr_assert_eq(chain[0], 3);
    cr_assert_eq(chain[1], 2);
    cr_assert_eq(chain[2], 1);
    cr_assert_eq(plan_chain(&LADDER, 1500, chain, 8), 0);
    cr_assert_eq(plan_chain(&LADDER, -5, chain, 8), 0);
}

Test(plan, chain_counts_more_than_it_writes)
{
    int chain[3] = {-7, -7, -7};
    cr_assert_eq(plan_chain(&LADDER, 30 * DAY, chain, 2), 360);
    cr_assert_eq(chain[1], 17);
    cr_assert_eq(chain[2], -7);
    cr_assert_eq(plan_chain(&LADDER, INT64_MAX, NULL, 0), INT_MAX);
}

Test(plan, longer_levels_make_fewer_hops)
{
    struct ladder ladder = LADDER;
    ladder.level_ms[ladder.n++] = 12 * HOUR;
    ladder.level_ms[ladder.n++] = DAY;
    ladder.level_ms[ladder.n++] = 7 * DAY;
    cr_assert_eq(plan_chain(&ladder, 30 * DAY, NULL, 0), 6);
}

static void refused_for(struct ladder ladder, enum ladder_field field, const char *sentence)
{
    struct ladder_fault fault;
    cr_assert_eq(ladder_check(&ladder, &fault), ERR_CONFIG, "%s", sentence);
    cr_assert_str_eq(fault.why, sentence);
    cr_assert_eq(fault.field, field, "%s", sentence);
}

static void refused(struct ladder ladder, const char *sentence)
{
    refused_for(ladder, LADDER_LEVELS, sentence);
}

Test(plan, retired_levels_follow_the_ladder)
{
    static const int64_t RETIRED_MS[] = {7000, 8000};
    struct ladder ladder = {{1000, 2000}, 2, 1000, 500};
    cr_expect_eq(ladder_slot_ms(&ladder, RETIRED_MS, 1), 1000);
    cr_expect_eq(ladder_slot_ms(&ladder, RETIRED_MS, 2), 2000);
    cr_expect_eq(ladder_slot_ms(&ladder, RETIRED_MS, 3), 7000);
    cr_expect_eq(ladder_slot_ms(&ladder, RETIRED_MS, 4), 8000);
}

Test(plan, sound_ladder_is_accepted)
{
    struct ladder_fault fault;
    cr_assert_eq(ladder_check(&LADDER, &fault), 0);
    cr_assert_eq(ladder_check(&(struct ladder){{2000}, 1, 1500, 500}, &fault), 0);
}

Test(plan, smallest_level_must_fit_hold_and_slack)
{
    refused((struct ladder){{5000}, 1, 1000, 500},
            "the smallest level 5s is more than hold 1s + slack 500ms: "
            "add a level of at most 1s500ms, or raise hold");
    refused((struct ladder){{1000}, 1, 0, 500},
            "the smallest level 1s is more than hold 0s + slack 500ms: raise hold");
}

Test(plan, levels_must_ascend)
{
    refused((struct ladder){{1000, 10000, 5000}, 3, 1000, 500},
            "level 5s comes after level 10s: put the shorter one first");
    refused((struct ladder){{1000, 10000, 10000}, 3, 1000, 500},
            "level 10s is listed twice: remove one");
}

Test(plan, levels_must_be_longer_than_slack)
{
    refused((struct ladder){{500}, 1, 1000, 500},
            "level 500ms is not longer than slack 500ms: remove the level, or lower slack");
    refused((struct ladder){{0}, 1, 1000, 0}, "level 1 of 1 must be longer than 0s");
    refused((struct ladder){{1000, -5}, 2, 1000, 0}, "level 2 of 2 must be longer than 0s");
}

Test(plan, ladder_has_a_level_and_not_too_many)
{
    struct ladder ladder = {.n = 0, .hold_ms = 1000};
    refused(ladder, "the list is empty: add at least one level");
    ladder.n = LADDER_MAX + 1;
    refused(ladder, "65 levels are too many: at most 64 are allowed");
}

Test(plan, allowances_have_bounds)
{
    refused_for((struct ladder){{1000}, 1, -1, 500}, LADDER_HOLD, "hold must not be negative");
    refused_for((struct ladder){{1000}, 1, 1000, -1}, LADDER_SLACK, "slack must not be negative");
    refused_for((struct ladder){{1000}, 1, INT64_MAX, 0}, LADDER_HOLD,
                "hold must be at most 365000d");
    refused_for((struct ladder){{1000}, 1, 1000, INT64_MAX}, LADDER_SLACK,
                "slack must be at most 365000d");
    refused((struct ladder){{1000, LADDER_MS_MAX + DAY}, 2, 1000, 0},
            "level 365001d must be at most 365000d");
}
