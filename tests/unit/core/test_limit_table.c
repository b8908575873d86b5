/* SPDX-License-Identifier: Apache-2.0 */
/* limit_table: buckets that are kept while records wait for them, and replaced when they are idle.
 */
#include "bridge/core/limit_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX = 40, SEED = 7 };
static struct limit_table table;

static void start(void)
{
    cr_assert_eq(limit_table_init(&table, MAX, SEED), 0);
}

static void stop(void)
{
    limit_table_check(&table);
    limit_table_deinit(&table);
}

TestSuite(limit_table, .init = start, .fini = stop);

/* Returns the entry of target number i, with a bucket of 2 tokens a second. NULL: no room. */
static struct limited *get(int i, int64_t now_mono_ms)
{
    char name[16];
    snprintf(name, sizeof name, "t%d", i);
    struct limited *p = limit_table_get(&table, bytes_text(name), now_mono_ms);
    if (p != NULL && p->lanes_version != table.lanes_version) {
        bucket_start(&p->bucket, 0.002, now_mono_ms);
        p->lanes_version = table.lanes_version;
    }
    limit_table_check(&table);
    return p;
}

static const struct limited *find(int i)
{
    char name[16];
    snprintf(name, sizeof name, "t%d", i);
    return limit_table_find(&table, bytes_text(name));
}

static void fill(void)
{
    for (int i = 0; i < MAX; i++)
        cr_assert_not_null(get(i, 0));
}

/* A search visits a part of the table. */
static bool gets_within(int tries, int i, int64_t now_mono_ms)
{
    struct limited *p = NULL;
    while (p == NULL && tries-- > 0)
        p = get(i, now_mono_ms);
    return p != NULL;
}

Test(limit_table, full_table_has_no_room_while_no_bucket_is_idle)
{
    fill();
    cr_expect_not(gets_within(2 * MAX, MAX, 999));
    for (int i = 0; i < MAX; i++)
        cr_expect_not_null(find(i));
    cr_expect_null(find(MAX));
}

Test(limit_table, idle_bucket_is_replaced)
{
    fill();
    for (int i = 0; i < MAX; i++)
        for (int slots = 0; i != 17 && slots < 2; slots++)
            (void)bucket_give_slot(&get(i, 0)->bucket, 0);
    cr_assert(gets_within(MAX, MAX, 1000));
    cr_expect_null(find(17));
    cr_expect_not(gets_within(2 * MAX, MAX + 1, 1000));
}

Test(limit_table, buckets_of_other_lanes_are_idle)
{
    fill();
    table.lanes_version++;
    cr_expect(gets_within(MAX, MAX, 0));
}

Test(limit_table, void_slots_keep_no_bucket)
{
    fill();
    for (int i = 0; i < MAX; i++)
        for (int slot = 0; slot < 100; slot++)
            (void)bucket_give_slot(&get(i, 0)->bucket, 0);
    cr_expect_not(gets_within(MAX, MAX, 1000));
    table.slots_version++;
    cr_expect(gets_within(MAX, MAX, 1000));
}

Test(limit_table, another_seed_gives_other_hashes)
{
    struct limit_table other;
    cr_assert_eq(limit_table_init(&other, MAX, SEED + 1), 0);
    cr_expect_neq(get(0, 0)->hash, limit_table_get(&other, bytes_text("t0"), 0)->hash);
    limit_table_deinit(&other);
}

/* limit_table_check proves that no entry is lost. */
Test(limit_table, random_targets_come_and_go)
{
    int64_t now_mono_ms = 0;
    for (int i = 0; i < 20000; i++, now_mono_ms += rand() % 100) {
        struct limited *p = get(rand() % (3 * MAX), now_mono_ms);
        if (p != NULL && !bucket_is_open(&p->bucket, false, now_mono_ms) && rand() % 2 == 0)
            (void)bucket_give_slot(&p->bucket, now_mono_ms);
    }
    cr_expect_eq(table.n, MAX);
}

Test(limit_table, table_of_one_works)
{
    limit_table_deinit(&table);
    cr_assert_eq(limit_table_init(&table, 1, SEED), 0);
    cr_assert_not_null(get(1, 0));
    cr_expect_not(gets_within(10, 2, 999));
    cr_assert(gets_within(10, 2, 1000));
    cr_expect_null(find(1));
}
