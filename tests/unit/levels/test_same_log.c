/* SPDX-License-Identifier: Apache-2.0 */
/* same_log: a simulated log is recognized, or the place where it was cut is found. */
#include "levels/same_log.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>
#include <math.h>

enum { LOG_MAX = 100000, CANCEL_EVERY = 10, LOOKS_MAX = 20 + SAME_LOG_WITNESSES };

static const int64_t T0 = 1790000000000;

static struct same_log same;
static struct log_record records[LOG_MAX];
static bool readable[LOG_MAX];
static int64_t log_start, log_end, log_next; /* next: how far it was read */
static int looks;

/* Writes records from log_end up to `to`. Every CANCEL_EVERY-th is a cancel. Timestamps ascend from
   first_ms; names of different logs differ in `log`. */
static void grow(int64_t to, int64_t first_ms, uint64_t log)
{
    for (int64_t offset = log_end; offset < to; offset++) {
        records[offset] = (struct log_record){.offset = offset,
                                              .timestamp_ms = first_ms + (offset - log_end) * 3,
                                              .names = offset % CANCEL_EVERY == 0,
                                              .print = {log << 32 | (uint64_t)offset, 7}};
        readable[offset] = true;
    }
    log_end = to;
}

static void note_at(int64_t offset)
{
    const struct log_record *record = &records[offset];
    cr_assert(record->names && readable[offset]);
    same_log_note(&same,
                  &(struct log_witness){.offset = offset,
                                        .timestamp_ms = record->timestamp_ms,
                                        .print = record->print},
                  record->timestamp_ms);
}

static void note_all(void)
{
    for (int64_t offset = log_start; offset < log_end; offset++) {
        if (records[offset].names && readable[offset])
            note_at(offset);
    }
}

static void gap(int64_t from, int64_t to)
{
    for (int64_t offset = from; offset < to; offset++)
        readable[offset] = false;
}

static void without_timestamps(int64_t from, int64_t to)
{
    for (int64_t offset = from; offset < to; offset++)
        records[offset].timestamp_ms = -1;
}

/* Begins with a log of 1000 records whose cancels were read. */
static void start(void)
{
    same_log_init(&same);
    log_start = log_end = log_next = 0;
    grow(1000, T0, 1);
    note_all();
}

TestSuite(same_log, .init = start);

static void look(int64_t from, int64_t to)
{
    cr_assert(log_start <= from && from < to && to <= log_end);
    for (int64_t offset = from; offset < to; offset++) {
        if (readable[offset])
            same_log_saw(&same, &records[offset]);
    }
    same_log_read(&same);
}

/* Returns the verdict. */
static enum log_verdict search(void)
{
    int64_t from, to;
    same_log_begin(&same, log_start, log_end, log_next);
    for (looks = 0; same_log_wants(&same, &from, &to); looks++) {
        cr_assert_lt(looks, LOG_MAX, "no end");
        look(from, to);
    }
    return same.verdict;
}

static void expect_cut(int64_t at, bool proved)
{
    cr_assert_eq(search(), LOG_WAS_CUT);
    cr_expect_eq(same.at, at, "at %" PRId64, same.at);
    cr_expect_eq(same.proved, proved);
    cr_expect_leq(looks, LOOKS_MAX, "%d looks", looks);
}

static void cut_era(uint8_t number, int64_t at)
{
    struct eras eras;
    eras_init(&eras);
    cr_assert(eras_begin(&eras, number, at));
    same_log_sift(&same, &eras);
}

Test(same_log, the_same_log_needs_one_look)
{
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_eq(looks, 1);
    grow(5000, T0 + 1000000, 1);
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_eq(looks, 1);
}

Test(same_log, a_log_without_witnesses_is_the_same)
{
    same_log_init(&same);
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_eq(looks, 0);
}

Test(same_log, a_log_that_starts_above_the_newest_witness_is_the_same)
{
    log_start = 991;
    cr_expect_eq(search(), LOG_IS_SAME);
    log_start = log_end;
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_eq(looks, 0);
}

Test(same_log, a_log_that_ends_below_the_newest_witness_was_cut_at_its_end)
{
    for (log_end = 990; log_end > 0; log_end--)
        expect_cut(log_end, true);
    expect_cut(0, false);
}

Test(same_log, a_log_that_grew_past_the_newest_witness_was_cut_at_its_first_new_record)
{
    for (int64_t at = 990; at > 0; at -= 7) {
        start();
        log_end = at;
        grow(3000, T0 + 1000000, 2);
        expect_cut(at, true);
    }
}

Test(same_log, new_records_may_end_below_the_newest_witness)
{
    log_end = 605;
    grow(700, T0 + 1000000, 2);
    expect_cut(605, true);
}

Test(same_log, an_era_begins_at_the_end_of_a_part_without_records)
{
    log_end = 605;
    grow(3000, T0 + 1000000, 2);
    gap(600, 900);
    expect_cut(600, true);
}

Test(same_log, a_log_cut_above_the_newest_witness_is_the_same)
{
    log_end = 991;
    grow(3000, T0 + 1000000, 2);
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_eq(looks, 1);
}

Test(same_log, an_unreadable_newest_witness_below_a_record_as_old_is_no_cut)
{
    gap(990, 991);
    for (int64_t offset = 991; offset < 1000; offset++)
        records[offset].timestamp_ms = records[990].timestamp_ms;
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_leq(looks, LOOKS_MAX);
    gap(980, 999);
    cr_expect_eq(search(), LOG_IS_SAME);
}

/* No new record has an offset at which an old cancel could void it. */
Test(same_log, an_unreadable_newest_witness_below_newer_records_is_no_cut)
{
    gap(990, 991);
    cr_expect_eq(search(), LOG_IS_SAME);
    without_timestamps(991, 1000);
    cr_expect_eq(search(), LOG_IS_SAME);
    gap(985, 1000);
    cr_expect_eq(search(), LOG_IS_SAME);
}

/* Aborted transactions may fill the lost part. */
Test(same_log, a_log_that_was_read_beyond_its_end_was_cut_at_its_gap)
{
    gap(985, 1000);
    log_next = 1001;
    expect_cut(985, true);
    log_next = 1000;
    cr_expect_eq(search(), LOG_IS_SAME);
}

Test(same_log, a_log_without_records_is_the_same)
{
    gap(0, 1000);
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_leq(looks, LOOKS_MAX);
}

Test(same_log, a_recreated_topic_is_new_from_its_start)
{
    static const int64_t ends[] = {1, 500, 990, 991, 3000};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        log_end = 0;
        grow(ends[i], T0 + 1000000, 2);
        expect_cut(0, false);
    }
}

Test(same_log, a_copy_with_old_timestamps_is_another_log)
{
    static const int64_t ends[] = {100, 990, 991, 3000};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        log_end = 0;
        grow(ends[i], T0 - 100000, 2);
        cr_expect_eq(search(), LOG_IS_ANOTHER, "%d", (int)ends[i]);
        cr_expect_eq(same.at, 0);
        cr_expect_not(same.proved);
        cr_expect_leq(looks, LOOKS_MAX);
    }
}

Test(same_log, a_copy_with_one_witness_is_another_log)
{
    same_log_init(&same);
    note_at(500);
    log_end = 0;
    grow(3000, T0 - 100000, 2);
    cr_expect_eq(search(), LOG_IS_ANOTHER);
}

/* The cancel of another name, another operation, or another time. */
Test(same_log, each_field_of_a_witness_counts)
{
    for (int field = 0; field < 4; field++) {
        struct log_record *newest = &records[990], kept = *newest;
        newest->names = field != 0;
        newest->print.high ^= field == 1;
        newest->print.low ^= field == 2;
        newest->timestamp_ms += field == 3;
        cr_expect_eq(search(), LOG_WAS_CUT, "field %d", field);
        cr_expect(same.proved);
        *newest = kept;
    }
    cr_expect_eq(search(), LOG_IS_SAME);
}

Test(same_log, a_record_without_a_timestamp_can_be_the_witness)
{
    without_timestamps(0, 1000);
    cr_expect_eq(search(), LOG_IS_SAME);
}

Test(same_log, records_without_timestamps_are_passed_over)
{
    log_end = 605;
    grow(3000, T0 + 1000000, 2);
    for (int64_t offset = 0; offset < 3000; offset++) {
        if (offset % 7 != 0)
            without_timestamps(offset, offset + 1);
    }
    expect_cut(603, true); /* after 602, the last old one with a timestamp */
}

Test(same_log, without_timestamps_a_log_is_cut_at_its_first_witness_that_differs_or_at_its_end)
{
    same_log_init(&same);
    without_timestamps(0, 1000);
    note_all();
    log_end = 605;
    expect_cut(605, true);
    grow(3000, 0, 2);
    without_timestamps(605, 3000);
    cr_expect_eq(search(), LOG_WAS_CUT);
    cr_expect(same.proved && same.at > 605 && same.at <= 990);
    start();
    same_log_init(&same);
    without_timestamps(0, 1000);
    note_all();
    log_end = 990;
    grow(3000, 0, 2);
    without_timestamps(990, 3000);
    expect_cut(990, true);
    gap(990, 991);
    cr_expect_eq(search(), LOG_IS_SAME);
}

Test(same_log, a_trimmed_witness_proves_nothing)
{
    same_log_init(&same);
    note_at(100);
    note_at(900);
    log_end = 605;
    expect_cut(605, true);
    log_start = 101;
    expect_cut(605, false);
}

Test(same_log, a_witness_that_cannot_be_read_leaves_the_proof_to_the_next)
{
    same_log_init(&same);
    for (int64_t offset = 100; offset < 1000; offset += 100)
        note_at(offset);
    log_end = 605;
    gap(400, 401);
    gap(500, 501);
    gap(600, 601);
    expect_cut(605, true);
    gap(0, 400);
    expect_cut(605, false);
}

Test(same_log, a_second_search_forgets_the_first)
{
    int64_t saved = log_end;
    log_end = 605;
    expect_cut(605, true);
    log_end = saved;
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_not(same.proved);
}

Test(same_log, the_search_may_be_repeated_after_the_era_has_begun)
{
    log_end = 605;
    grow(3000, T0 + 1000000, 2);
    expect_cut(605, true);
    cut_era(1, same.at);
    cr_expect_eq(search(), LOG_IS_SAME);
    note_at(2990);
    cr_expect_eq(search(), LOG_IS_SAME);
    log_end = 2000;
    expect_cut(2000, true);
}

/* Witnesses. */

static void expect_kept(int64_t oldest, int64_t newest)
{
    cr_assert(same.n >= 1 && same.n <= SAME_LOG_WITNESSES);
    cr_assert_eq(same.witnesses[0].offset, oldest, "oldest %" PRId64, same.witnesses[0].offset);
    cr_assert_eq(same.witnesses[same.n - 1].offset, newest);
    for (size_t i = 1; i < same.n; i++)
        cr_assert_lt(same.witnesses[i - 1].offset, same.witnesses[i].offset);
}

Test(same_log, the_oldest_and_newest_witness_stay)
{
    same_log_init(&same);
    for (int64_t offset = 5; offset < 20000; offset += 3) {
        same_log_note(&same, &(struct log_witness){.offset = offset}, T0);
        expect_kept(5, offset);
    }
    cr_expect_geq(same.n, SAME_LOG_WITNESSES / 2);
}

Test(same_log, the_distances_of_witnesses_from_the_newest_grow_exponentially)
{
    same_log_init(&same);
    for (int64_t offset = 0; offset < 100000; offset++) {
        same_log_note(&same, &(struct log_witness){.offset = offset}, T0);
        for (size_t i = 1; offset > 100 && i < same.n; i++) {
            double far = (double)(offset - same.witnesses[i - 1].offset) + 1;
            double near = (double)(offset - same.witnesses[i].offset) + 1;
            cr_assert_leq(far / near, sqrt((double)offset), "offset %" PRId64, offset);
        }
    }
}

Test(same_log, a_witness_below_the_newest_is_left_out)
{
    same_log_init(&same);
    same_log_note(&same, &(struct log_witness){.offset = 7}, T0);
    same_log_note(&same, &(struct log_witness){.offset = 9}, T0);
    same_log_note(&same, &(struct log_witness){.offset = 8}, T0);
    cr_expect_eq(same.n, 2);
    expect_kept(7, 9);
}

Test(same_log, a_witness_is_noted_once)
{
    same_log_init(&same);
    for (int64_t timestamp_ms = 1; timestamp_ms < 100; timestamp_ms++)
        same_log_note(&same, &(struct log_witness){.offset = 7, .timestamp_ms = timestamp_ms}, T0);
    cr_expect_eq(same.n, 1);
    cr_expect_eq(same.witnesses[0].timestamp_ms, 99);
}

Test(same_log, an_era_forgets_the_witnesses_from_its_begin_on)
{
    size_t n = same.n;
    cut_era(1, 991);
    cr_expect_eq(same.n, n);
    cut_era(1, 990);
    cr_expect_eq(same.n, n - 1);
    cut_era(1, 1);
    expect_kept(0, 0);
    cut_era(1, 0);
    cr_expect_eq(same.n, 0);
}

Test(same_log, the_oldest_witness_stays_after_an_era_has_begun)
{
    for (int64_t kept = 0; kept < 2; kept++) {
        same_log_init(&same);
        for (int64_t offset = 0; offset < 100; offset++)
            same_log_note(&same, &(struct log_witness){.offset = offset}, T0);
        cut_era(1, kept);
        for (int64_t offset = 1; offset < 100; offset++) {
            same_log_note(&same, &(struct log_witness){.offset = offset}, T0);
            expect_kept(kept == 0 ? 1 : 0, offset);
        }
    }
}

/* Records that were read. */

static void note_record(int64_t offset, uint32_t checksum)
{
    records[offset].checksum = checksum;
    same_log_note(&same,
                  &(struct log_witness){.offset = offset,
                                        .timestamp_ms = records[offset].timestamp_ms,
                                        .is_record = true,
                                        .checksum = checksum},
                  records[offset].timestamp_ms);
}

Test(same_log, a_record_is_recognized_by_its_checksum_and_timestamp)
{
    same_log_init(&same);
    note_record(10, 1);
    note_record(500, 2);
    cr_expect_eq(search(), LOG_IS_SAME);
    records[500].checksum++;
    cr_expect_neq(search(), LOG_IS_SAME);
    records[500].checksum--;
    records[500].timestamp_ms--;
    cr_expect_neq(search(), LOG_IS_SAME);
}

Test(same_log, records_find_a_cut_without_cancels)
{
    same_log_init(&same);
    for (int64_t offset = 0; offset < 1000; offset++)
        note_record(offset, (uint32_t)offset);
    log_end = 605;
    expect_cut(605, true);
    grow(3000, T0 + 1000000, 2);
    expect_cut(605, true);
}

static char text[SAME_LOG_TEXT_MAX + 1];

static const struct bytes window = {"1 7 c", 5};

static void take_text(const char *from, size_t n)
{
    same_log_init(&same);
    same_log_decode(&same, window, bytes_text(from));
    cr_expect_eq(same.n, n, "'%s' has %zu", from, same.n);
}

Test(same_log, the_text_has_the_records_and_no_cancels)
{
    same_log_init(&same);
    cr_expect_eq(same_log_encode(&same, window, text), 0);
    note_at(10);
    cr_expect_eq(same_log_encode(&same, window, text), 0);
    note_record(400, 0xabc);
    struct log_witness last = {
        .offset = 900, .timestamp_ms = -1, .era = 255, .is_record = true, .checksum = UINT32_MAX};
    same_log_note(&same, &last, T0 + 2000);
    cr_expect_eq(same_log_encode(&same, window, text), strlen(text));
    cr_expect_str_eq(text, "1 58c5ea32 1790000002000 0:400:1a0c45070b0:abc "
                           "255:900:ffffffffffffffff:ffffffff");
    take_text(text, 2);
    const struct log_witness *first = &same.witnesses[0];
    cr_expect(first->is_record && first->offset == 400 && first->era == 0);
    cr_expect(first->timestamp_ms == records[400].timestamp_ms && first->checksum == 0xabc);
    first = &same.witnesses[1];
    cr_expect(first->is_record && first->offset == 900 && first->era == 255);
    cr_expect(first->timestamp_ms == -1 && first->checksum == UINT32_MAX);
    cr_expect_eq(same.read_ms, T0 + 2000);
}

Test(same_log, the_longest_text_fits)
{
    same_log_init(&same);
    for (int i = 0; i < SAME_LOG_WITNESSES; i++) {
        struct log_witness w = {.offset = INT64_MAX - 10 + i,
                                .timestamp_ms = -1,
                                .era = 255,
                                .is_record = true,
                                .checksum = UINT32_MAX};
        same_log_note(&same, &w, INT64_MAX);
    }
    cr_expect_leq(same_log_encode(&same, window, text), SAME_LOG_TEXT_MAX);
}

Test(same_log, a_text_that_was_committed_with_another_window_is_ignored)
{
    same_log_init(&same);
    note_record(400, 1);
    (void)same_log_encode(&same, window, text);
    same_log_init(&same);
    same_log_decode(&same, bytes_text("1 8 c"), bytes_text(text));
    cr_expect_eq(same.n, 0);
}

Test(same_log, a_cut_keeps_the_witnesses_that_were_read_behind_it)
{
    same_log_init(&same);
    for (int64_t offset = 400; offset <= 800; offset += 100)
        same_log_note(&same, &(struct log_witness){.offset = offset, .era = offset > 500 ? 2 : 0},
                      T0);
    struct eras eras;
    eras_init(&eras);
    cr_assert(eras_begin(&eras, 1, 600));
    same_log_sift(&same, &eras);
    cr_expect_eq(same.n, 5);
    cr_assert(eras_begin(&eras, 2, 500));
    same_log_sift(&same, &eras);
    cr_expect_eq(same.n, 4);
    expect_kept(400, 800);
    cr_assert(eras_begin(&eras, 3, 700));
    same_log_sift(&same, &eras);
    expect_kept(400, 600);
}

#define TEXT "1 58c5ea32 1 "

Test(same_log, a_text_of_a_later_era_replaces_the_witnesses)
{
    same_log_init(&same);
    note_at(100);
    note_at(900);
    same_log_decode(&same, window, bytes_text(TEXT "0:50:1:1 0:950:1:1"));
    expect_kept(50, 950);
    cr_expect_eq(same.n, 4);
    same_log_decode(&same, window, bytes_text(TEXT "0:70:1:1 1:800:1:1"));
    expect_kept(70, 800);
    cr_expect_eq(same.n, 2);
}

Test(same_log, a_foreign_text_is_ignored_and_a_damaged_one_from_its_fault_on)
{
    static const char *const foreign[] = {"",
                                          "1",
                                          "1 ",
                                          TEXT,
                                          "2 58c5ea32 1 0:4:1:1",
                                          "1 58c5ea33 1 0:4:1:1",
                                          "1 58c5ea32 0:4:1:1",
                                          TEXT "0:4:1",
                                          TEXT "0:4:1:",
                                          TEXT "256:4:1:1",
                                          TEXT "0:4 :1:1",
                                          TEXT "0:-4:1:1",
                                          TEXT "0:4:-1:1",
                                          TEXT "0:4:1:100000000",
                                          TEXT "0:9223372036854775808:1:1",
                                          TEXT " 0:4:1:1"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        take_text(foreign[i], 0);
    take_text(TEXT "0:4:1:1", 1);
    take_text(TEXT "0:4:1:1 0:5", 1);
    take_text(TEXT "0:4:1:1 0:5:1:1 x", 2);
}

Test(same_log, a_record_is_no_longer_one_only_because_of_its_cancel)
{
    same_log_init(&same);
    note_record(400, 1);
    note_at(400);
    cr_expect(same.n == 1 && same.witnesses[0].is_record);
    same_log_forget(&same, false);
    cr_expect_eq(same.n, 1);
    same_log_forget(&same, true);
    cr_expect_eq(same.n, 0);
}

/* Clocks of producers. */

Test(same_log, the_last_record_may_be_from_a_clock_that_is_an_hour_ahead_or_behind)
{
    for (int hours = -1; hours <= 1; hours++) {
        start();
        same_log_init(&same);
        for (int64_t offset = 0; offset < 999; offset++)
            note_record(offset, (uint32_t)offset);
        records[999].timestamp_ms = T0 + hours * 3600 * 1000;
        same_log_note(&same,
                      &(struct log_witness){.offset = 999,
                                            .timestamp_ms = records[999].timestamp_ms,
                                            .is_record = true},
                      T0 + 3000);
        log_end = 605;
        grow(3000, T0 + 20000, 2);
        expect_cut(605, true);
    }
}

Test(same_log, clocks_that_differ_by_seconds_part_no_log)
{
    same_log_init(&same);
    for (int64_t offset = 970; offset < 985; offset++)
        records[offset].timestamp_ms += 5000;
    for (int64_t offset = 0; offset < 1000; offset++)
        note_record(offset, (uint32_t)offset);
    gap(985, 1000);
    grow(2000, T0 + 100000, 1);
    cr_expect_eq(search(), LOG_IS_SAME);
    cr_expect_gt(looks, 2);
}

/* The model: the whole log is read. */

/* Makes gaps of less than a look. */
static void random_gaps(int64_t from, int64_t to)
{
    for (int64_t at = from; at < to; at += random_between(1, 400)) {
        int64_t gap_end = at + random_between(1, random_between(0, 9) ? 3 : SAME_LOG_PIECE - 1);
        gap(at, gap_end < to ? gap_end : to);
        at = gap_end + 1;
    }
}

static void random_log(void)
{
    int64_t step = random_between(1, 2000);
    log_start = log_end = random_between(0, 1) ? 0 : random_between(0, LOG_MAX / 2);
    grow(random_between(log_start + 1, LOG_MAX), T0, 1);
    random_gaps(log_start, log_end);
    same_log_init(&same);
    for (int64_t offset = log_start; offset < log_end; offset += step) {
        if (!readable[offset])
            continue;
        records[offset].names = true;
        note_at(offset);
    }
}

/* Returns the last old record's offset + 1, or the log's start. */
static int64_t first_new(int64_t cut)
{
    while (cut > log_start && !readable[cut - 1])
        cut--;
    return cut;
}

static bool has_proof(int64_t at)
{
    for (size_t i = 0; i < same.n; i++) {
        if (same.witnesses[i].offset >= log_start && same.witnesses[i].offset < at)
            return true;
    }
    return false;
}

/* Returns whether the log ends below the newest witness, or has a new record up to it. */
Test(same_log, the_record_below_a_cut_is_a_witness_of_the_next_one)
{
    struct eras eras;
    eras_init(&eras);
    log_end = 500;
    grow(1500, T0 + 1000000, 2);
    expect_cut(500, true);
    same_log_note_last(&same, &eras);
    cut_era(1, 500);
    cr_expect_eq(same_log_newest(&same)->offset, 499);
    log_end = 499;
    grow(1500, T0 + 2000000, 3);
    expect_cut(499, true);
}

Test(same_log, a_cut_just_above_a_witness_adds_none)
{
    struct eras eras;
    eras_init(&eras);
    same_log_note(&same, &(struct log_witness){.offset = 2000, .timestamp_ms = T0}, T0);
    log_end = 991;
    expect_cut(991, true);
    size_t n = same.n;
    same_log_note_last(&same, &eras);
    cr_expect_eq(same.n, n);
}

/* An entry that names a lost record may be read after newer witnesses. */
Test(same_log, the_time_of_the_last_reading_never_goes_back)
{
    int64_t read_ms = same.read_ms;
    same_log_note(&same, &(struct log_witness){.offset = 2000, .timestamp_ms = T0}, T0);
    cr_expect_eq(same.read_ms, read_ms);
    same_log_note(&same, &(struct log_witness){.offset = 2001, .timestamp_ms = T0}, read_ms + 1);
    cr_expect_eq(same.read_ms, read_ms + 1);
}

static bool is_parted(int64_t cut, int64_t newest)
{
    bool parted = newest >= log_end;
    for (int64_t offset = cut; !parted && offset <= newest; offset++)
        parted = readable[offset];
    return parted;
}

static void cut_random(void)
{
    int64_t newest = same.witnesses[same.n - 1].offset;
    int64_t cut = random_between(log_start, log_end);
    log_end = cut;
    if (random_between(0, 2)) {
        grow(random_between(cut, LOG_MAX), T0 + 1000000000, 2);
        random_gaps(cut, log_end);
    }
    if (newest < cut) {
        cr_assert_eq(search(), LOG_IS_SAME);
        cr_assert_eq(looks, 1);
        return;
    }
    if (random_between(0, 3) == 0) /* trimmed */
        log_start = random_between(log_start, cut);
    int64_t at = first_new(cut);
    if (!is_parted(cut, newest))
        cr_assert_eq(search(), LOG_IS_SAME);
    else
        expect_cut(at, has_proof(at));
}

Test(same_log, a_random_cut_is_found_in_few_looks)
{
    random_start("same_log");
    for (int round = 0; round < 2000; round++) {
        random_log();
        if (same.n > 0)
            cut_random();
    }
}
