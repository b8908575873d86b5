/* SPDX-License-Identifier: Apache-2.0 */
/* request: the fields of a request, each reason to refuse it, and the order of these reasons. */
#include "levels/request.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t STAMPED = 1795219200000; /* 2026-11-21T00:00:00Z */
static const int64_t NOW = 1795219207000;
static const int64_t DAY = 86400000;

static const char *const PATTERNS[] = {"orders.*", "a"};

static struct retry_policy POLICIES[] = {
    {.name = (char *)"fast", .first_ms = 60000, .longest_ms = 60000, .factor = 2, .attempts = 3}};

static const struct request_rules RULES = {
    .retry = POLICIES,
    .retry_n = 1,
    .allowlist = {PATTERNS, 2, "schedule"},
    .default_target = "orders.timeout",
    .max_delay_ms = (int64_t)40 * 86400000,
};

struct outcome {
    enum code code;
    struct stamp stamp;
    struct refusal refusal;
};

/* A header with the bytes of a literal. */
#define H(name, literal) ((struct header){name, {literal, sizeof literal - 1}})
#define H_NULL(name)     ((struct header){name, {NULL, 0}})
#define DELAY            H("dlb-delay", "1m")

static bool is_utf8(const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    while (*at != 0) {
        int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
        if (more < 0)
            return false;
        for (at++; more > 0; more--, at++)
            if ((*at & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static struct outcome parse_under(const struct request_rules *rules, const struct record *record)
{
    struct outcome o;
    memset(&o, 0x5a, sizeof o);
    o.code = request_parse(rules, 7, record, NOW, &o.stamp, &o.refusal);
    if (o.code == CODE_OK)
        return o;
    cr_assert_eq(o.refusal.code, o.code);
    cr_assert(memchr(o.refusal.reason, '\0', REASON_MAX) != NULL, "no terminator");
    cr_assert(strlen(o.refusal.reason) > 10 && is_utf8(o.refusal.reason), "%s", o.refusal.reason);
    return o;
}

static struct outcome parse_n(const struct header *headers, size_t n)
{
    struct record record = {.offset = 4711,
                            .timestamp_ms = STAMPED,
                            .key = bytes_text("k"),
                            .value = bytes_text("v"),
                            .headers = headers,
                            .headers_n = n};
    return parse_under(&RULES, &record);
}

#define COUNT(...) (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define PARSE(...) parse_n((struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

#define EXPECT_CODE(want, ...)                                     \
    do {                                                           \
        struct outcome o_ = PARSE(__VA_ARGS__);                    \
        cr_expect_eq(o_.code, want, "%s: %s", code_name(o_.code),  \
                     o_.code != CODE_OK ? o_.refusal.reason : ""); \
    } while (0)

#define EXPECT_REASON(want, ...)                   \
    do {                                           \
        struct outcome o_ = PARSE(__VA_ARGS__);    \
        cr_assert_neq(o_.code, CODE_OK);           \
        cr_expect_str_eq(o_.refusal.reason, want); \
    } while (0)

static void expect_bytes(struct bytes got, const char *want)
{
    cr_expect(bytes_equal(got, bytes_text(want)), "not '%s'", want);
}

Test(request, delay_counts_from_the_records_timestamp)
{
    struct outcome o = PARSE(H("dlb-delay", "1h30m"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 5400000);
    cr_expect_eq(o.stamp.timestamp_ms, STAMPED);
    cr_expect_eq(o.stamp.expires_ms, STAMP_NEVER);
    cr_expect_eq(o.stamp.next_try_ms, 0);
    cr_expect_eq(o.stamp.attempt, 0);
    cr_expect_eq(o.stamp.origin_offset, 4711);
    cr_expect_eq(o.stamp.origin_lane, 7);
    cr_expect_not(o.stamp.key_overridden);
    cr_expect(bytes_is_null(o.stamp.id));
    expect_bytes(o.stamp.target, "orders.timeout");
}

Test(request, delay_counts_from_now_if_the_record_has_no_timestamp)
{
    struct record record = {.timestamp_ms = -1, .headers = &DELAY, .headers_n = 1};
    struct outcome o = parse_under(&RULES, &record);
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.due_ms, NOW + 60000);
    cr_expect_eq(o.stamp.timestamp_ms, NOW);
    record.timestamp_ms = 0;
    cr_expect_eq(parse_under(&RULES, &record).stamp.due_ms, 60000, "1970 is a timestamp");
}

Test(request, stamp_has_all_fields_of_the_request)
{
    struct outcome o =
        PARSE(H("dlb-expires-at", "2026-11-21T10:00:00+01:00"), H("x", "1"), H("dlb-id", "o-1"),
              H("dlb-key", "other"), H("dlb-target", "orders.eu"), H("dlb-op", "schedule"),
              H("dlb-deliver-at", "2026-11-21T08:00:00.2501Z"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 8 * 3600000 + 251);
    cr_expect_eq(o.stamp.expires_ms, STAMPED + 9 * 3600000);
    cr_expect(o.stamp.key_overridden);
    expect_bytes(o.stamp.id, "o-1");
    expect_bytes(o.stamp.key, "other");
    expect_bytes(o.stamp.target, "orders.eu");
}

Test(request, instant_may_be_an_epoch)
{
    struct outcome o = PARSE(H("dlb-deliver-at", "1795219200250"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 250);
}

Test(request, due_in_the_past_is_kept)
{
    struct outcome o = PARSE(H("dlb-deliver-at", "2001-01-01T00:00:00Z"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.due_ms, 978307200000);
    cr_expect_eq(PARSE(H("dlb-delay", "0s")).stamp.due_ms, STAMPED);
}

Test(request, key_may_be_null_empty_or_any_bytes)
{
    struct outcome o = PARSE(DELAY, H_NULL("dlb-key"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect(o.stamp.key_overridden && bytes_is_null(o.stamp.key));
    o = PARSE(DELAY, H("dlb-key", ""));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect(o.stamp.key_overridden && !bytes_is_null(o.stamp.key) && o.stamp.key.len == 0);
    o = PARSE(DELAY, H("dlb-key", "\xff\x00\xfe"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect(bytes_equal(o.stamp.key, bytes_of("\xff\x00\xfe", 3)));
}

Test(request, user_headers_are_ignored)
{
    EXPECT_CODE(CODE_OK, H_NULL("x"), H("", "y"), H("x", "\xff"), DELAY, H("d", ""), H("dl", ""),
                H("dlb", "x"), H("dlb_delay", "x"), H("DLB", ""), H("xdlb-delay", ""));
}

Test(request, headers_of_the_bridge_are_ignored_in_any_number)
{
    EXPECT_CODE(CODE_OK, H("dlb-due", "5"), H_NULL("dlb-source"), H("dlb-error", ""), DELAY,
                H("dlb-reason", "\xff"), H("dlb-failed-at", "x"), H("dlb-due", "6"),
                H_NULL("dlb-source"), H("dlb-error", ""), H("dlb-reason", ""),
                H("dlb-sent-at", "x"), H_NULL("dlb-sent-at"));
}

Test(request, incomplete_dead_letter_cannot_be_sent_again)
{
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H("dlb-truncated", "value"));
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H("dlb-truncated", "all"));
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H("dlb-truncated", ""));
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H_NULL("dlb-truncated"));
    EXPECT_CODE(CODE_BAD_HEADER,
                H("dlb-truncated", "value")); /* reported before the missing time */
}

Test(request, verdict_has_the_five_headers_of_every_dead_letter)
{
    cr_expect(header_is_of_dead_letter("dlb-error"));
    cr_expect(header_is_of_dead_letter("dlb-reason"));
    cr_expect(header_is_of_dead_letter("dlb-source"));
    cr_expect(header_is_of_dead_letter("dlb-sent-at"));
    cr_expect(header_is_of_dead_letter("dlb-failed-at"));
    static const char *const OTHERS[] = {"dlb-due",    "dlb-delay",  "Dlb-Error", "dlb-errors",
                                         "dlb-failed", "dlb-",       "d",         "",
                                         "error",      "DLB-REASON", "dlb-err",   "dlb-truncated"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        cr_expect_not(header_is_of_dead_letter(OTHERS[i]), "%s", OTHERS[i]);
}

Test(request, unknown_header_is_refused)
{
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H("dlb-dealy", "1s"));
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H("dlb-", "1s"));
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H("DLB-x", "1s"));
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H_NULL("dLb-"));
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H("dlb-delay2", "1s"));
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H("dlb-dela", "1s"));
    EXPECT_CODE(CODE_UNKNOWN_HEADER, DELAY, H("dlb-d\xc5\x8dlay", "1s"));
}

Test(request, known_header_is_given_once)
{
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, DELAY);
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H("dlb-key", "a"), H_NULL("dlb-key"));
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H_NULL("dlb-key"), H_NULL("dlb-key"));
    EXPECT_CODE(CODE_BAD_HEADER, DELAY, H("dlb-op", "schedule"), H("dlb-op", "schedule"));
}

Test(request, case_variant_of_a_known_header_is_refused)
{
    static const char *const NAMES[] = {
        "DLB-Target",     "Dlb-delay",   "dlb-Key",      "dlb-iD",    "DLB-OP",
        "dlb-EXPIRES-AT", "dlb-DUE",     "dlB-source",   "dlb-Error", "DLB-reason",
        "dlb-failed-At",  "dlb-SENT-at", "dlb-Truncated"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        EXPECT_CODE(CODE_BAD_HEADER, DELAY, (struct header){NAMES[i], {"x", 1}});
}

Test(request, null_empty_and_non_utf8_headers_are_refused)
{
    static const char *const NAMES[] = {"dlb-deliver-at", "dlb-delay", "dlb-target",
                                        "dlb-id",         "dlb-op",    "dlb-expires-at"};
    static const struct bytes VALUES[] = {
        {NULL, 0},
        {"", 0},
        {"\xff", 1},
        {"a\x80", 2},
        {"\xc0\xb1", 2},
        {"\xc1\xbf", 2},
        {"\xe9\x94", 2},
        {"\xe0\x9f\xbf", 3},
        {"\xed\xa0\x80", 3},
        {"\xed\xbf\xbf", 3},
        {"\xf0\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 4},
        {"\xc3\x28", 2},
        {"\xf5\x80\x80\x80", 4},
        {"\xf8\x88\x80\x80\x80", 5},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        for (size_t k = 0; k < sizeof VALUES / sizeof VALUES[0]; k++)
            EXPECT_CODE(CODE_BAD_HEADER, (struct header){NAMES[i], VALUES[k]});
    EXPECT_CODE(CODE_OK, DELAY, H("dlb-id", "\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80"));
    EXPECT_CODE(CODE_OK, DELAY, H("dlb-id", "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"));
}

Test(request, schedule_is_the_only_operation)
{
    EXPECT_CODE(CODE_BAD_OP, DELAY, H("dlb-op", "cancel"));
    EXPECT_CODE(CODE_BAD_OP, H("dlb-id", "a"), H("dlb-op", "cancel"));
    EXPECT_CODE(CODE_BAD_OP, DELAY, H("dlb-op", "replace"), H("dlb-id", "a"));
    EXPECT_CODE(CODE_BAD_OP, DELAY, H("dlb-op", "Schedule"));
    EXPECT_CODE(CODE_BAD_OP, DELAY, H("dlb-op", "schedule "));
    EXPECT_CODE(CODE_BAD_OP, DELAY, H("dlb-op", "schedule\0"));
    EXPECT_CODE(CODE_BAD_OP, DELAY, H("dlb-op", "sched"));
}

/* Parses headers under rules that accept cancels. */
static struct outcome parse_op(struct bytes key, const struct header *headers, size_t n)
{
    struct request_rules rules = RULES;
    rules.cancels = true;
    struct record record = {
        .offset = 4711, .timestamp_ms = STAMPED, .key = key, .headers = headers, .headers_n = n};
    return parse_under(&rules, &record);
}

#define PARSE_OP(key, ...)                              \
    parse_op(key, (const struct header[]){__VA_ARGS__}, \
             sizeof((const struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define CANCEL  H("dlb-op", "cancel")
#define REPLACE H("dlb-op", "replace")

Test(request, a_cancel_has_a_name_alone)
{
    struct bytes key = bytes_text("k");
    struct outcome o = PARSE_OP(key, CANCEL);
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.op, REQUEST_CANCEL);
    cr_expect(bytes_is_null(o.stamp.id) && o.stamp.origin_offset == 4711);
    o = PARSE_OP(key, CANCEL, H("dlb-id", "a"), H("dlb-due", "1"), H("trace", "x"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect(bytes_equal(o.stamp.id, bytes_text("a")));
    const struct header others[] = {DELAY, H("dlb-deliver-at", "1"), H("dlb-target", "orders.eu"),
                                    H_NULL("dlb-key"), H("dlb-expires-at", "1")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = PARSE_OP(key, CANCEL, others[i]);
        cr_expect_eq(o.code, CODE_BAD_OP, "%s", others[i].name);
        cr_expect(strstr(o.refusal.reason, others[i].name) != NULL, "%s", o.refusal.reason);
    }
    o = PARSE_OP(key, CANCEL, H("dlb-delay", "5m"));
    cr_expect(strstr(o.refusal.reason, "'cancel' takes dlb-id alone, and not dlb-delay '5m'") !=
                  NULL,
              "%s", o.refusal.reason);
}

Test(request, a_cancel_or_replace_needs_a_key_and_a_name)
{
    static const char long_key[129] = {'k'};
    cr_expect_eq(PARSE_OP(bytes_null(), CANCEL, H("dlb-id", "a")).code, CODE_BAD_ID);
    cr_expect_eq(PARSE_OP(bytes_null(), REPLACE, DELAY, H("dlb-id", "a")).code, CODE_BAD_ID);
    cr_expect_eq(PARSE_OP(bytes_of("", 0), CANCEL).code, CODE_BAD_ID);
    cr_expect_eq(PARSE_OP(bytes_of("", 0), CANCEL, H("dlb-id", "a")).code, CODE_OK);
    cr_expect_eq(PARSE_OP(bytes_of(long_key, 128), CANCEL).code, CODE_OK);
    cr_expect_eq(PARSE_OP(bytes_of(long_key, 129), CANCEL).code, CODE_BAD_ID);
    cr_expect_eq(PARSE_OP(bytes_of(long_key, 129), REPLACE, DELAY, H("dlb-id", "a")).code, CODE_OK);
}

Test(request, a_replace_is_a_request)
{
    struct outcome o = PARSE_OP(bytes_text("k"), REPLACE, DELAY);
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.op, REQUEST_REPLACE);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 60000);
    cr_expect_eq(PARSE_OP(bytes_text("k"), REPLACE).code, CODE_NO_TIME);
    cr_expect_eq(PARSE_OP(bytes_text("k"), H("dlb-op", "Cancel")).code, CODE_BAD_OP);
}

Test(request, a_replace_that_is_denied_voids_and_one_of_wrong_form_does_not)
{
    struct outcome o = PARSE_OP(bytes_text("k"), REPLACE, DELAY, H("dlb-target", "payroll"));
    cr_assert_eq(o.code, CODE_TARGET_DENIED);
    cr_expect(request_voids(o.code, &o.stamp));
    o = PARSE_OP(bytes_text("k"), REPLACE, H("dlb-delay", "x"));
    cr_assert_eq(o.code, CODE_BAD_TIME);
    cr_expect_not(request_voids(o.code, &o.stamp));
    o = PARSE_OP(bytes_text("k"), DELAY, H("dlb-target", "payroll"));
    cr_expect_not(request_voids(o.code, &o.stamp));
    o = PARSE_OP(bytes_text("k"), CANCEL);
    cr_expect(request_voids(o.code, &o.stamp));
    const struct header headers[] = {DELAY, CANCEL};
    struct record with = {.headers = headers, .headers_n = 2},
                  without = {.headers = headers, .headers_n = 1};
    cr_expect(request_has_op(&RULES, &with) && !request_has_op(&RULES, &without));
}

static struct outcome parse_tombstone(struct bytes key, bool cancels, const struct header *headers,
                                      size_t n)
{
    struct request_rules rules = RULES;
    rules.cancels = true;
    rules.cancel_on_tombstone = cancels;
    struct record record = {
        .offset = 4711, .timestamp_ms = STAMPED, .key = key, .headers = headers, .headers_n = n};
    cr_expect_eq(request_has_op(&rules, &record), cancels);
    return parse_under(&rules, &record);
}

#define TOMBSTONE(...) parse_tombstone(bytes_text("k"), true, ONE_LIST(__VA_ARGS__))
#define ONE_LIST(...)  (struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__)

Test(request, a_null_value_without_a_time_cancels_if_the_rules_say_so)
{
    struct outcome o = TOMBSTONE(H("trace", "x"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect(o.stamp.op == REQUEST_CANCEL && bytes_is_null(o.stamp.id));
    cr_expect(request_voids(o.code, &o.stamp));
    o = TOMBSTONE(H("dlb-id", "a"));
    cr_expect(o.code == CODE_OK && bytes_equal(o.stamp.id, bytes_text("a")));
    o = parse_tombstone(bytes_text("k"), false, ONE_LIST(H("trace", "x")));
    cr_expect_eq(o.code, CODE_NO_TIME);
}

Test(request, a_null_value_with_a_time_or_an_operation_stays_a_request)
{
    const struct header times[] = {DELAY, H("dlb-deliver-at", "1900000000000")};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct outcome o = TOMBSTONE(times[i]);
        cr_expect(o.code != CODE_BAD_OP && o.stamp.op == REQUEST_SCHEDULE, "%s", times[i].name);
    }
    cr_expect_eq(TOMBSTONE(H("dlb-op", "schedule")).code, CODE_NO_TIME);
}

Test(request, a_null_value_that_cancels_needs_a_key_and_takes_no_target)
{
    struct outcome o = TOMBSTONE(H("dlb-target", "payroll"));
    cr_expect_eq(o.code, CODE_BAD_OP);
    cr_expect(strstr(o.refusal.reason, "dlb-target 'payroll'") != NULL, "%s", o.refusal.reason);
    o = parse_tombstone(bytes_null(), true, ONE_LIST(H("trace", "x")));
    cr_expect_eq(o.code, CODE_BAD_ID);
    cr_expect(strstr(o.refusal.reason, "cancel_on_tombstone") != NULL, "%s", o.refusal.reason);
    char target[256];
    memset(target, 1, sizeof target); /* each byte is four in the reason */
    o = TOMBSTONE({"dlb-target", {target, sizeof target}});
    cr_expect_eq(o.code, CODE_BAD_OP);
}

Test(request, id_has_128_bytes_at_most)
{
    char id[129];
    memset(id, 'i', sizeof id);
    EXPECT_CODE(CODE_OK, DELAY, (struct header){"dlb-id", {id, 1}});
    EXPECT_CODE(CODE_OK, DELAY, (struct header){"dlb-id", {id, 128}});
    EXPECT_CODE(CODE_BAD_ID, DELAY, (struct header){"dlb-id", {id, 129}});
}

Test(request, exactly_one_time_is_given)
{
    EXPECT_CODE(CODE_NO_TIME, H("x", "1"));
    EXPECT_CODE(CODE_NO_TIME, H("dlb-expires-at", "1795219200250"));
    EXPECT_CODE(CODE_TWO_TIMES, DELAY, H("dlb-deliver-at", "1795219200250"));
    EXPECT_CODE(CODE_TWO_TIMES, H("dlb-deliver-at", "never"), H("dlb-delay", "x"));
    cr_expect_eq(parse_n(NULL, 0).code, CODE_NO_TIME);
}

Test(request, each_time_is_in_its_grammar)
{
    EXPECT_CODE(CODE_BAD_TIME, H("dlb-delay", "15"));
    EXPECT_CODE(CODE_BAD_TIME, H("dlb-delay", "1795219200250"));
    EXPECT_CODE(CODE_BAD_TIME, H("dlb-deliver-at", "15m"));
    EXPECT_CODE(CODE_BAD_TIME, H("dlb-deliver-at", "1795219200"));
    EXPECT_CODE(CODE_BAD_TIME, DELAY, H("dlb-expires-at", "1h"));
    EXPECT_CODE(CODE_BAD_TIME, DELAY, H("dlb-expires-at", "1795219200"));
    EXPECT_CODE(CODE_BAD_TIME, H("dlb-delay", "9223372036854775808ms"));
    EXPECT_CODE(CODE_BAD_TIME, H("dlb-deliver-at", "9223372036854775808"));
}

Test(request, due_is_at_most_max_delay_after_the_timestamp)
{
    EXPECT_CODE(CODE_OK, H("dlb-delay", "40d"));
    EXPECT_CODE(CODE_TOO_FAR, H("dlb-delay", "40d1ms"));
    EXPECT_CODE(CODE_OK, H("dlb-deliver-at", "2026-12-31T00:00:00Z"));
    EXPECT_CODE(CODE_TOO_FAR, H("dlb-deliver-at", "2026-12-31T00:00:00.001Z"));
    EXPECT_CODE(CODE_TOO_FAR, H("dlb-deliver-at", "2026-12-31T00:00:00.0000001Z"));
    EXPECT_CODE(CODE_TOO_FAR, H("dlb-deliver-at", "9223372036854775807"));
    EXPECT_CODE(CODE_TOO_FAR, H("dlb-delay", "9223372036854775807ms"));
}

Test(request, sums_beyond_64_bits_are_too_far)
{
    struct header header = H("dlb-delay", "1s");
    struct record record = {.timestamp_ms = INT64_MAX - 999, .headers = &header, .headers_n = 1};
    cr_expect_eq(parse_under(&RULES, &record).code, CODE_TOO_FAR);
    record.timestamp_ms = INT64_MAX - 1000;
    cr_expect_eq(parse_under(&RULES, &record).code, CODE_OK);
    struct request_rules rules = RULES;
    rules.max_delay_ms = INT64_MAX;
    header = H("dlb-delay", "9223372036854775807ms");
    cr_expect_eq(parse_under(&rules, &record).code, CODE_TOO_FAR);
    header = H("dlb-deliver-at", "9223372036854775807");
    cr_expect_eq(parse_under(&rules, &record).code, CODE_OK);
}

Test(request, expiry_before_due_is_refused)
{
    EXPECT_CODE(CODE_OK, H("dlb-delay", "1h"), H("dlb-expires-at", "2026-11-21T01:00:00Z"));
    EXPECT_CODE(CODE_EXPIRED, H("dlb-delay", "1h"),
                H("dlb-expires-at", "2026-11-21T00:59:59.999Z"));
    EXPECT_CODE(CODE_EXPIRED, H("dlb-deliver-at", "2026-11-21T01:00:00Z"),
                H("dlb-expires-at", "1795219200000"));
    EXPECT_CODE(CODE_OK, DELAY, H("dlb-expires-at", "9223372036854775807"));
    EXPECT_CODE(CODE_OK, H("dlb-deliver-at", "2001-01-01T00:00:00Z"),
                H("dlb-expires-at", "2001-01-01T00:00:01Z"));
}

Test(request, target_or_a_default_is_needed)
{
    struct request_rules rules = RULES;
    rules.default_target = NULL;
    struct header headers[] = {DELAY, H("dlb-target", "a")};
    struct record record = {.timestamp_ms = STAMPED, .headers = headers, .headers_n = 1};
    cr_expect_eq(parse_under(&rules, &record).code, CODE_NO_TARGET);
    record.headers_n = 2;
    cr_expect_eq(parse_under(&rules, &record).code, CODE_OK);
}

Test(request, headers_that_cannot_be_parsed_are_not_absent)
{
    struct record record = {.timestamp_ms = STAMPED, .headers_unreadable = true};
    struct outcome o = parse_under(&RULES, &record);
    cr_expect_eq(o.code, CODE_BAD_HEADER);
    cr_expect_str_eq(o.refusal.reason,
                     "its headers cannot be parsed: more than 100,000, or damaged");
}

Test(request, target_must_be_allowed)
{
    EXPECT_CODE(CODE_OK, DELAY, H("dlb-target", "a"));
    EXPECT_CODE(CODE_TARGET_DENIED, DELAY, H("dlb-target", "b"));
    EXPECT_CODE(CODE_TARGET_DENIED, DELAY, H("dlb-target", "orders. x"));
    EXPECT_CODE(CODE_TARGET_DENIED, DELAY, H("dlb-target", "a\0x"));
    EXPECT_CODE(CODE_TARGET_DENIED, DELAY, H("dlb-target", "schedule.1m"));
    struct request_rules rules = RULES;
    rules.default_target = "b";
    struct record record = {.timestamp_ms = STAMPED, .headers = &DELAY, .headers_n = 1};
    struct outcome o = parse_under(&rules, &record);
    cr_expect_str_eq(o.refusal.reason,
                     "default_target 'b' is not allowed by targets of the configuration");
}

Test(request, reason_is_a_sentence_about_the_value)
{
    EXPECT_REASON("header 'dlb-dealy' is not known, and dlb- is reserved; its value is '1s'",
                  H("dlb-dealy", "1s"));
    EXPECT_REASON("header 'DLB-Delay' must be in lower case; its value is '1s'",
                  H("DLB-Delay", "1s"));
    EXPECT_REASON("header 'dlb-delay' is given twice; its value is '1m'", DELAY, DELAY);
    EXPECT_REASON("header 'dlb-delay' is null", H_NULL("dlb-delay"));
    EXPECT_REASON("header 'dlb-delay' is empty", H("dlb-delay", ""));
    EXPECT_REASON("header 'dlb-id' is not UTF-8; its value is 'a\\xff'", H("dlb-id", "a\xff"));
    EXPECT_REASON("dlb-op 'cancel' is not in this version, which knows schedule alone",
                  H("dlb-op", "cancel"));
    EXPECT_REASON("dlb-op 'x' is not an operation; this version knows schedule alone",
                  H("dlb-op", "x"));
    EXPECT_REASON("none of dlb-deliver-at, dlb-delay and dlb-retry is given", H("x", "y"));
    EXPECT_REASON("dlb-deliver-at 'x' and dlb-delay '1m' are both given: give one of them", DELAY,
                  H("dlb-deliver-at", "x"));
    EXPECT_REASON("dlb-delay '15' has no unit; 250ms, 15m, 1h30m or PT15M is meant",
                  H("dlb-delay", "15"));
    EXPECT_REASON("dlb-delay '1w' is not a duration such as 250ms, 15m, 1h30m or PT15M",
                  H("dlb-delay", "1w"));
    EXPECT_REASON("dlb-expires-at '1795219200' is not an epoch in milliseconds (seconds by "
                  "mistake?)",
                  DELAY, H("dlb-expires-at", "1795219200"));
    EXPECT_REASON("dlb-deliver-at 'soon' is not an instant: epoch milliseconds, or RFC 3339 with a "
                  "zone such as 2026-11-21T08:00:00.250+08:00",
                  H("dlb-deliver-at", "soon"));
    EXPECT_REASON("dlb-deliver-at '2026-11-25T17:51Z' has no seconds: write them, such as "
                  "2026-11-21T08:00:00Z",
                  H("dlb-deliver-at", "2026-11-25T17:51Z"));
    EXPECT_REASON("dlb-deliver-at '1795219200000000' looks like microseconds: give milliseconds",
                  H("dlb-deliver-at", "1795219200000000"));
    EXPECT_REASON("dlb-deliver-at '1795219200000000000' looks like nanoseconds: give milliseconds",
                  H("dlb-deliver-at", "1795219200000000000"));
    EXPECT_REASON("dlb-deliver-at '9999-12-31T00:00:00Z' is more than max_delay 40d after the "
                  "request's timestamp 2026-11-21T00:00:00.000Z",
                  H("dlb-deliver-at", "9999-12-31T00:00:00Z"));
    EXPECT_REASON("dlb-delay '41d' is more than max_delay 40d after the request's timestamp "
                  "2026-11-21T00:00:00.000Z",
                  H("dlb-delay", "41d"));
    EXPECT_REASON("dlb-expires-at '1795219200000' is before the due time 2026-11-21T00:01:00.000Z",
                  DELAY, H("dlb-expires-at", "1795219200000"));
    EXPECT_REASON("dlb-target 'a b' is not a legal topic name", DELAY, H("dlb-target", "a b"));
    EXPECT_REASON("dlb-target '__x' is a topic of the bridge's own, or of Kafka's", DELAY,
                  H("dlb-target", "__x"));
    EXPECT_REASON("dlb-target 'b' is not allowed by targets of the configuration", DELAY,
                  H("dlb-target", "b"));
}

Test(request, reason_escapes_bytes_that_are_not_plain_text)
{
    EXPECT_REASON("dlb-target '\\x00\\x0a\\x1b\\x7f\\x27\\x5c\"é\xe9\x94\xae😀' is not a legal "
                  "topic name",
                  DELAY, H("dlb-target", "\0\n\x1b\x7f'\\\"é\xe9\x94\xae😀"));
    EXPECT_REASON("dlb-target '\\xc2\\x85\\xe2\\x80\\xae\\xe2\\x80\\xa8' is not a legal topic name",
                  DELAY, H("dlb-target", "\xc2\x85\xe2\x80\xae\xe2\x80\xa8"));
    EXPECT_REASON("dlb-target '\\xd8\\x9c\\xe2\\x80\\x8f\\xe2\\x81\\xa6' is not a legal topic name",
                  DELAY, H("dlb-target", "\xd8\x9c\xe2\x80\x8f\xe2\x81\xa6"));
    EXPECT_REASON(
        "dlb-target '\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa' is not a legal topic name",
        DELAY, H("dlb-target", "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa"));
    EXPECT_REASON("header 'dlb-\\xff\\x80' is not known, and dlb- is reserved", DELAY,
                  H_NULL("dlb-\xff\x80"));
}

/* The longest possible sentences, with values of each kind and length. */
Test(request, reason_fits_for_any_value)
{
    static const char *const UNITS[] = {"a", "\n", "é", "\xe9\x94\xae", "😀", "\xff", "\xf0\x9f"};
    for (size_t u = 0; u < sizeof UNITS / sizeof UNITS[0]; u++)
        for (size_t pad = 0; pad < 90; pad++) {
            char text[1000] = {0}, name[1000] = "dlb-";
            memset(text, 'x', pad);
            while (strlen(text) < 600)
                strcat(text, UNITS[u]);
            strcat(name, text);
            struct bytes value = bytes_text(text);
            struct header at = {"dlb-deliver-at", value}, delay = {"dlb-delay", value};
            EXPECT_CODE(CODE_UNKNOWN_HEADER, (struct header){name, value});
            cr_expect_neq(PARSE(at, delay).code, CODE_OK);
            cr_expect_neq(PARSE(at).code, CODE_OK);
            cr_expect_neq(PARSE(DELAY, (struct header){"dlb-target", value}).code, CODE_OK);
            struct header retry = {"dlb-retry", value};
            cr_expect_neq(PARSE(retry).code, CODE_OK);
            cr_expect_neq(PARSE(retry, delay).code, CODE_OK);
            cr_expect_neq(PARSE(retry, H("dlb-op", "replace")).code, CODE_OK);
            cr_expect_neq(PARSE(H("dlb-retry", "fast"), (struct header){"dlb-origin", value}).code,
                          CODE_OK);
        }
    struct request_rules rules = RULES;
    rules.max_delay_ms = 86399999 + 99999 * DAY;
    char zeros[300];
    memset(zeros, '0', sizeof zeros);
    memcpy(zeros + sizeof zeros - 19, "9223372036854775807", 19);
    struct header far = {"dlb-deliver-at", {zeros, sizeof zeros}};
    struct record record = {.timestamp_ms = STAMPED, .headers = &far, .headers_n = 1};
    cr_expect_eq(parse_under(&rules, &record).code, CODE_TOO_FAR);
    memcpy(zeros, "9999-12-31T23:59:59.", 20);
    memcpy(zeros + sizeof zeros - 19, "000000000000000000Z", 19);
    cr_expect_eq(parse_under(&rules, &record).code, CODE_TOO_FAR);
}

Test(request, long_value_ends_in_dots_between_characters)
{
    char id[130];
    memset(id, 'i', sizeof id);
    struct outcome o = PARSE(DELAY, (struct header){"dlb-id", {id, 129}});
    cr_expect_str_eq(o.refusal.reason,
                     "dlb-id 'iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii…' is "
                     "longer than 128 bytes");
    memcpy(id + 58, "\xe9\x94\xae", 3);
    o = PARSE(DELAY, (struct header){"dlb-id", {id, 129}});
    cr_expect_str_eq(o.refusal.reason,
                     "dlb-id 'iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii…' is "
                     "longer than 128 bytes");
}

/* A pool of headers, each with the fault that it causes alone. */
enum kind {
    OF_TIME,
    OF_DELAY,
    OF_EXPIRY,
    OF_OP,
    OF_ID,
    OF_TARGET,
    OF_RETRY,
    OF_ATTEMPT,
    OF_NOBODY,
    KINDS
};
static const struct {
    struct header header;
    enum kind kind;
    enum code fault;
} POOL[] = {
    {{"dlb-delay", {"1m", 2}}, OF_DELAY, CODE_OK},
    {{"dlb-delay", {"15", 2}}, OF_DELAY, CODE_BAD_TIME},
    {{"dlb-delay", {"41d", 3}}, OF_DELAY, CODE_TOO_FAR},
    {{"dlb-delay", {NULL, 0}}, OF_DELAY, CODE_BAD_HEADER},
    {{"dlb-deliver-at", {"1795219260000", 13}}, OF_TIME, CODE_OK},
    {{"dlb-deliver-at", {"x", 1}}, OF_TIME, CODE_BAD_TIME},
    {{"dlb-deliver-at", {"9999-12-31T00:00:00Z", 20}}, OF_TIME, CODE_TOO_FAR},
    {{"dlb-expires-at", {"9999-12-31T00:00:00Z", 20}}, OF_EXPIRY, CODE_OK},
    {{"dlb-expires-at", {"1795219259999", 13}}, OF_EXPIRY, CODE_EXPIRED},
    {{"dlb-expires-at", {"1h", 2}}, OF_EXPIRY, CODE_BAD_TIME},
    {{"dlb-op", {"schedule", 8}}, OF_OP, CODE_OK},
    {{"dlb-op", {"explode", 7}}, OF_OP, CODE_BAD_OP},
    {{"dlb-op", {"", 0}}, OF_OP, CODE_BAD_HEADER},
    {{"dlb-id", {"a", 1}}, OF_ID, CODE_OK},
    {{"dlb-id", {"", 0}}, OF_ID, CODE_BAD_HEADER},
    {{"dlb-target", {"a", 1}}, OF_TARGET, CODE_OK},
    {{"dlb-target", {"b", 1}}, OF_TARGET, CODE_TARGET_DENIED},
    {{"dlb-target", {"\xff", 1}}, OF_TARGET, CODE_BAD_HEADER},
    {{"dlb-retry", {"fast", 4}}, OF_RETRY, CODE_OK},
    {{"dlb-retry", {"slow", 4}}, OF_RETRY, CODE_BAD_RETRY},
    {{"dlb-retry", {"", 0}}, OF_RETRY, CODE_BAD_HEADER},
    {{"dlb-attempt", {"2", 1}}, OF_ATTEMPT, CODE_OK},
    {{"dlb-attempt", {"3", 1}}, OF_ATTEMPT, CODE_RETRIES_EXHAUSTED},
    {{"dlb-attempt", {"-1", 2}}, OF_ATTEMPT, CODE_BAD_HEADER},
    {{"x", {NULL, 0}}, OF_NOBODY, CODE_OK},
    {{"dlb-due", {NULL, 0}}, OF_NOBODY, CODE_OK},
    {{"DLB-Due", {"1", 1}}, OF_NOBODY, CODE_BAD_HEADER},
    {{"dlb-when", {"1", 1}}, OF_NOBODY, CODE_UNKNOWN_HEADER},
};

enum { POOL_N = sizeof POOL / sizeof POOL[0] };

static void worsen(enum code *first, enum code fault)
{
    if (fault != CODE_OK && (*first == CODE_OK || fault < *first))
        *first = fault;
}

static bool is_picked(const size_t *picked, size_t n, enum kind kind, enum code fault)
{
    for (size_t i = 0; i < n; i++)
        if (POOL[picked[i]].kind == kind && (fault == CODE_N || POOL[picked[i]].fault == fault))
            return true;
    return false;
}

/* Codes are in the order of precedence, so the smallest code of all faults is expected. */
static enum code first_fault(const size_t *picked, size_t n, bool has_default)
{
    enum code first = CODE_OK;
    int count[KINDS] = {0};
    bool retries = is_picked(picked, n, OF_RETRY, CODE_N);
    bool exhausted = retries && is_picked(picked, n, OF_ATTEMPT, CODE_RETRIES_EXHAUSTED);
    for (size_t i = 0; i < n; i++) {
        enum kind kind = POOL[picked[i]].kind;
        if (kind == OF_ATTEMPT && !retries)
            continue;
        if (POOL[picked[i]].fault != CODE_EXPIRED || !exhausted) /* it has no due time then */
            worsen(&first, POOL[picked[i]].fault);
        if (kind != OF_NOBODY && ++count[kind] > 1)
            worsen(&first, CODE_BAD_HEADER);
    }
    int times = (count[OF_TIME] > 0) + (count[OF_DELAY] > 0) + (count[OF_RETRY] > 0);
    if (times == 0)
        worsen(&first, CODE_NO_TIME);
    if (times > 1)
        worsen(&first, CODE_TWO_TIMES);
    if (count[OF_TARGET] == 0 && (!has_default || count[OF_RETRY] > 0))
        worsen(&first, CODE_NO_TARGET);
    return first;
}

Test(request, first_fault_of_the_order_is_reported)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "request: SEED=%" PRIu64 "\n", seed);
    size_t told[CODE_N] = {0};
    for (int i = 0; i < 500000; i++) {
        struct header headers[8];
        size_t picked[8], n = 0;
        seed = seed * 6364136223846793005 + 1442695040888963407;
        for (uint64_t bits = seed >> 16; n < 8 && bits % 8 != 0; bits /= 53, n++) {
            picked[n] = (bits >> 3) % POOL_N;
            headers[n] = POOL[picked[n]].header;
        }
        struct request_rules rules = RULES;
        rules.default_target = seed >> 60 & 1 ? RULES.default_target : NULL;
        struct record record = {.timestamp_ms = STAMPED, .headers = headers, .headers_n = n};
        struct outcome o = parse_under(&rules, &record);
        enum code want = first_fault(picked, n, rules.default_target != NULL);
        cr_assert_eq(o.code, want, "%s is reported, not %s", code_name(o.code), code_name(want));
        told[o.code]++;
    }
    for (enum code code = CODE_OK; code <= CODE_RETRIES_EXHAUSTED; code++)
        cr_expect(told[code] > 0 || code == CODE_BAD_ID, "%s was never reported", code_name(code));
}

Test(request, bad_id_is_reported_after_operation_and_before_time)
{
    char id[129];
    memset(id, 'i', sizeof id);
    struct header long_id = {"dlb-id", {id, 129}};
    EXPECT_CODE(CODE_BAD_OP, long_id, H("dlb-op", "cancel"));
    EXPECT_CODE(CODE_BAD_ID, long_id);
    EXPECT_CODE(CODE_BAD_ID, long_id, DELAY, H("dlb-deliver-at", "x"));
}

Test(request, codes_have_their_documented_names)
{
    cr_expect_str_eq(code_name(CODE_OK), "ok");
    cr_expect_str_eq(code_name(CODE_UNKNOWN_HEADER), "unknown_header");
    cr_expect_str_eq(code_name(CODE_TARGET_DENIED), "target_denied");
    cr_expect_str_eq(code_name(CODE_NOT_OURS), "not_ours");
    cr_expect_str_eq(err_text(0), "no error");
    cr_expect_str_eq(err_text(ERR_BAD_TIME), "not a time");
    cr_expect_str_eq(err_text(ERR_KAFKA), "Kafka unreachable");
    cr_expect_str_eq(err_text(1), "unknown error");
    cr_expect_str_eq(err_text(-1000), "unknown error");
}
