/* SPDX-License-Identifier: Apache-2.0 */
/* window: committed offsets and their metadata, compared with an array of flags. */
#include "levels/window.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

static struct window window, other;
static char text[WINDOW_TEXT_MAX + 1];

static void admit_all(int64_t from, int64_t to)
{
    for (int64_t offset = from; offset < to; offset++)
        window_admit(&window, offset);
}

static void expect(int64_t base, int64_t next)
{
    window_check(&window);
    cr_assert_eq(window.base, base, "base is %" PRId64, window.base);
    cr_assert_eq(window.next, next, "next is %" PRId64, window.next);
}

Test(window, base_is_the_first_offset_not_done)
{
    window_init(&window, 100);
    admit_all(100, 110);
    window_done(&window, 101);
    window_done(&window, 102);
    expect(100, 110);
    window_done(&window, 100);
    expect(103, 110);
}

Test(window, offset_gap_counts_as_done)
{
    window_init(&window, 100);
    window_admit(&window, 100);
    window_admit(&window, 105);
    expect(100, 106);
    window_done(&window, 100);
    expect(105, 106);
}

Test(window, gap_before_an_idle_window_moves_base)
{
    window_init(&window, 100);
    cr_assert(window_fits(&window, 10000000));
    window_admit(&window, 10000000);
    expect(10000000, 10000001);
    cr_assert(window_is_done(&window, 9999999));
}

Test(window, unset_window_starts_at_its_first_record)
{
    window_init(&window, WINDOW_UNSET);
    expect(WINDOW_UNSET, WINDOW_UNSET);
    window_done(&window, 5);
    cr_assert_not(window_is_done(&window, 5));
    cr_assert_eq(window_pending(&window, 50), 0);
    cr_assert_eq(window_encode(&window, text), 0);
    cr_assert_str_eq(text, "");
    cr_assert(window_fits(&window, 40));
    window_admit(&window, 40);
    expect(40, 41);
}

Test(window, full_window_admits_no_record)
{
    window_init(&window, 7);
    admit_all(7, 7 + WINDOW_SPAN);
    expect(7, 7 + WINDOW_SPAN);
    cr_assert_not(window_fits(&window, 7 + WINDOW_SPAN));
    for (int64_t offset = 7 + WINDOW_SPAN - 1; offset > 7; offset--)
        window_done(&window, offset);
    expect(7, 7 + WINDOW_SPAN);
    window_done(&window, 7);
    expect(7 + WINDOW_SPAN, 7 + WINDOW_SPAN);
    cr_assert(window_fits(&window, 7 + WINDOW_SPAN));
}

Test(window, admitting_beyond_the_span_asserts, .signal = SIGABRT)
{
    window_init(&window, 0);
    window_admit(&window, 0);
    window_admit(&window, WINDOW_SPAN);
}

Test(window, admitting_twice_asserts, .signal = SIGABRT)
{
    window_init(&window, 0);
    window_admit(&window, 0);
    window_admit(&window, 0);
}

Test(window, report_below_base_is_ignored)
{
    window_init(&window, 100);
    window_done(&window, 99);
    window_done(&window, 100 - WINDOW_SPAN);
    window_done(&window, -1001);
    expect(100, 100);
    cr_assert_eq(window_pending(&window, 100 + WINDOW_SPAN), WINDOW_SPAN);
}

Test(window, report_beyond_next_is_kept)
{
    window_init(&window, 100);
    window_done(&window, 102);
    expect(100, 100);
    window_admit(&window, 100);
    window_done(&window, 100);
    window_admit(&window, 101);
    window_done(&window, 101);
    expect(103, 103);
}

Test(window, report_beyond_the_span_is_ignored)
{
    window_init(&window, 100);
    window_done(&window, 100 + WINDOW_SPAN);
    cr_assert_not(window_is_done(&window, 100 + WINDOW_SPAN));
    cr_assert_not(window_is_done(&window, 100));
    expect(100, 100);
}

Test(window, report_of_the_next_offset_moves_base_and_next)
{
    window_init(&window, 100);
    window_done(&window, 100);
    expect(101, 101);
}

Test(window, done_record_may_be_read_again)
{
    window_init(&window, 100);
    window_done(&window, 101);
    window_admit(&window, 100);
    cr_assert(window_is_done(&window, 101));
    window_admit(&window, 101);
    expect(100, 102);
    window_done(&window, 100);
    expect(102, 102);
}

Test(window, rewind_forgets_offsets_that_are_not_done)
{
    window_init(&window, 100);
    admit_all(100, 110);
    window_done(&window, 100);
    window_done(&window, 105);
    window_rewind(&window);
    expect(101, 101);
    cr_assert(window_is_done(&window, 105));
    cr_assert_not(window_is_done(&window, 106));
    admit_all(101, 110);
    expect(101, 110);
}

Test(window, gap_after_a_rewind_drops_the_bits_below_it)
{
    window_init(&window, 100);
    admit_all(100, 300);
    window_done(&window, 150);
    window_done(&window, 250);
    window_rewind(&window);
    window_admit(&window, 200);
    expect(200, 201);
    cr_assert(window_is_done(&window, 250));
    cr_assert_eq(window_pending(&window, 200 + WINDOW_SPAN), WINDOW_SPAN - 1);
}

Test(window, cut_clears_its_offset_and_all_above)
{
    window_init(&window, 100);
    admit_all(100, 200);
    for (int64_t offset = 101; offset < 300; offset += 2)
        window_done(&window, offset);
    window_done(&window, 99 + WINDOW_SPAN);
    window_cut(&window, 151);
    expect(100, 151);
    for (int64_t offset = 100; offset < 100 + WINDOW_SPAN; offset++)
        cr_assert_eq(window_is_done(&window, offset), offset < 151 && offset % 2 == 1);
    admit_all(151, 200);
    expect(100, 200);
}

Test(window, cut_moves_a_base_above_it)
{
    window_init(&window, 100);
    admit_all(100, 110);
    window_done(&window, 105);
    window_cut(&window, 60);
    expect(60, 60);
    cr_assert_eq(window_pending(&window, 60 + WINDOW_SPAN), WINDOW_SPAN);
    window_cut(&window, 0);
    expect(0, 0);
    admit_all(0, 3);
}

Test(window, cut_at_base_leaves_no_offset_done)
{
    window_init(&window, 100);
    admit_all(100, 110);
    window_done(&window, 101);
    window_cut(&window, 100);
    expect(100, 100);
    cr_assert_eq(window_pending(&window, 100 + WINDOW_SPAN), WINDOW_SPAN);
}

Test(window, cut_above_next_keeps_next)
{
    window_init(&window, 100);
    admit_all(100, 110);
    window_done(&window, 120);
    window_done(&window, 130);
    window_cut(&window, 125);
    expect(100, 110);
    cr_assert(window_is_done(&window, 120));
    cr_assert_not(window_is_done(&window, 130));
}

Test(window, cut_at_or_above_the_span_changes_nothing)
{
    window_init(&window, 100);
    admit_all(100, 100 + WINDOW_SPAN);
    window_done(&window, 99 + WINDOW_SPAN);
    other = window;
    window_cut(&window, 100 + WINDOW_SPAN);
    window_cut(&window, INT64_MAX);
    expect(100, 100 + WINDOW_SPAN);
    cr_assert_arr_eq(window.bits, other.bits, sizeof other.bits);
}

Test(window, cut_leaves_an_unset_window_unset)
{
    window_init(&window, WINDOW_UNSET);
    window_cut(&window, 0);
    window_cut(&window, 50);
    expect(WINDOW_UNSET, WINDOW_UNSET);
}

Test(window, pending_counts_offsets_that_are_not_done)
{
    window_init(&window, 100);
    admit_all(100, 200);
    window_done(&window, 150);
    cr_assert_eq(window_pending(&window, 99), 0);
    cr_assert_eq(window_pending(&window, 100), 0);
    cr_assert_eq(window_pending(&window, 150), 50);
    cr_assert_eq(window_pending(&window, 151), 50);
    cr_assert_eq(window_pending(&window, 1000100), 999999);
}

static void expect_same(const struct window *a, const struct window *b)
{
    cr_assert_eq(a->base, b->base);
    cr_assert_arr_eq(a->bits, b->bits, sizeof a->bits);
}

static size_t there_and_back(void)
{
    size_t len = window_encode(&window, text);
    cr_assert_leq(len, WINDOW_TEXT_MAX);
    cr_assert_eq(strlen(text), len);
    cr_assert_eq(window_decode(&other, window.base, bytes_of(text, len)), 0);
    window_check(&other);
    expect_same(&window, &other);
    cr_assert_eq(other.next, other.base);
    return len;
}

Test(window, text_preserves_done_offsets)
{
    window_init(&window, 1000);
    admit_all(1000, 1100);
    window_done(&window, 1001);
    window_done(&window, 1099);
    there_and_back();
    cr_assert(window_is_done(&other, 1001) && window_is_done(&other, 1099));
    cr_assert_not(window_is_done(&other, 1002));
}

/* Pins the format: metadata of older programs must stay readable. */
Test(window, text_of_version_1_stays_readable)
{
    const char *pinned = "1 100 da663120 AAAAAAAABAAAAAAACA";
    cr_assert_eq(window_decode(&window, 100, bytes_text(pinned)), 0);
    cr_assert(window_is_done(&window, 150) && window_is_done(&window, 199));
    cr_assert_eq(window_pending(&window, 200), 98);
    window_encode(&window, text);
    cr_assert_str_eq(text, pinned);
}

Test(window, text_is_cut_after_the_last_done)
{
    window_init(&window, 1000);
    cr_assert_leq(there_and_back(), 16);
    admit_all(1000, 5000);
    cr_assert_leq(there_and_back(), 16);
    window_done(&window, 1007);
    cr_assert_leq(there_and_back(), 20);
}

Test(window, longest_text_fits_the_metadata)
{
    window_init(&window, INT64_MAX - 2 * WINDOW_SPAN);
    for (int64_t i = 1; i < WINDOW_SPAN; i++)
        window_done(&window, window.base + i);
    size_t len = there_and_back();
    cr_assert(len > 4070 && len <= WINDOW_TEXT_MAX, "%zu characters", len);
}

static void expect_refused(int64_t offset, struct bytes foreign)
{
    window_init(&window, 5);
    window_done(&window, 6);
    cr_assert_eq(window_decode(&window, offset, foreign), ERR_DATA, "%.*s", (int)foreign.len,
                 (const char *)foreign.data);
    window_init(&other, offset);
    expect_same(&window, &other);
    window_check(&window);
}

Test(window, empty_text_is_no_error)
{
    window_init(&window, 5);
    window_done(&window, 6);
    cr_assert_eq(window_decode(&window, 77, bytes_null()), 0);
    expect(77, 77);
    cr_assert_eq(window_decode(&window, 78, bytes_text("")), 0);
    cr_assert_not(window_is_done(&window, 79));
    cr_assert_eq(window_decode(&window, WINDOW_UNSET, bytes_null()), 0);
    expect(WINDOW_UNSET, WINDOW_UNSET);
}

Test(window, foreign_text_is_refused)
{
    const char *foreign[] = {"x",
                             " ",
                             "   ",
                             "1 100",
                             "1 100 ",
                             "a b c d",
                             "1 100 00000000",
                             "1 100 00000000 AAAA",
                             "{\"leader\":3}",
                             "1 100 da663120 ====",
                             "2 100 da663120 AAAAAAAABAAAAAAACA",
                             "1 100 DA663120 AAAAAAAABAAAAAAACA",
                             "1 0100 da663120 AAAAAAAABAAAAAAACA",
                             "1 100 da663120 AAAAAAAABAAAAAAACA=",
                             "1 100 da663120 AAAAAAAABAAAAAAACB",
                             "1 100 da663120 AAAAAAAABAAAAAAACA "};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        expect_refused(100, bytes_text(foreign[i]));
    expect_refused(WINDOW_UNSET, bytes_text("1 100 da663120 AAAAAAAABAAAAAAACA"));
}

Test(window, text_longer_than_any_of_ours_is_refused)
{
    static char longest[3 * WINDOW_TEXT_MAX];
    memset(longest, 'A', sizeof longest);
    memcpy(longest, "1 100 da663120 ", 15);
    for (size_t len = WINDOW_TEXT_MAX - 60; len < WINDOW_TEXT_MAX + 60; len++)
        expect_refused(100, bytes_of(longest, len));
    expect_refused(100, bytes_of(longest, sizeof longest));
}

Test(window, text_with_base_itself_done_is_refused)
{
    static char wrong[WINDOW_TEXT_MAX + 1];
    window_init(&window, 100);
    window.bits[1] |= (uint64_t)1 << (100 - 64);
    size_t len = window_encode(&window, wrong);
    expect_refused(100, bytes_of(wrong, len));
}

Test(window, text_of_another_base_is_refused)
{
    struct bytes ours = bytes_text("1 100 da663120 AAAAAAAABAAAAAAACA");
    expect_refused(99, ours);
    expect_refused(101, ours);
    expect_refused(0, ours);
}

Test(window, damaged_text_is_refused)
{
    char damaged[] = "1 100 da663120 AAAAAAAABAAAAAAACA";
    size_t len = sizeof damaged - 1;
    for (size_t n = 1; n < len; n++)
        expect_refused(100, bytes_of(damaged, n));
    for (size_t i = 0; i < len; i++) {
        char right = damaged[i];
        for (int wrong = 0; wrong < 256; wrong++) {
            damaged[i] = (char)wrong;
            if (damaged[i] != right)
                expect_refused(100, bytes_of(damaged, len));
        }
        damaged[i] = right;
    }
}

/* The model: an array of flags. */

enum { OFFSETS = 400000 };
static bool *done;
static int64_t base, next, start;

static void array_settle(void)
{
    while (done[base - start])
        base++;
    if (next < base)
        next = base;
}

static void admit_random(void)
{
    static const int64_t gap_max[] = {0, 0, 0, 0, 0, 0, 1, 3, 100, 30000};
    int64_t offset = next + random_between(0, gap_max[random_between(0, 9)]);
    cr_assert_eq(window_fits(&window, offset), base == next || offset < base + WINDOW_SPAN);
    if (!window_fits(&window, offset))
        return;
    window_admit(&window, offset);
    for (; next < offset; next++)
        done[next - start] = true;
    next = offset + 1;
    array_settle();
}

static void done_random(int64_t offset)
{
    window_done(&window, offset);
    if (offset < base || offset >= base + WINDOW_SPAN)
        return;
    done[offset - start] = true;
    array_settle();
}

static void cut_random(void)
{
    int64_t at = base + random_between(-200, random_between(0, 1) ? 200 : WINDOW_SPAN + 200);
    at = at > start ? at : start;
    window_cut(&window, at);
    base = base < at ? base : at;
    next = next < at ? next : at;
    for (int64_t offset = at; offset < start + OFFSETS; offset++)
        done[offset - start] = false;
}

static void compare(void)
{
    expect(base, next);
    for (int i = 0; i < 3; i++) {
        int64_t offset = base + random_between(-100, WINDOW_SPAN + 100);
        bool is_done = offset < base || (offset < base + WINDOW_SPAN && done[offset - start]);
        cr_assert_eq(window_is_done(&window, offset), is_done);
    }
    int64_t end = base + random_between(0, 200), pending = 0;
    for (int64_t offset = base; offset < end; offset++)
        pending += !done[offset - start];
    cr_assert_eq(window_pending(&window, end), pending);
}

static void one_step(int64_t haste)
{
    switch (random_between(0, 9)) {
    case 0:
        done_random(next + random_between(-200, 200));
        break;
    case 1:
        done_random(base + random_between(-5, WINDOW_SPAN + 5));
        break;
    case 2:
        if (random_between(0, 300) == 0) {
            window_rewind(&window);
            next = base;
        } else if (random_between(0, 300) == 0) {
            cut_random();
        }
        break;
    case 3:
        if (random_between(0, 100) == 0)
            there_and_back();
        break;
    case 4:
    case 5:
    case 6:
        if (random_between(0, 100) < haste)
            for (int64_t i = random_between(0, 70); i > 0 && base < next; i--)
                done_random(base);
        break;
    default:
        for (int64_t i = random_between(1, 20); i > 0; i--)
            admit_random();
    }
}

Test(window, random_history_equals_an_array_of_flags)
{
    random_start("window");
    done = malloc(OFFSETS);
    cr_assert_not_null(done);
    for (int round = 0; round < 30; round++) {
        int64_t haste = random_between(0, 3) * 30;
        memset(done, false, OFFSETS);
        base = next = start = random_between(0, 1) ? 0 : random_between(0, (int64_t)1 << 60);
        window_init(&window, base);
        for (int step = 0; step < 5000 && next < start + OFFSETS - 3 * WINDOW_SPAN; step++) {
            one_step(haste);
            compare();
        }
        there_and_back();
    }
    free(done);
}

Test(window, window_learns_done_offsets_of_an_earlier_assignment)
{
    struct window before, after;
    window_init(&before, 100);
    for (int64_t offset = 100; offset < 110; offset++)
        window_admit(&before, offset);
    window_done(&before, 100);
    window_done(&before, 101);
    window_done(&before, 105);
    window_init(&after, 100);
    cr_assert(window_learn(&after, &before));
    cr_assert_eq(after.base, 102);
    cr_assert(window_is_done(&after, 105));
    cr_assert_not(window_is_done(&after, 104));
    cr_assert_not(window_learn(&after, &before));
    window_check(&after);
}

/* This happens after a skipped batch with that many offsets, or after a long time without a commit.
 */
Test(window, base_that_is_more_than_a_span_ahead_is_learned)
{
    struct window before, after;
    for (int64_t ahead = WINDOW_SPAN - 1; ahead <= 3 * WINDOW_SPAN; ahead += WINDOW_SPAN / 2) {
        window_init(&before, 41 + ahead);
        window_admit(&before, 41 + ahead);
        window_admit(&before, 42 + ahead);
        window_done(&before, 42 + ahead);
        window_init(&after, 41);
        window_done(&after, 43);
        cr_assert(window_learn(&after, &before));
        window_check(&after);
        cr_expect_eq(after.base, before.base, "%lld", (long long)ahead);
        cr_expect_eq(after.next, after.base);
        cr_expect_not(window_is_done(&after, 41 + ahead));
        cr_expect(window_is_done(&after, 42 + ahead));
        cr_expect_not(window_is_done(&after, 43 + ahead));
        cr_expect_not(window_learn(&after, &before));
    }
}

Test(window, unset_window_neither_learns_nor_passes_on_offsets)
{
    struct window set, unset;
    window_init(&set, 7);
    window_init(&unset, WINDOW_UNSET);
    cr_assert_not(window_learn(&set, &unset));
    cr_assert_not(window_learn(&unset, &set));
    cr_assert_eq(unset.base, WINDOW_UNSET);
}

/* The text holds all offsets of its span, if all but the base are done. */
Test(window, short_text_holds_its_span)
{
    static struct window full, again;
    for (size_t text_max = 1; text_max < 200; text_max++) {
        int64_t span = window_span_of(text_max);
        window_init(&full, INT64_MAX / 4);
        for (int64_t i = 1; i < span; i++)
            window_done(&full, full.base + i);
        size_t len = window_encode_within(&full, text_max, text);
        cr_assert_leq(len, text_max);
        cr_assert_eq(window_decode(&again, full.base, bytes_of(text, len)), 0);
        cr_assert_arr_eq(again.bits, full.bits, sizeof full.bits);
    }
    cr_assert_eq(window_span_of(WINDOW_TEXT_MAX), WINDOW_SPAN);
}

Test(window, short_text_is_cut_after_the_last_done_offset_in_it)
{
    static struct window full, again;
    window_init(&full, 7);
    window_done(&full, 9);
    window_done(&full, 7 + WINDOW_SPAN - 1);
    size_t len = window_encode_within(&full, 1024, text);
    cr_expect_lt(len, 40);
    cr_assert_eq(window_decode(&again, 7, bytes_of(text, len)), 0);
    cr_expect(window_is_done(&again, 9));
}

Test(window, all_offsets_below_the_other_base_are_learned)
{
    static struct window before, after;
    int64_t first = (int64_t)WINDOW_SPAN + 100;
    window_init(&before, first);
    for (int64_t offset = first; offset < first + 10; offset++)
        window_admit(&before, offset);
    window_done(&before, first + 5);
    window_init(&after, 105);
    window_admit(&after, 105);
    cr_expect(window_learn(&after, &before));
    cr_expect_eq(after.base, first);
    cr_expect_not(window_is_done(&after, first));
    cr_expect(window_is_done(&after, first + 5));
    window_check(&after);
}

Test(window, bits_beyond_a_short_text_are_left_out)
{
    static struct window full, again;
    window_init(&full, 7);
    for (int64_t offset = 8; offset < 7 + WINDOW_SPAN; offset++)
        window_done(&full, offset);
    size_t len = window_encode_within(&full, 1024, text);
    cr_assert(len > 900 && len <= 1024);
    cr_assert_eq(window_decode(&again, 7, bytes_of(text, len)), 0);
    for (int64_t offset = 8; offset < 7 + window_span_of(1024); offset++)
        cr_assert(window_is_done(&again, offset));
    cr_assert_not(window_is_done(&again, 7 + WINDOW_SPAN - 1));
}
