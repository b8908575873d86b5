/* SPDX-License-Identifier: Apache-2.0 */
/* dead_record: the fields of a dead-lettered record, its source, and the filter of the commands. */
#include "levels/dead_record.h"

#include <criterion/criterion.h>

#define H(name, literal)  ((struct header){name, {literal, sizeof literal - 1}})
#define COUNT(...)        (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define READ(letter, ...) read_n(letter, (struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

enum { STAMPED_MS = 5000 };

static bool read_n(struct dead_record *letter, const struct header *headers, size_t n)
{
    struct record record = {.timestamp_ms = STAMPED_MS, .headers = headers, .headers_n = n};
    const struct request_rules rules = {.default_target = "fallback",
                                        .compat = COMPAT_BIT(COMPAT_ETF1)};
    return dead_record_read(&record, &rules, letter);
}

static bool is(struct bytes bytes, const char *text)
{
    return bytes_equal(bytes, bytes_text(text));
}

Test(dead_record, fields_come_from_the_headers_of_the_bridge)
{
    struct dead_record letter;
    cr_assert(READ(&letter, H("dlb-target", "orders"), H("dlb-error", "too_far"),
                   H("dlb-reason", "why"), H("dlb-source", "S/3/17"), H("dlb-sent-at", "1000"),
                   H("dlb-failed-at", "2000"), H("dlb-truncated", "value")));
    cr_expect(is(letter.code, "too_far") && is(letter.reason, "why"));
    cr_expect(is(letter.source, "S/3/17") && is(letter.target, "orders"));
    cr_expect_eq(letter.sent_wall_ms, 1000);
    cr_expect_eq(letter.failed_wall_ms, 2000);
    cr_expect(is(letter.truncated, "value"));
}

Test(dead_record, absent_headers_have_defaults)
{
    struct dead_record letter;
    cr_assert(READ(&letter, H("dlb-error", "no_time"), H("dlb-source", "S/0/0")));
    cr_expect(is(letter.target, "fallback"));
    cr_expect(bytes_is_null(letter.reason) && bytes_is_null(letter.truncated));
    cr_expect_eq(letter.sent_wall_ms, DEAD_RECORD_UNKNOWN_MS);
    cr_expect_eq(letter.failed_wall_ms, STAMPED_MS);
}

Test(dead_record, bare_record_has_no_known_target)
{
    struct dead_record letter;
    cr_assert(READ(&letter, H("dlb-error", "too_large"), H("dlb-source", "S/0/0"),
                   H("dlb-truncated", "all")));
    cr_expect(bytes_is_null(letter.target));
}

Test(dead_record, last_header_of_a_name_counts)
{
    struct dead_record letter;
    cr_assert(READ(&letter, H("dlb-error", "forged"), H("dlb-source", "S/9/9"),
                   H("dlb-error", "bad_op"), H("dlb-source", "S/1/2")));
    cr_expect(is(letter.code, "bad_op") && is(letter.source, "S/1/2"));
}

Test(dead_record, record_of_another_writer_is_not_one)
{
    struct dead_record letter;
    cr_expect_not(READ(&letter, H("dlb-error", "bad_op")));
    cr_expect_not(READ(&letter, H("dlb-source", "S/0/0")));
    cr_expect_not(READ(&letter, H("dlb-error", ""), H("dlb-source", "S/0/0")));
    cr_expect_not(read_n(&letter, NULL, 0));
}

Test(dead_record, malformed_times_count_as_absent)
{
    static const char *const TIMES[] = {"", "-1", "1x", " 1", "9223372036854775808"};
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        struct dead_record letter;
        struct header time = {"dlb-sent-at", bytes_text(TIMES[i])};
        cr_assert(READ(&letter, H("dlb-error", "e"), H("dlb-source", "S/0/0"), time));
        cr_expect_eq(letter.sent_wall_ms, DEAD_RECORD_UNKNOWN_MS, "%s", TIMES[i]);
    }
}

Test(dead_record, source_is_read_only_on_the_schedule_topic)
{
    int lane = -1;
    int64_t offset = -1;
    struct dead_record letter = {.source = bytes_text("my.S/12/9000000000")};
    cr_assert(dead_record_source(&letter, "my.S", &lane, &offset));
    cr_expect_eq(lane, 12);
    cr_expect_eq(offset, 9000000000);
    static const char *const OTHERS[] = {
        "S/1/2",    "my.S.1s/1/2", "my.S/1", "my.S/1/", "my.S//2", "my.S/1/2/3",       "my.S/-1/2",
        "my.S/1/x", "my.S/1/2 ",   "",       "/",       "//",      "my.S/2147483648/1"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        letter.source = bytes_text(OTHERS[i]);
        cr_expect_not(dead_record_source(&letter, "my.S", &lane, &offset), "%s", OTHERS[i]);
    }
}

Test(dead_record, cancel_and_replace_are_operations)
{
    const struct header cancel = H("dlb-op", "cancel"), replace = H("dlb-op", "replace"),
                        schedule = H("dlb-op", "schedule");
    struct record record = {.headers = &cancel, .headers_n = 1};
    cr_expect(dead_record_is_operation(&record, COMPAT_ALL));
    record.headers = &replace;
    cr_expect(dead_record_is_operation(&record, COMPAT_ALL));
    record.headers = &schedule;
    cr_expect_not(dead_record_is_operation(&record, COMPAT_ALL));
    record.headers_n = 0;
    cr_expect_not(dead_record_is_operation(&record, COMPAT_ALL));
}

Test(dead_record, foreign_headers_may_be_an_operation)
{
    const struct header etf1[] = {H("scheduler-epoch", "1795219200"), H("dlb-op", "schedule")},
                        rabbitmq = H("x-delay", "5");
    struct record record = {.value = bytes_text("v"), .headers = etf1, .headers_n = 1};
    cr_expect(dead_record_is_operation(&record, COMPAT_ALL));
    cr_expect_not(dead_record_is_operation(&record, 0));
    cr_expect_not(dead_record_is_operation(&record, COMPAT_BIT(COMPAT_KARAFKA)));
    record.headers_n = 2;
    cr_expect_not(dead_record_is_operation(&record, COMPAT_ALL), "dlb-op precedes");
    record.headers = &rabbitmq;
    record.headers_n = 1;
    cr_expect_not(dead_record_is_operation(&record, COMPAT_ALL));
}

Test(dead_record, target_of_foreign_headers_precedes_the_default_target)
{
    struct dead_record letter;
    READ(&letter, H("scheduler-target-topic", "orders"), H("scheduler-epoch", "x"));
    cr_expect(is(letter.target, "orders"));
    READ(&letter, H("scheduler-target-topic", "orders"), H("dlb-target", "payments"));
    cr_expect(is(letter.target, "payments"));
    READ(&letter, H("scheduler-target-topic", "orders"), H("dlb-truncated", "value"));
    cr_expect(is(letter.target, "orders"), "a null value is not a cancel here");
    READ(&letter, H("schedule_target_topic", "orders"));
    cr_expect(is(letter.target, "fallback"), "its format is off");
}

static const struct dead_filter ALL = {.since_wall_ms = INT64_MIN, .until_wall_ms = INT64_MAX};
static const char *const AB[] = {"a", "b"}, *const BAA[] = {"b", "a", "a"}, *const C[] = {"c"};

Test(dead_record, filter_selects_by_code_target_and_time)
{
    struct dead_record letter = {
        .code = bytes_text("a"), .target = bytes_text("c"), .failed_wall_ms = 1000};
    cr_expect(dead_filter_selects(&ALL, &letter));
    struct dead_filter filter = ALL;
    filter.codes = AB;
    filter.codes_n = 2;
    filter.targets = C;
    filter.targets_n = 1;
    cr_expect(dead_filter_selects(&filter, &letter));
    letter.code = bytes_text("c");
    cr_expect_not(dead_filter_selects(&filter, &letter));
    letter.code = bytes_text("b");
    letter.target = bytes_null();
    cr_expect_not(dead_filter_selects(&filter, &letter));
    letter.target = bytes_text("c");
    filter.since_wall_ms = 1000;
    filter.until_wall_ms = 1001;
    cr_expect(dead_filter_selects(&filter, &letter));
    filter.since_wall_ms = 1001;
    cr_expect_not(dead_filter_selects(&filter, &letter));
    filter.since_wall_ms = 0;
    filter.until_wall_ms = 1000;
    cr_expect_not(dead_filter_selects(&filter, &letter));
}

Test(dead_record, hash_depends_on_the_sets_alone)
{
    struct dead_filter codes = ALL, reordered = ALL, targets = ALL, since = ALL, until = ALL;
    codes.codes = targets.targets = AB;
    codes.codes_n = targets.targets_n = 2;
    reordered.codes = BAA;
    reordered.codes_n = 3;
    since.since_wall_ms = until.until_wall_ms = 1;
    cr_expect_eq(dead_filter_hash(&codes), dead_filter_hash(&reordered));
    const struct dead_filter *const different[] = {&ALL, &codes, &targets, &since, &until};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(dead_filter_hash(different[i]), dead_filter_hash(different[k]), "%zu %zu",
                          i, k);
}

/* Programs of other versions find the progress under the same name. */
Test(dead_record, hash_never_changes)
{
    struct dead_filter filter = ALL;
    cr_expect_eq(dead_filter_hash(&filter), 0xa8942b9fcca709b5, "%llx",
                 (long long)dead_filter_hash(&filter));
    filter.codes = AB;
    filter.codes_n = 2;
    cr_expect_eq(dead_filter_hash(&filter), 0x7111242dcc254c33, "%llx",
                 (long long)dead_filter_hash(&filter));
}
