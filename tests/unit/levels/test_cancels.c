/* SPDX-License-Identifier: Apache-2.0 */
/* cancels: which requests are void, and the life of entries, compared with a list that is searched.
 */
#include "levels/cancels.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 50, FULL = CANCELS_LOAD(SLOTS), FIRST = 1000 };

static struct cancels table;
static int lane;

static void start(void)
{
    cr_assert_eq(cancels_init(&table, SLOTS * CANCELS_SLOT_BYTES, 7), 0);
    lane = cancels_open(&table, FIRST);
    cr_assert_geq(lane, 0);
}

static void stop(void)
{
    cancels_check(&table);
    cancels_deinit(&table);
}

TestSuite(cancels, .init = start, .fini = stop);

static struct cancel_print print_of(const char *name)
{
    return cancels_print(&table, CANCEL_BY_ID, bytes_text(name));
}

static struct cancel_print numbered(int n)
{
    char name[16];
    snprintf(name, sizeof name, "order-%d", n);
    return print_of(name);
}

static int put(const char *name, int64_t offset)
{
    return cancels_put(&table, lane, print_of(name), offset, SIZE_MAX);
}

static bool is_void(const char *name, int64_t origin)
{
    return cancels_void(&table, lane, print_of(name), origin);
}

static void fill(int id)
{
    for (int n = 0; n < FULL; n++)
        cr_assert_eq(cancels_put(&table, id, numbered(n), FIRST + n, SIZE_MAX), 0);
}

Test(cancels, only_requests_before_the_cancel_are_void)
{
    cr_assert_eq(put("a", 1500), 0);
    cr_expect(is_void("a", 1499));
    cr_expect_not(is_void("a", 1500), "the cancel's own offset: a replace must not void itself");
    cr_expect_not(is_void("a", 1501));
    cr_expect_not(is_void("b", 1499));
}

Test(cancels, the_newest_cancel_counts_in_any_order_of_entering)
{
    cr_assert_eq(put("a", 1500), 0);
    cr_assert_eq(put("a", 1700), 0);
    cr_assert_eq(put("a", 1600), 0);
    cr_expect(is_void("a", 1699));
    cr_expect_eq(table.used, 1);
}

Test(cancels, an_entry_stays_after_its_match_and_says_so)
{
    bool matched = true;
    cr_assert_eq(put("a", 1500), 0);
    cr_expect_eq(cancels_find(&table, lane, print_of("a"), &matched), 1500);
    cr_expect_not(matched);
    cr_expect(is_void("a", 1001));
    cr_expect(is_void("a", 1002));
    cr_expect_eq(cancels_find(&table, lane, print_of("a"), &matched), 1500);
    cr_expect(matched);
}

Test(cancels, a_newer_cancel_has_not_matched_yet)
{
    bool matched = true;
    cr_assert_eq(put("a", 1500), 0);
    cr_expect(is_void("a", 1001));
    cr_assert_eq(put("a", 1600), 0);
    cr_expect_eq(cancels_find(&table, lane, print_of("a"), &matched), 1600);
    cr_expect_not(matched);
}

Test(cancels, names_that_are_ids_and_names_that_are_keys_are_apart)
{
    cr_assert_eq(put("a", 1500), 0);
    struct cancel_print by_key = cancels_print(&table, CANCEL_BY_KEY, bytes_text("a"));
    cr_expect_not(cancels_void(&table, lane, by_key, 1001));
}

Test(cancels, lanes_are_apart)
{
    int other = cancels_open(&table, FIRST);
    cr_assert_eq(put("a", 1500), 0);
    cr_expect_not(cancels_void(&table, other, print_of("a"), 1001));
    cr_expect(cancels_has(&table, lane));
    cr_expect_not(cancels_has(&table, other));
}

Test(cancels, a_name_may_have_any_bytes_and_any_length)
{
    static const char bytes[128] = {0};
    cr_assert_eq(cancels_put(&table, lane,
                             cancels_print(&table, CANCEL_BY_ID, bytes_of(bytes, 128)), 1500,
                             SIZE_MAX),
                 0);
    for (size_t len = 0; len < 128; len++) {
        struct cancel_print shorter = cancels_print(&table, CANCEL_BY_ID, bytes_of(bytes, len));
        cr_expect_not(cancels_void(&table, lane, shorter, 1001), "%zu zeros", len);
    }
}

Test(cancels, entries_below_the_killed_offset_are_dead)
{
    cr_assert_eq(put("a", 1500), 0);
    cr_assert_eq(put("b", 1501), 0);
    cancels_kill(&table, lane, 1501);
    cr_expect_not(is_void("a", 1001));
    cr_expect(is_void("b", 1001));
}

Test(cancels, a_smaller_killed_offset_revives_no_entry)
{
    cr_assert_eq(put("a", 1500), 0);
    cancels_kill(&table, lane, 1501);
    cancels_kill(&table, lane, 1400);
    cr_expect_not(is_void("a", 1001));
}

Test(cancels, a_name_whose_entry_is_dead_can_be_cancelled_again)
{
    cr_assert_eq(put("a", 1500), 0);
    cancels_kill(&table, lane, 1501);
    cr_assert_eq(put("a", 1600), 0);
    cr_expect(is_void("a", 1550));
    cr_expect_eq(table.used, 1);
}

Test(cancels, clearing_frees_the_dead_and_keeps_the_others)
{
    fill(lane);
    cancels_kill(&table, lane, FIRST + FULL / 2);
    for (int turn = 0; turn < SLOTS; turn++) {
        cancels_clear(&table, 1);
        cancels_check(&table);
    }
    cr_expect_eq(table.used, FULL / 2);
    for (int n = 0; n < FULL; n++)
        cr_expect_eq(cancels_void(&table, lane, numbered(n), FIRST - 1), n >= FULL / 2, "%d", n);
}

Test(cancels, a_drained_lane_has_no_entries)
{
    fill(lane);
    cancels_kill(&table, lane, FIRST + FULL);
    cr_expect(cancels_has(&table, lane));
    cancels_sweep(&table);
    cr_expect_not(cancels_has(&table, lane));
}

Test(cancels, a_loaded_table_refuses_new_names_and_takes_known_ones)
{
    fill(lane);
    cr_expect_eq(put("new", 5000), ERR_FULL);
    cr_expect_eq(cancels_put(&table, lane, numbered(3), 5000, SIZE_MAX), 0);
    cr_expect(cancels_void(&table, lane, numbered(3), 4999));
}

Test(cancels, a_new_name_takes_the_slot_of_a_dead_entry)
{
    fill(lane);
    cancels_kill(&table, lane, FIRST + FULL);
    int taken = 0;
    for (int n = FULL; n < 2 * FULL; n++)
        taken += cancels_put(&table, lane, numbered(n), FIRST + n, SIZE_MAX) == 0;
    cr_expect_gt(taken, 0, "without a call of cancels_clear");
    cr_expect_eq(table.used, FULL);
}

Test(cancels, a_lane_takes_no_more_than_its_share)
{
    int other = cancels_open(&table, FIRST);
    for (int n = 0; n < 3; n++)
        cr_assert_eq(cancels_put(&table, lane, numbered(n), FIRST + n, 3), 0);
    cr_expect_eq(cancels_put(&table, lane, numbered(3), FIRST + 3, 3), ERR_FULL);
    cr_expect_eq(cancels_put(&table, lane, numbered(2), FIRST + 9, 3), 0, "its name is known");
    cr_expect_eq(cancels_put(&table, other, numbered(3), FIRST + 3, 3), 0);
}

Test(cancels, a_restore_is_never_refused)
{
    for (int n = 0; n < 100 * SLOTS; n++)
        cr_assert_eq(cancels_restore(&table, lane, numbered(n), FIRST + n), 0);
    cancels_check(&table);
    for (int n = 0; n < 100 * SLOTS; n++)
        cr_expect(cancels_void(&table, lane, numbered(n), FIRST + n - 1), "%d", n);
}

Test(cancels, an_offset_out_of_reach_is_refused_and_never_clamped)
{
    cr_expect_eq(put("a", FIRST + CANCELS_REACH - 1), 0);
    cr_expect_eq(put("b", FIRST + CANCELS_REACH), ERR_RANGE);
    cr_expect_eq(put("c", FIRST - CANCELS_REACH), 0);
    cr_expect_eq(put("d", FIRST - CANCELS_REACH - 1), ERR_RANGE);
    cr_expect(is_void("a", FIRST + CANCELS_REACH - 2));
    cr_expect_not(is_void("a", FIRST + CANCELS_REACH - 1));
    cr_expect_eq(table.used, 2);
}

Test(cancels, a_closed_lane_gives_its_entries_to_no_other)
{
    cr_assert_eq(put("a", 1500), 0);
    cancels_close(&table, lane);
    int next = cancels_open(&table, 0);
    cr_expect_not(cancels_void(&table, next, print_of("a"), 1));
    cancels_sweep(&table);
    cr_expect_eq(table.used, 0);
    int after = cancels_open(&table, 0);
    cr_expect_eq(after, lane, "its id is free when its last entry is cleared");
    cr_expect_not(cancels_void(&table, after, print_of("a"), 1));
}

Test(cancels, as_many_lanes_as_ids_can_be_open)
{
    for (int n = 1; n < CANCELS_LANES_MAX; n++)
        cr_assert_eq(cancels_open(&table, n), n);
    cr_expect_eq(cancels_open(&table, 1), ERR_FULL);
    cancels_close(&table, 7);
    cr_expect_eq(cancels_open(&table, 1), 7);
}

/* The list: the newest cancel of each name in each lane. */
enum { NAMES = 60, LANES = 3, STEPS = 20000 };
static int64_t newest[LANES][NAMES], dead_below[LANES];
static int ids[LANES];

static void expect_equal(int l, int n)
{
    int64_t expected = newest[l][n] < dead_below[l] ? -1 : newest[l][n];
    bool matched;
    cr_assert_eq(cancels_find(&table, ids[l], numbered(n), &matched), expected);
    int64_t origin = FIRST + rand() % STEPS;
    cr_assert_eq(cancels_void(&table, ids[l], numbered(n), origin), expected > origin);
}

static void forget(int l)
{
    for (int n = 0; n < NAMES; n++)
        newest[l][n] = -1;
    dead_below[l] = 0;
}

static void random_step(int step)
{
    int l = rand() % LANES, n = rand() % NAMES;
    int64_t offset = FIRST + step - rand() % 50;
    switch (rand() % 100) {
    default:
        if (cancels_put(&table, ids[l], numbered(n), offset, SIZE_MAX) == 0 &&
            (offset > newest[l][n] || newest[l][n] < dead_below[l]))
            newest[l][n] = offset;
        break;
    case 0:
        cancels_kill(&table, ids[l], offset);
        dead_below[l] = offset > dead_below[l] ? offset : dead_below[l];
        break;
    case 1:
        cancels_close(&table, ids[l]);
        ids[l] = cancels_open(&table, FIRST + step);
        cr_assert_geq(ids[l], 0);
        forget(l);
        break;
    case 2 ... 30:
        cancels_clear(&table, (size_t)(rand() % 8));
        break;
    }
    expect_equal(l, n);
    expect_equal(rand() % LANES, rand() % NAMES);
    cancels_check(&table);
}

Test(cancels, any_order_of_calls_gives_what_a_list_gives)
{
    srand(1);
    for (int l = 0; l < LANES; l++) {
        ids[l] = cancels_open(&table, FIRST);
        forget(l);
    }
    for (int step = 0; step < STEPS; step++)
        random_step(step);
}
