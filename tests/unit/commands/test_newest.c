/* SPDX-License-Identifier: Apache-2.0 */
/* newest: which records stay, by number and by size. */
#include "bridge/commands/newest.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MOST = 5, MANY = 1000, BYTES = 100 };

static int kept;

static void release(struct record *record)
{
    free(record);
    kept--;
}

static struct newest newest = {.most = MOST, .most_bytes = MOST * BYTES, .release = release};

static bool add(int64_t at_ms, int partition, int64_t offset, size_t bytes)
{
    struct newest_item item = {
        .at_wall_ms = at_ms, .partition = partition, .offset = offset, .bytes = bytes};
    if (!newest_wants(&newest, &item))
        return false;
    item.record = calloc(1, sizeof *item.record);
    kept++;
    cr_assert_eq(newest_add(&newest, &item), 0);
    cr_assert_eq(kept, (int)newest.n, "records that are not kept are released");
    return true;
}

Test(newest, keeps_the_newest_and_sorts_them)
{
    for (int64_t i = 0; i < MANY; i++)
        add(i * 387 % MANY, (int)(i % 4), i, BYTES);
    newest_sort(&newest);
    cr_assert_eq(newest.n, MOST);
    for (int64_t i = 0; i < MOST; i++)
        cr_expect_eq(newest.all[i].at_wall_ms, MANY - 1 - i);
    cr_expect_not(newest_is_cut(&newest));
    newest_deinit(&newest);
    cr_expect_eq(kept, 0);
}

Test(newest, later_place_is_newer_at_the_same_time)
{
    newest.most = 2;
    add(1, 0, 8, BYTES);
    add(1, 1, 7, BYTES);
    add(1, 1, 6, BYTES);
    cr_expect_not(add(1, 0, 9, BYTES));
    newest_sort(&newest);
    cr_expect_eq(newest.all[0].offset, 7);
    cr_expect_eq(newest.all[1].offset, 6);
    newest_deinit(&newest);
}

Test(newest, size_drops_the_oldest_and_leaves_no_gap)
{
    for (int64_t at_ms = 1; at_ms <= MOST; at_ms++)
        add(at_ms, 0, at_ms, BYTES);
    cr_expect_not(newest_is_cut(&newest));
    add(3, 1, 0, 2 * BYTES);
    cr_expect(newest_is_cut(&newest));
    cr_assert_eq(newest.n, 4, "1 has no place, 2 has no room");
    cr_expect_not(add(2, 0, 1, 0), "it is older than one that was dropped");
    newest_sort(&newest);
    cr_expect_eq(newest.all[3].at_wall_ms, 3);
    newest_deinit(&newest);
}

Test(newest, one_record_stays_whatever_its_size)
{
    add(1, 0, 1, BYTES);
    add(2, 0, 2, MANY * BYTES);
    cr_assert_eq(newest.n, 1);
    cr_expect_eq(newest.all[0].at_wall_ms, 2);
    newest_deinit(&newest);
}

Test(newest, none_is_kept_of_no_number)
{
    newest.most = 0;
    cr_expect_not(add(1, 0, 1, BYTES));
    newest_deinit(&newest);
}
