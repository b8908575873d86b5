/* SPDX-License-Identifier: Apache-2.0 */
/* request: the headers of a request with dlb-retry. */
#include "levels/request.h"

#include <criterion/criterion.h>
#include <string.h>

static const int64_t STAMPED = 1795219200000; /* 2026-11-21T00:00:00Z */
static const int64_t NOW = 1795219207000;

static const char *const PATTERNS[] = {"orders", "payments"};
static struct retry_policy POLICIES[] = {
    {.name = (char *)"slow", .delays_ms = {5000, 30000}, .delays_n = 2, .deadline_ms = 60000},
    {.name = (char *)"fast", .first_ms = 200, .longest_ms = 60000, .factor = 2, .attempts = 65535}};
static struct request_rules rules = {.allowlist = {PATTERNS, 2, "schedule"},
                                     .default_target = "orders",
                                     .max_delay_ms = (int64_t)40 * 86400000,
                                     .retry = POLICIES,
                                     .retry_n = 2,
                                     .cancels = true};

static struct stamp stamp;
static struct refusal refusal;

static int64_t sent_ms = 1795219200000; /* STAMPED */

static enum code parse_record(const struct header *headers, size_t n, struct bytes value)
{
    struct record record = {.offset = 4711,
                            .timestamp_ms = sent_ms,
                            .key = bytes_text("k"),
                            .value = value,
                            .headers = headers,
                            .headers_n = n};
    refusal.reason[0] = '\0';
    return request_parse(&rules, 7, &record, NOW, &stamp, &refusal);
}

#define H(name, literal) ((struct header){name, {literal, sizeof literal - 1}})
#define COUNT(...)       (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define PARSE(...)       parse_record((struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__), bytes_text("v"))
#define SLOW             H("dlb-retry", "slow")
#define TARGET           H("dlb-target", "payments")

#define EXPECT_OK(...) cr_assert_eq(PARSE(__VA_ARGS__), CODE_OK, "%s", refusal.reason)
#define EXPECT(code, sentence, ...)                 \
    do {                                            \
        cr_expect_eq(PARSE(__VA_ARGS__), code);     \
        cr_expect_str_eq(refusal.reason, sentence); \
    } while (0)

Test(request_retry, first_retry_begins_the_count)
{
    EXPECT_OK(SLOW, TARGET, H("order", "17"));
    const struct retry *retry = &stamp.extras.retry;
    cr_expect(stamp.extras.is_retry);
    cr_expect_eq(stamp.policy, 1);
    cr_expect_eq(stamp.due_ms, NOW + 5000, "the wait counts from the bridge's clock");
    cr_expect_eq(retry->attempt, 1);
    cr_expect_eq(retry->first_ms, STAMPED);
    cr_expect_eq(retry->origin_lane, 7);
    cr_expect_eq(retry->origin_offset, 4711);
    cr_expect(bytes_is_null(retry->origin_topic));
    cr_expect(bytes_equal(stamp.target, bytes_text("payments")));
}

Test(request_retry, wait_is_not_shorter_for_a_record_that_is_newer_than_the_clock)
{
    sent_ms = NOW + 1000;
    EXPECT_OK(SLOW, TARGET);
    cr_expect_eq(stamp.due_ms, sent_ms + 5000, "the clock was read before the record was sent");
    sent_ms = NOW + 1001;
    EXPECT_OK(SLOW, TARGET);
    cr_expect_eq(stamp.due_ms, NOW + 5000, "the clock of the producer is wrong");
}

Test(request_retry, later_retry_keeps_first_time_and_origin)
{
    EXPECT_OK(H("dlb-attempt", "1"), H("dlb-first-at", "1795219190000"), TARGET,
              H("dlb-origin", "schedule/3/99"), H("dlb-source", "schedule/3/120"), SLOW,
              H("dlb-due", "1795219200000"), H("dlb-id", "o-1"));
    const struct retry *retry = &stamp.extras.retry;
    cr_expect_eq(stamp.due_ms, NOW + 30000);
    cr_expect_eq(retry->attempt, 2);
    cr_expect_eq(retry->first_ms, 1795219190000);
    cr_expect_eq(retry->origin_lane, 3);
    cr_expect_eq(retry->origin_offset, 99);
    cr_expect(bytes_is_null(retry->origin_topic));
    cr_expect(bytes_equal(stamp.id, bytes_text("o-1")));
}

Test(request_retry, origin_on_another_schedule_topic_is_kept)
{
    EXPECT_OK(SLOW, TARGET, H("dlb-origin", "other.schedule/2147483647/9223372036854775807"));
    cr_expect(bytes_equal(stamp.extras.retry.origin_topic, bytes_text("other.schedule")));
    cr_expect_eq(stamp.extras.retry.origin_lane, INT32_MAX);
    cr_expect_eq(stamp.extras.retry.origin_offset, INT64_MAX);
}

Test(request_retry, retries_end_with_the_delays)
{
    EXPECT_OK(SLOW, TARGET, H("dlb-attempt", "1"));
    EXPECT(CODE_RETRIES_EXHAUSTED, "dlb-attempt '2' is the last retry of the policy 'slow'", SLOW,
           TARGET, H("dlb-attempt", "2"));
    EXPECT_OK(H("dlb-retry", "fast"), TARGET, H("dlb-attempt", "65534"));
    cr_expect_eq(stamp.extras.retry.attempt, 65535);
    cr_expect_eq(PARSE(H("dlb-retry", "fast"), TARGET, H("dlb-attempt", "65535")),
                 CODE_RETRIES_EXHAUSTED);
}

Test(request_retry, deadline_ends_the_retries)
{
    EXPECT_OK(SLOW, TARGET, H("dlb-attempt", "1"), H("dlb-first-at", "1795219147000"));
    EXPECT(CODE_RETRIES_EXHAUSTED,
           "dlb-first-at '1795219146999' is more than the deadline 1m ago of the policy 'slow'",
           SLOW, TARGET, H("dlb-first-at", "1795219146999"));
    struct header headers[] = {SLOW, TARGET};
    struct record old = {.timestamp_ms = 5, .headers = headers, .headers_n = 2};
    cr_expect_eq(request_parse(&rules, 7, &old, NOW, &stamp, &refusal), CODE_OK,
                 "the deadline counts from dlb-first-at, not from a copied timestamp");
}

Test(request_retry, policy_must_exist)
{
    EXPECT(CODE_BAD_RETRY, "dlb-retry 'lazy' is not a policy of retry in the configuration",
           H("dlb-retry", "lazy"), TARGET);
    rules.retry_n = 0;
    EXPECT(CODE_BAD_RETRY, "dlb-retry 'slow' is not a policy: retry of the configuration has none",
           SLOW, TARGET);
    rules.retry_n = 2;
}

Test(request_retry, target_is_named)
{
    EXPECT(CODE_NO_TARGET, "no dlb-target is given, and dlb-retry needs the topic to return to",
           SLOW);
    EXPECT(CODE_TARGET_DENIED, "dlb-target 'x' is not allowed by targets of the configuration",
           SLOW, H("dlb-target", "x"));
    EXPECT(CODE_TARGET_DENIED, "dlb-target 'x' is not allowed by targets of the configuration",
           SLOW, H("dlb-target", "x"), H("dlb-attempt", "2"));
}

Test(request_retry, is_no_other_operation)
{
    EXPECT_OK(SLOW, TARGET, H("dlb-op", "schedule"));
    EXPECT(CODE_BAD_OP,
           "dlb-op 'replace' and dlb-retry 'slow' are both given: a retry replaces nothing", SLOW,
           TARGET, H("dlb-op", "replace"));
    EXPECT(CODE_BAD_OP, "dlb-op 'cancel' takes dlb-id alone, and not dlb-retry 'slow'", SLOW,
           H("dlb-op", "cancel"));
}

Test(request_retry, is_the_only_time)
{
    EXPECT(CODE_TWO_TIMES, "dlb-delay '1m' and dlb-retry 'slow' are both given: give one of them",
           SLOW, H("dlb-delay", "1m"), TARGET);
    EXPECT(CODE_TWO_TIMES,
           "dlb-deliver-at 'x' and dlb-retry 'slow' are both given: give one of them", SLOW,
           H("dlb-deliver-at", "x"), TARGET);
}

Test(request_retry, expiry_ends_the_retries_too)
{
    EXPECT_OK(SLOW, TARGET, H("dlb-expires-at", "1795219212000"));
    cr_expect_eq(PARSE(SLOW, TARGET, H("dlb-expires-at", "1795219211999")), CODE_EXPIRED);
    cr_expect_eq(PARSE(H("dlb-retry", "lazy"), TARGET, H("dlb-expires-at", "1h")), CODE_BAD_TIME);
}

Test(request_retry, count_of_a_delivery_is_well_formed)
{
    EXPECT(CODE_BAD_HEADER,
           "header 'dlb-attempt' is not an integer from 0 to 65535; its value is '65536'", SLOW,
           TARGET, H("dlb-attempt", "65536"));
    EXPECT(CODE_BAD_HEADER,
           "header 'dlb-attempt' is not an integer from 0 to 65535; its value is '-1'", SLOW,
           TARGET, H("dlb-attempt", "-1"));
    EXPECT(CODE_BAD_HEADER, "header 'dlb-attempt' is empty", SLOW, TARGET, H("dlb-attempt", ""));
    EXPECT(CODE_BAD_HEADER, "header 'dlb-attempt' is given twice; its value is '2'", SLOW, TARGET,
           H("dlb-attempt", "1"), H("dlb-attempt", "2"));
    EXPECT(CODE_BAD_HEADER, "header 'dlb-first-at' is not an instant; its value is '5'", SLOW,
           TARGET, H("dlb-first-at", "5"));
    static const char *const ORIGINS[] = {"schedule",     "schedule/1",    "schedule/1/",
                                          "schedule/x/1", "/1/2",          "schedule/1/-2",
                                          "a b/1/2",      "schedule/1/2/", "schedule/2147483648/1"};
    for (size_t i = 0; i < sizeof ORIGINS / sizeof *ORIGINS; i++)
        cr_expect_eq(PARSE(SLOW, TARGET, (struct header){"dlb-origin", bytes_text(ORIGINS[i])}),
                     CODE_BAD_HEADER, "%s", ORIGINS[i]);
    cr_expect_eq(PARSE(SLOW, TARGET, H("dlb-Attempt", "1")), CODE_BAD_HEADER);
}

Test(request_retry, count_is_ignored_without_a_policy)
{
    EXPECT_OK(H("dlb-delay", "1m"), H("dlb-attempt", "x"), H("dlb-attempt", ""),
              H("dlb-first-at", "5"), H("dlb-origin", "y"));
    cr_expect_not(stamp.extras.is_retry);
    cr_expect_eq(stamp.policy, 0);
    EXPECT_OK(H("dlb-op", "cancel"), H("dlb-attempt", "x"));
}

Test(request_retry, tombstone_with_a_policy_is_a_request)
{
    struct header headers[] = {SLOW, TARGET};
    rules.cancel_on_tombstone = true;
    cr_expect_eq(parse_record(headers, 2, bytes_null()), CODE_OK);
    cr_expect_eq(stamp.op, REQUEST_SCHEDULE);
    cr_expect_eq(parse_record(headers + 1, 1, bytes_null()), CODE_BAD_OP, "it cancels");
    rules.cancel_on_tombstone = false;
}

Test(request_retry, foreign_times_are_business_headers)
{
    rules.compat = COMPAT_ALL;
    EXPECT_OK(SLOW, TARGET, H("x-delay", "5"), H("scheduler-epoch", "1"));
    cr_expect_eq(stamp.format, COMPAT_NONE);
    rules.compat = 0;
}

Test(request_retry, has_no_name_but_its_id)
{
    enum cancel_kind kind;
    EXPECT_OK(SLOW, TARGET);
    cr_expect(bytes_is_null(stamp_name(&stamp, bytes_text("k"), &kind)));
    EXPECT_OK(SLOW, TARGET, H("dlb-id", "o-1"));
    cr_expect(bytes_equal(stamp_name(&stamp, bytes_text("k"), &kind), bytes_text("o-1")));
    cr_expect_eq(kind, CANCEL_BY_ID);
    EXPECT_OK(H("dlb-delay", "1m"));
    cr_expect(bytes_equal(stamp_name(&stamp, bytes_text("k"), &kind), bytes_text("k")));
}
