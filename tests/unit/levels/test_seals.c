/* SPDX-License-Identifier: Apache-2.0 */
/* seals: when cancels are dead, and what of their topic may be trimmed. */
#include "levels/seals.h"

#include <criterion/criterion.h>
#include <signal.h>

enum { PARTS = 3 };

static const int64_t parts_ms[PARTS] = {SEAL_SCHEDULE, 1000, 60000};
static struct seals seals;
static int64_t dead_below, trim_below;

static void start(void)
{
    cr_assert_eq(seals_init(&seals, parts_ms, PARTS), 0);
}

static void stop(void)
{
    seals_deinit(&seals);
}

TestSuite(seals, .init = start, .fini = stop);

/* Seal n has the ends 100 n of the schedule topic, 10 n of each level, and n of the cancels. */
static struct cancel_seal numbered(int64_t n)
{
    return (struct cancel_seal){
        .number = n,
        .n = 4,
        .ends = {{SEAL_SCHEDULE, 100 * n}, {60000, 10 * n}, {1000, 10 * n}, {SEAL_CANCELS, n}}};
}

static void add(int64_t n)
{
    struct cancel_seal seal = numbered(n);
    seals_add(&seals, &seal);
}

static void add_all(int64_t from, int64_t to)
{
    for (int64_t n = from; n <= to; n++)
        add(n);
}

/* The lane has passed all ends of seal n. */
static bool judge_at(int64_t n)
{
    return seals_judge(&seals, (int64_t[]){100 * n, 10 * n, 10 * n}, &dead_below, &trim_below);
}

Test(seals, cancels_die_five_seals_after_the_lane_has_passed_theirs)
{
    add_all(1, 10);
    cr_expect_not(judge_at(5));
    cr_assert(judge_at(6));
    cr_expect_eq(dead_below, 100);
    cr_expect_eq(trim_below, 1);
    cr_assert(judge_at(10));
    cr_expect_eq(dead_below, 500);
    cr_expect_eq(trim_below, 5);
}

Test(seals, five_seals_are_needed_whatever_has_passed)
{
    add_all(1, 5);
    cr_expect_not(judge_at(1000));
}

Test(seals, each_partition_of_the_lane_must_pass)
{
    add_all(1, 6);
    for (size_t part = 0; part < PARTS; part++) {
        int64_t passed[PARTS] = {600, 60, 60};
        passed[part]--;
        cr_expect_not(seals_judge(&seals, passed, &dead_below, &trim_below), "%zu", part);
    }
}

Test(seals, cancels_that_may_be_read_again_are_not_dead)
{
    struct cancel_seal seal = numbered(1);
    seal.ends[0].end = 150;
    seals_add(&seals, &seal);
    for (int64_t n = 2; n <= 6; n++) {
        seal = numbered(n);
        seal.ends[0].end = 120; /* the base went back, as after a rewind */
        seals_add(&seals, &seal);
    }
    cr_assert(seals_judge(&seals, (int64_t[]){120, 60, 60}, &dead_below, &trim_below));
    cr_expect_eq(dead_below, 120);
}

Test(seals, a_level_that_a_seal_does_not_name_does_not_pass)
{
    for (int64_t n = 1; n <= 6; n++) {
        struct cancel_seal seal = numbered(n);
        seal.ends[1] = seal.ends[3];
        seal.n = 3;
        seals_add(&seals, &seal);
    }
    cr_expect_not(judge_at(1000));
}

Test(seals, a_level_that_the_lane_does_not_have_does_not_pass)
{
    for (int64_t n = 1; n <= 6; n++) {
        struct cancel_seal seal = numbered(n);
        seal.ends[seal.n++] = (struct seal_end){.level_ms = 7000, .end = 0};
        seals_add(&seals, &seal);
    }
    cr_expect_not(judge_at(1000));
    add_all(7, 12);
    cr_assert(judge_at(12), "later seals name what the lane has");
    cr_expect_eq(dead_below, 700);
}

Test(seals, a_late_seal_of_an_earlier_owner_is_ignored)
{
    add_all(1, 10);
    add(3);
    add(10);
    cr_expect_eq(seals_next(&seals), 11);
    cr_assert(judge_at(10));
    cr_expect_eq(dead_below, 500);
}

Test(seals, pruning_changes_no_judgment)
{
    add_all(1, 20);
    for (int64_t n = 1; n <= 20; n++) {
        bool before = judge_at(n);
        int64_t dead = dead_below, trim = trim_below;
        seals_prune(&seals, (int64_t[]){100 * n, 10 * n, 10 * n});
        cr_assert_eq(judge_at(n), before, "%d", (int)n);
        cr_expect(!before || (dead == dead_below && trim == trim_below), "%d", (int)n);
    }
    cr_expect_eq(seals.n, SEALS_FLOOR + 1);
}

Test(seals, without_room_every_second_seal_goes_and_cancels_live_longer)
{
    add_all(1, 10 * SEALS_MAX);
    cr_expect_leq(seals.n, SEALS_MAX);
    cr_expect_gt(seals.thinned, 0);
    cr_expect_eq(seals.numbers[seals.n - 1], 10 * SEALS_MAX, "the newest stays");
    for (int64_t n = 1; n <= 10 * SEALS_MAX; n++) {
        if (judge_at(n))
            cr_expect_leq(dead_below, 100 * (n - SEALS_FLOOR), "%d", (int)n);
    }
    cr_assert(judge_at(10 * SEALS_MAX));
}

/* While a lane passes its seals one by one, as with a long level, the longer time stays. */
Test(seals, the_usual_time_applies_again_when_most_seals_have_passed)
{
    add_all(1, 3 * SEALS_MAX);
    cr_assert_gt(seals.thinned, 0);
    int64_t n = seals.numbers[SEALS_FLOOR + 1];
    seals_prune(&seals, (int64_t[]){100 * n, 10 * n, 10 * n});
    cr_expect_gt(seals.thinned, 0);
    n = 3 * SEALS_MAX;
    seals_prune(&seals, (int64_t[]){100 * n, 10 * n, 10 * n});
    cr_expect_eq(seals.thinned, 0);
    cr_expect_eq(seals.n, SEALS_FLOOR + 1);
}
