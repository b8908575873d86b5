/* SPDX-License-Identifier: Apache-2.0 */
/* compat: records that a consumer of Spring Kafka or of a share group could not process. */
#include "levels/compat.h"
#include "levels/request.h"

#include <criterion/criterion.h>
#include <string.h>

static const int64_t STAMPED = 1795219200000; /* 2026-11-21T00:00:00Z */
static const int64_t NOW = 1795219207000;
static const char *const PATTERNS[] = {"orders", "payments"};
static struct retry_policy POLICIES[] = {
    {.name = (char *)"default", .delays_ms = {5000, 30000}, .delays_n = 2},
    {.name = (char *)"slow", .delays_ms = {3600000}, .delays_n = 1}};
static struct request_rules rules = {.allowlist = {PATTERNS, 2, "schedule"},
                                     .max_delay_ms = (int64_t)40 * 86400000,
                                     .retry = POLICIES,
                                     .retry_n = 2,
                                     .cancels = true,
                                     .compat = COMPAT_ALL};
static struct stamp stamp;
static struct refusal refusal;

static enum code parse_record(const struct record *record)
{
    memset(&stamp, 0, sizeof stamp);
    refusal.reason[0] = '\0';
    return request_parse(&rules, 7, record, NOW, &stamp, &refusal);
}

static enum code parse(const struct header *headers, size_t n)
{
    return parse_record(&(struct record){.offset = 4711,
                                         .timestamp_ms = STAMPED,
                                         .key = bytes_text("k"),
                                         .value = bytes_text("v"),
                                         .headers = headers,
                                         .headers_n = n});
}

#define H(name, literal) ((struct header){name, {literal, sizeof literal - 1}})
#define COUNT(...)       (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define PARSE(...)       parse((struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define EXPECT_OK(...)   cr_assert_eq(PARSE(__VA_ARGS__), CODE_OK, "%s", refusal.reason)
#define EXPECT(code, sentence, ...)                 \
    do {                                            \
        cr_expect_eq(PARSE(__VA_ARGS__), code);     \
        cr_expect_str_eq(refusal.reason, sentence); \
    } while (0)

/* As BigInteger.toByteArray writes them: 1795219300000 and 1795219190000. */
#define BACKOFF  H("retry_topic-backoff-timestamp", "\x01\xa1\xfb\x68\x9e\xa0")
#define FIRST    H("retry_topic-original-timestamp", "\x01\xa1\xfb\x66\xf0\xf0")
#define ATTEMPTS H("retry_topic-attempts", "\0\0\0\3")
#define ORIGINAL                                                                    \
    H("kafka_original-topic", "orders"), H("kafka_original-partition", "\0\0\0\5"), \
        H("kafka_original-offset", "\0\0\0\0\0\0\1\0")

Test(compat_retry, spring_record_is_due_at_its_backoff)
{
    EXPECT_OK(ORIGINAL, FIRST, ATTEMPTS, BACKOFF, H("kafka_exception-message", "\xff"));
    const struct retry *retry = &stamp.extras.retry;
    cr_expect_eq(stamp.format, COMPAT_SPRING);
    cr_expect_eq(stamp.due_ms, 1795219300000);
    cr_expect(bytes_equal(stamp.target, bytes_text("orders")));
    cr_expect(stamp.extras.is_retry);
    cr_expect_eq(retry->attempt, 2, "the attempt that follows is the third");
    cr_expect_eq(retry->first_ms, 1795219190000);
    cr_expect(bytes_equal(retry->origin_topic, bytes_text("orders")));
    cr_expect_eq(retry->origin_lane, 5);
    cr_expect_eq(retry->origin_offset, 256);
}

Test(compat_retry, last_header_of_spring_counts)
{
    EXPECT_OK(ORIGINAL, H("retry_topic-attempts", "\0\0\0\2"),
              H("retry_topic-backoff-timestamp", "\x01\xa1\xfb\x60\x00\x00"), ATTEMPTS, BACKOFF);
    cr_expect_eq(stamp.due_ms, 1795219300000);
    cr_expect_eq(stamp.extras.retry.attempt, 2);
}

Test(compat_retry, spring_record_without_a_count_is_the_first_retry)
{
    EXPECT_OK(H("kafka_original-topic", "orders"), BACKOFF);
    cr_expect_eq(stamp.extras.retry.attempt, 1);
    cr_expect_eq(stamp.extras.retry.first_ms, STAMPED);
    cr_expect_eq(stamp.extras.retry.origin_offset, 4711);
    EXPECT_OK(ORIGINAL, BACKOFF, H("retry_topic-attempts", "\4")); /* of early versions */
    cr_expect_eq(stamp.extras.retry.attempt, 3);
    EXPECT_OK(ORIGINAL, BACKOFF, H("retry_topic-attempts", "many"));
    cr_expect_eq(stamp.extras.retry.attempt, 1);
}

Test(compat_retry, spring_record_needs_its_topic_and_time)
{
    EXPECT(CODE_BAD_HEADER,
           "retry_topic-attempts '\\x00\\x00\\x00\\x03' is given without kafka_original-topic",
           ATTEMPTS, BACKOFF);
    EXPECT(CODE_NO_TIME,
           "retry_topic-attempts '\\x00\\x00\\x00\\x03' is given without "
           "retry_topic-backoff-timestamp",
           ORIGINAL, ATTEMPTS);
    EXPECT(CODE_BAD_TIME,
           "retry_topic-backoff-timestamp '12' is not a binary epoch in milliseconds", ORIGINAL,
           H("retry_topic-backoff-timestamp", "12"));
    cr_expect_eq(PARSE(ORIGINAL, H("retry_topic-backoff-timestamp", "\xff\x01\x02")),
                 CODE_BAD_TIME);
    cr_expect_eq(PARSE(ORIGINAL, H("retry_topic-backoff-timestamp", "123456789")), CODE_BAD_TIME);
    cr_expect_eq(PARSE(ORIGINAL), CODE_NO_TIME, "the topic alone is no format");
}

Test(compat_retry, spring_record_of_another_topic_is_denied)
{
    EXPECT(CODE_TARGET_DENIED,
           "kafka_original-topic 'x' is not allowed by targets of the configuration",
           H("kafka_original-topic", "x"), BACKOFF);
}

#define DLQ                                                                 \
    H("__dlq.errors.topic", "payments"), H("__dlq.errors.partition", "3"),  \
        H("__dlq.errors.offset", "99"), H("__dlq.errors.group", "billing"), \
        H("__dlq.errors.delivery.count", "5"), H("__dlq.errors.message", "rejected")

Test(compat_retry, dead_letter_of_a_share_group_is_the_first_retry)
{
    EXPECT_OK(H("own", "1"), DLQ);
    const struct retry *retry = &stamp.extras.retry;
    cr_expect_eq(stamp.format, COMPAT_SHARE_DLQ);
    cr_expect_eq(stamp.policy, 1);
    cr_expect_eq(stamp.due_ms, NOW + 5000);
    cr_expect(bytes_equal(stamp.target, bytes_text("payments")));
    cr_expect_eq(retry->attempt, 1);
    cr_expect_eq(retry->first_ms, STAMPED);
    cr_expect(bytes_equal(retry->origin_topic, bytes_text("payments")));
    cr_expect_eq(retry->origin_lane, 3);
    cr_expect_eq(retry->origin_offset, 99);
}

/* A broker that copies headers copies those of the delivery, and adds its own behind them. */
#define DELIVERED                                                                                \
    H("dlb-attempt", "1"), H("dlb-first-at", "1795219190000"), H("dlb-origin", "payments/3/99"), \
        H("dlb-due", "1795219195000"), H("dlb-source", "schedule/0/7")

Test(compat_retry, dead_letter_of_a_share_group_keeps_its_count)
{
    EXPECT_OK(H("__dlq.errors.topic", "orders"), DELIVERED, DLQ);
    cr_expect_eq(stamp.due_ms, NOW + 30000);
    cr_expect(bytes_equal(stamp.target, bytes_text("payments")), "the last header counts");
    cr_expect_eq(stamp.extras.retry.attempt, 2);
    cr_expect_eq(stamp.extras.retry.first_ms, 1795219190000);
    cr_expect_eq(stamp.extras.retry.origin_offset, 99);
    EXPECT(CODE_RETRIES_EXHAUSTED, "dlb-attempt '2' is the last retry of the policy 'default'",
           H("dlb-attempt", "2"), H("dlb-due", "1"), DLQ);
    cr_expect_eq(PARSE(H("dlb-attempt", "two"), DLQ), CODE_BAD_HEADER);
}

Test(compat_retry, dead_letter_of_a_share_group_may_have_another_policy)
{
    rules.compat_policy = "slow";
    EXPECT_OK(DLQ);
    cr_expect_eq(stamp.policy, 2);
    cr_expect_eq(stamp.due_ms, NOW + 3600000);
    rules.compat_policy = "none";
    cr_expect_eq(PARSE(DLQ), CODE_BAD_RETRY);
    rules.compat_policy = NULL;
}

static enum code parse_pointer(struct bytes key, struct bytes value, size_t more)
{
    const struct header headers[] = {DLQ, H("own", "1")};
    return parse_record(&(struct record){.timestamp_ms = STAMPED,
                                         .key = key,
                                         .value = value,
                                         .headers = headers,
                                         .headers_n = COUNT(DLQ) + more});
}

Test(compat_retry, record_that_was_not_copied_is_refused)
{
    cr_expect_eq(parse_pointer(bytes_null(), bytes_null(), 0), CODE_BAD_HEADER);
    cr_expect_str_eq(refusal.reason,
                     "__dlq.errors.topic 'payments' is of a record that the broker did not copy: "
                     "set errors.deadletterqueue.copy.record.enable of the group");
    cr_expect_eq(parse_pointer(bytes_text("k"), bytes_null(), 0), CODE_OK, "a tombstone");
    cr_expect_eq(parse_pointer(bytes_null(), bytes_text(""), 0), CODE_OK);
    cr_expect_eq(parse_pointer(bytes_null(), bytes_null(), 1), CODE_OK, "it had a header");
}

Test(compat_retry, dead_letter_of_a_share_group_needs_its_place)
{
    EXPECT(CODE_BAD_HEADER, "__dlq.errors.offset '9' is given without __dlq.errors.topic",
           H("__dlq.errors.offset", "9"));
    EXPECT(CODE_BAD_HEADER,
           "__dlq.errors.topic 'orders' is given without a number in __dlq.errors.partition and "
           "__dlq.errors.offset",
           H("__dlq.errors.topic", "orders"), H("__dlq.errors.partition", "x"),
           H("__dlq.errors.offset", "9"));
    cr_expect_eq(PARSE(H("__dlq.errors.topic", "orders"), H("__dlq.errors.partition", "1")),
                 CODE_BAD_HEADER);
}

Test(compat_retry, request_of_this_bridge_is_not_translated)
{
    EXPECT_OK(H("dlb-retry", "slow"), H("dlb-target", "orders"), DLQ, ORIGINAL, BACKOFF);
    cr_expect_eq(stamp.format, COMPAT_NONE);
    EXPECT_OK(H("dlb-delay", "1m"), H("dlb-target", "orders"), DLQ);
    cr_expect_eq(stamp.due_ms, STAMPED + 60000);
    cr_expect_not(stamp.extras.is_retry);
    cr_expect_eq(PARSE(H("dlb-due", "1"), ORIGINAL, BACKOFF), CODE_NO_TIME, "it was delivered");
    cr_expect_eq(PARSE(DLQ, ORIGINAL, BACKOFF), CODE_TWO_TIMES);
}
