/* SPDX-License-Identifier: Apache-2.0 */
/* eras: places of offsets in a log that is cut, compared with the order of appends. */
#include "levels/eras.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>

static struct eras eras;

static void start(void)
{
    eras_init(&eras);
}

TestSuite(eras, .init = start);

static bool voids(int64_t cancel_place, uint8_t era, int64_t offset)
{
    return cancel_place > eras_place(&eras, era, offset);
}

Test(eras, a_place_is_an_offset_until_the_first_cut)
{
    static const int64_t offsets[] = {0, 1, 1000, (int64_t)1 << 50};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        cr_expect_eq(eras_of(&eras, offsets[i]), 0);
        cr_expect_eq(eras_place(&eras, 0, offsets[i]), offsets[i]);
        cr_expect_eq(eras_note(&eras, 0, offsets[i]), offsets[i]);
        cr_expect_eq(eras_place(&eras, 0, offsets[i]), offsets[i]);
        cr_expect_eq(eras_offset(&eras, offsets[i]), offsets[i]);
    }
    cr_expect_eq(eras_next(&eras), 1);
}

Test(eras, a_cancel_of_an_older_era_voids_older_requests_alone)
{
    int64_t cancel = eras_note(&eras, 0, 150);
    cr_assert(eras_begin(&eras, 1, 100));
    for (int64_t offset = 0; offset < 200; offset++)
        cr_expect_eq(voids(cancel, 0, offset), offset < 150, "%d", (int)offset);
    for (int64_t offset = 100; offset < 200; offset++)
        cr_expect_not(voids(cancel, 1, offset), "%d", (int)offset);
}

Test(eras, a_cancel_of_a_new_era_voids_all_requests_before_it)
{
    eras_note(&eras, 0, 150);
    cr_assert(eras_begin(&eras, 1, 100));
    int64_t cancel = eras_note(&eras, 1, 120);
    for (int64_t offset = 0; offset < 200; offset++)
        cr_expect(voids(cancel, 0, offset), "%d", (int)offset);
    for (int64_t offset = 100; offset < 200; offset++)
        cr_expect_eq(voids(cancel, 1, offset), offset < 120, "%d", (int)offset);
}

Test(eras, a_request_above_all_cancels_of_its_era_is_void_by_no_cancel_of_it)
{
    int64_t cancel = eras_note(&eras, 0, 150);
    cr_assert(eras_begin(&eras, 1, 100));
    cr_expect_not(voids(cancel, 0, 1000));
    cr_expect(voids(eras_note(&eras, 1, 100), 0, 1000));
}

Test(eras, records_below_a_cut_are_of_the_era_before)
{
    eras_note(&eras, 0, 150);
    cr_assert(eras_begin(&eras, 1, 100));
    cr_expect_eq(eras_of(&eras, 99), 0);
    cr_expect_eq(eras_of(&eras, 100), 1);
    cr_expect_eq(eras_place(&eras, 1, 99), 99);
    cr_expect_eq(eras_note(&eras, 1, 99), 99);
    cr_expect_eq(eras_place(&eras, 1, 100), 151);
}

Test(eras, a_second_cut_above_the_first_keeps_three_eras)
{
    int64_t first = eras_note(&eras, 0, 500);
    cr_assert(eras_begin(&eras, 1, 100));
    int64_t second = eras_note(&eras, 1, 400);
    cr_assert(eras_begin(&eras, 2, 200));
    cr_expect_eq(eras_of(&eras, 99), 0);
    cr_expect_eq(eras_of(&eras, 100), 1);
    cr_expect_eq(eras_of(&eras, 199), 1);
    cr_expect_eq(eras_of(&eras, 200), 2);
    cr_expect_not(voids(first, 1, 100));
    cr_expect(voids(second, 1, 399));
    cr_expect_not(voids(second, 2, 200));
}

Test(eras, a_second_cut_below_the_first_hides_the_era_between)
{
    int64_t first = eras_note(&eras, 0, 500);
    cr_assert(eras_begin(&eras, 1, 200));
    int64_t second = eras_note(&eras, 1, 400);
    cr_assert(eras_begin(&eras, 2, 100));
    cr_expect_eq(eras_of(&eras, 99), 0);
    cr_expect_eq(eras_of(&eras, 100), 2);
    cr_expect_eq(eras_of(&eras, 200), 2);
    cr_expect(voids(second, 0, 150) && voids(second, 1, 399));
    cr_expect_not(voids(second, 1, 401));
    cr_expect_not(voids(second, 2, 100));
    cr_expect_not(voids(first, 1, 200));
}

Test(eras, a_recreated_log_is_new_from_offset_0)
{
    int64_t cancel = eras_note(&eras, 0, 1000);
    cr_assert(eras_begin(&eras, 1, 0));
    cr_expect_eq(eras_of(&eras, 0), 1);
    cr_expect_not(voids(cancel, 1, 0));
    cr_expect(voids(eras_note(&eras, 1, 1), 0, 999));
}

Test(eras, places_ascend_with_the_offsets_of_the_log_and_give_them_back)
{
    static const int64_t cuts[] = {300, 100, 250, 200, 400};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        eras_note(&eras, eras_of(&eras, 500), 500);
        cr_assert(eras_begin(&eras, eras_next(&eras), cuts[i]));
        int64_t before = -1;
        for (int64_t offset = 0; offset < 600; offset++) {
            int64_t place = eras_place(&eras, eras_of(&eras, offset), offset);
            cr_assert_gt(place, before);
            cr_assert_eq(eras_offset(&eras, place), offset);
            before = place;
        }
    }
}

Test(eras, a_late_begin_is_ignored)
{
    cr_assert(eras_begin(&eras, 7, 100));
    for (uint8_t number = 0; number <= 7; number++)
        cr_expect_not(eras_begin(&eras, number, 50));
    cr_expect_eq(eras_of(&eras, 99), 6);
    cr_expect_eq(eras_of(&eras, 100), 7);
    cr_expect_eq(eras.n, 2);
    cr_expect(eras_begin(&eras, 8, 50));
}

Test(eras, the_era_before_the_first_known_cut_has_the_number_below)
{
    cr_assert(eras_begin(&eras, 0, 100));
    cr_expect_eq(eras_of(&eras, 99), 255);
    cr_expect_eq(eras_of(&eras, 100), 0);
}

/* The record of the cut was trimmed. */
Test(eras, the_era_of_a_cancel_is_the_one_of_the_log_before_a_cut_is_known)
{
    cr_expect_eq(eras_note(&eras, 200, 70), 70);
    cr_expect_eq(eras_of(&eras, 0), 200);
    eras_note(&eras, 201, 80);
    eras_note(&eras, 200, 90);
    cr_expect_eq(eras_of(&eras, 0), 201);
    cr_expect_eq(eras_next(&eras), 202);
    cr_expect_not(eras_begin(&eras, 201, 50));
    cr_expect(eras_begin(&eras, 202, 50));
}

Test(eras, requests_of_unknown_eras_are_the_oldest)
{
    cr_assert(eras_begin(&eras, 7, 100));
    cr_expect_eq(eras_place(&eras, 3, 50), 50);
    cr_expect(voids(eras_note(&eras, 7, 100), 3, 1000000));
}

Test(eras, numbers_count_modulo_256)
{
    int64_t newest = -1;
    for (int i = 1; i <= 1000; i++) {
        int64_t at = 5 + i * 37 % 100;
        cr_assert_eq(eras_next(&eras), (uint8_t)i);
        cr_assert(eras_begin(&eras, (uint8_t)i, at));
        cr_assert_not(eras_begin(&eras, (uint8_t)i, at));
        cr_assert_not(eras_begin(&eras, (uint8_t)(i - 1), at));
        cr_assert_eq(eras_of(&eras, at), (uint8_t)i);
        cr_assert_gt(eras_place(&eras, (uint8_t)i, at), newest, "era %d", i);
        newest = eras_note(&eras, (uint8_t)i, at + 200);
    }
}

/* An event leaves out an offset of -1. */
Test(eras, the_offset_of_a_place_whose_era_was_dropped_is_unknown)
{
    int64_t first = eras_note(&eras, 0, 40), second = 0;
    eras_note(&eras, 0, 150);
    for (int number = 1; number <= ERAS_MAX; number++) {
        cr_expect_eq(eras_offset(&eras, first), 40);
        cr_assert(eras_begin(&eras, (uint8_t)number, 100));
        int64_t place = eras_note(&eras, (uint8_t)number, 150);
        second = number == 1 ? place : second;
    }
    cr_expect_eq(eras.n, ERAS_MAX);
    cr_expect_eq(eras_offset(&eras, first), -1);
    cr_expect_eq(eras_offset(&eras, second), 150);
    cr_expect_eq(eras_offset(&eras, -1), -1);
}

/* The model: all appends in their order. */

enum { ITEMS = 300 };

/* A request or cancel. Its index is its place in time. */
struct item {
    int64_t offset, place;
    int cut; /* cuts before it */
    uint8_t era;
    bool is_cancel, noted, lost;
};

static struct item items[ITEMS];
static size_t items_n;
static int64_t end;
static int cuts;

static void note(struct item *item)
{
    uint8_t era = eras_of(&eras, item->offset);
    item->place = eras_note(&eras, era, item->offset);
    item->noted = true;
    int64_t offset = eras_offset(&eras, item->place);
    cr_assert(offset == item->offset || (offset == -1 && cuts >= ERAS_MAX));
}

static void append(bool is_cancel)
{
    end += random_between(0, 3) ? 0 : random_between(0, 20);
    struct item *item = &items[items_n++];
    *item = (struct item){
        .is_cancel = is_cancel, .cut = cuts, .era = eras_of(&eras, end), .offset = end};
    if (is_cancel && random_between(0, 2))
        note(item);
    end++;
}

/* Reads the log once more, as a restart does. */
static void note_all(void)
{
    for (size_t i = 0; i < items_n; i++) {
        if (items[i].is_cancel && !items[i].lost)
            note(&items[i]);
    }
}

static void cut(void)
{
    int64_t at = random_between(0, 4) ? random_between(0, end) : 0;
    cr_assert(eras_begin(&eras, eras_next(&eras), at));
    for (size_t i = 0; i < items_n; i++)
        items[i].lost |= items[i].offset >= at;
    end = at;
    cuts++;
}

static void expect_order(void)
{
    for (size_t r = 0; r < items_n; r++) {
        const struct item *request = &items[r];
        bool is_known = request->cut > cuts - (ERAS_MAX - 1) || cuts < ERAS_MAX;
        if (!request->lost)
            cr_assert(!is_known || eras_of(&eras, request->offset) == request->era);
        for (size_t c = 0; c < items_n && !request->is_cancel; c++) {
            if (!items[c].noted)
                continue;
            bool is_void = voids(items[c].place, request->era, request->offset);
            cr_assert(c > r || !is_void, "request %zu, cancel %zu", r, c);
            cr_assert(c < r || !is_known || is_void, "request %zu, cancel %zu", r, c);
        }
    }
}

static void random_history(int cuts_max)
{
    eras_init(&eras);
    items_n = 0;
    cuts = 0;
    end = random_between(0, 1) ? 0 : random_between(0, 1000);
    eras_note(&eras, (uint8_t)random_next(), 0);
    while (items_n < ITEMS) {
        append(random_between(0, 1));
        if (cuts < cuts_max && random_between(0, ITEMS / cuts_max) == 0) {
            cut();
            expect_order();
        }
        if (random_between(0, 50) == 0)
            note_all();
    }
    expect_order();
}

Test(eras, a_cancel_voids_the_requests_appended_before_it)
{
    random_start("eras");
    for (int round = 0; round < 300; round++)
        random_history((int)random_between(1, ERAS_MAX - 1));
}

Test(eras, a_cancel_voids_no_later_request_after_any_number_of_cuts)
{
    random_start("eras");
    for (int round = 0; round < 300; round++)
        random_history((int)random_between(ERAS_MAX, 40));
}

/* The oldest era may have begun anywhere. */
Test(eras, a_record_was_lost_if_a_later_era_is_known_to_have_begun_below_it)
{
    struct eras e;
    eras_init(&e);
    eras_note(&e, 5, 10);
    cr_expect(!eras_have_replaced(&e, 4, 10));
    cr_assert(eras_begin(&e, 6, 50));
    cr_expect(eras_have_replaced(&e, 5, 50));
    cr_expect(!eras_have_replaced(&e, 5, 49));
    cr_expect(!eras_have_replaced(&e, 6, 50));
    cr_expect(!eras_have_replaced(&e, 4, 49));
}
