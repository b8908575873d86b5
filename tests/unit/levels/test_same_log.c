/* SPDX-License-Identifier: Apache-2.0 */
/* same_log: a simulated log is recognized, or the place where it was cut is found. */
#include "levels/same_log.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>

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
    same_log_note(&same, &(struct log_witness){offset, record->timestamp_ms, record->print});
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
    same_log_cut(&same, same.at);
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
        same_log_note(&same, &(struct log_witness){.offset = offset});
        expect_kept(5, offset);
    }
    cr_expect_geq(same.n, SAME_LOG_WITNESSES / 2);
}

Test(same_log, witnesses_are_spread_over_the_cancels)
{
    for (int64_t n = SAME_LOG_WITNESSES; n < 5000; n++) {
        same_log_init(&same);
        for (int64_t offset = 0; offset < n; offset++)
            same_log_note(&same, &(struct log_witness){.offset = offset});
        for (size_t i = 1; i < same.n; i++)
            cr_assert_leq(same.witnesses[i].offset - same.witnesses[i - 1].offset,
                          n / (SAME_LOG_WITNESSES / 4), "%d cancels", (int)n);
    }
}

Test(same_log, a_witness_below_the_newest_is_left_out)
{
    same_log_init(&same);
    same_log_note(&same, &(struct log_witness){.offset = 7});
    same_log_note(&same, &(struct log_witness){.offset = 9});
    same_log_note(&same, &(struct log_witness){.offset = 8});
    cr_expect_eq(same.n, 2);
    expect_kept(7, 9);
}

Test(same_log, a_witness_is_noted_once)
{
    same_log_init(&same);
    for (int64_t timestamp_ms = 1; timestamp_ms < 100; timestamp_ms++)
        same_log_note(&same, &(struct log_witness){.offset = 7, .timestamp_ms = timestamp_ms});
    cr_expect_eq(same.n, 1);
    cr_expect_eq(same.witnesses[0].timestamp_ms, 99);
}

Test(same_log, an_era_forgets_the_witnesses_from_its_begin_on)
{
    size_t n = same.n;
    same_log_cut(&same, 991);
    cr_expect_eq(same.n, n);
    same_log_cut(&same, 990);
    cr_expect_eq(same.n, n - 1);
    same_log_cut(&same, 1);
    expect_kept(0, 0);
    same_log_cut(&same, 0);
    cr_expect_eq(same.n, 0);
}

Test(same_log, the_oldest_witness_stays_after_an_era_has_begun)
{
    for (int64_t kept = 0; kept < 2; kept++) {
        same_log_init(&same);
        for (int64_t offset = 0; offset < 100; offset++)
            same_log_note(&same, &(struct log_witness){.offset = offset});
        same_log_cut(&same, kept);
        for (int64_t offset = 1; offset < 100; offset++) {
            same_log_note(&same, &(struct log_witness){.offset = offset});
            expect_kept(kept == 0 ? 1 : 0, offset);
        }
    }
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
