/* SPDX-License-Identifier: Apache-2.0 */
/* compat: each foreign header, its bounds and bad values, as the parser of requests judges them. */
#include "levels/compat.h"
#include "levels/request.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

static const int64_t STAMPED = 1795219200000; /* 2026-11-21T00:00:00Z */
static const int64_t NOW = 1795219207000;
static const char *const PATTERNS[] = {"orders.*", "a"};

static const struct request_rules RULES = {
    .allowlist = {PATTERNS, 2, "schedule"},
    .default_target = "orders.timeout",
    .max_delay_ms = (int64_t)40 * 86400000,
    .cancels = true,
    .compat = COMPAT_ALL,
};

struct outcome {
    enum code code;
    struct stamp stamp;
    struct refusal refusal;
};

#define H(name, literal) ((struct header){name, {literal, sizeof literal - 1}})
#define H_NULL(name)     ((struct header){name, {NULL, 0}})
#define COUNT(...)       (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define EPOCH            H("scheduler-epoch", "1795219300")
#define TOPIC            H("scheduler-target-topic", "orders.eu")

static struct outcome parse_record(const struct request_rules *rules, const struct record *record)
{
    struct outcome o;
    memset(&o, 0, sizeof o);
    o.code = request_parse(rules, 7, record, NOW, &o.stamp, &o.refusal);
    return o;
}

static struct outcome parse_n(struct bytes value, const struct header *headers, size_t n)
{
    const struct record record = {.offset = 4711,
                                  .timestamp_ms = STAMPED,
                                  .key = bytes_text("id-1"),
                                  .value = value,
                                  .headers = headers,
                                  .headers_n = n};
    return parse_record(&RULES, &record);
}

#define PARSE(...)      parse_n(bytes_text("v"), (struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define PARSE_NULL(...) parse_n(bytes_null(), (struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

#define EXPECT_DUE(due_ms_, ...)                                                                \
    do {                                                                                        \
        struct outcome o_ = PARSE(__VA_ARGS__);                                                 \
        cr_expect_eq(o_.code, CODE_OK, "%s", o_.refusal.reason);                                \
        cr_expect_eq(o_.stamp.due_ms, due_ms_, "%" PRId64 " after", o_.stamp.due_ms - STAMPED); \
    } while (0)

#define EXPECT_FAULT(want, sentence, ...)                                             \
    do {                                                                              \
        struct outcome o_ = PARSE(__VA_ARGS__);                                       \
        cr_expect_eq(o_.code, want, "%s: %s", code_name(o_.code), o_.refusal.reason); \
        cr_expect_str_eq(o_.refusal.reason, sentence);                                \
    } while (0)

static bool is(struct bytes bytes, const char *text)
{
    return bytes_equal(bytes, bytes_text(text));
}

Test(compat, formats_have_names)
{
    for (enum compat f = COMPAT_NONE + 1; f < COMPAT_N; f++) {
        cr_expect_eq(compat_of_name(compat_name(f)), f);
        cr_expect(COMPAT_ALL & COMPAT_BIT(f));
    }
    cr_expect_eq(COMPAT_ALL, 2 + 4 + 8 + 16 + 32 + 64);
    cr_expect_eq(compat_of_name("kafka"), COMPAT_NONE);
    cr_expect_eq(compat_of_name(""), COMPAT_NONE);
}

Test(compat, format_that_is_off_is_a_business_header)
{
    struct request_rules rules = RULES;
    const struct header delay = H("x-delay", "5000");
    const struct record record = {.timestamp_ms = STAMPED, .headers = &delay, .headers_n = 1};
    rules.compat = 0;
    cr_expect_eq(parse_record(&rules, &record).code, CODE_NO_TIME);
    rules.compat = COMPAT_ALL & ~COMPAT_BIT(COMPAT_RABBITMQ);
    cr_expect_eq(parse_record(&rules, &record).code, CODE_NO_TIME);
    rules.compat = COMPAT_BIT(COMPAT_RABBITMQ);
    cr_expect_eq(parse_record(&rules, &record).stamp.due_ms, STAMPED + 5000);
}

Test(compat, a_record_without_foreign_headers_is_judged_as_before)
{
    EXPECT_FAULT(CODE_NO_TIME, "none of dlb-deliver-at, dlb-delay and dlb-retry is given",
                 H("a", "b"));
    cr_expect_eq(PARSE(H("dlb-delay", "5s")).stamp.format, COMPAT_NONE);
    cr_expect_eq(PARSE(H("X-Delay", "5000")).code, CODE_NO_TIME, "names have a case");
}

/* What precedes what. */

Test(compat, time_of_a_dlb_header_precedes_all_foreign_headers)
{
    struct outcome o = PARSE(H("x-delay", "nonsense"), EPOCH, TOPIC, H("dlb-delay", "1m"));
    cr_assert_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 60000);
    cr_expect_eq(o.stamp.format, COMPAT_NONE);
    cr_expect_eq(o.stamp.op, REQUEST_SCHEDULE);
    cr_expect(is(o.stamp.target, "orders.timeout"));
    cr_expect_not(o.stamp.key_overridden);
    EXPECT_DUE(STAMPED + 1, EPOCH, H("dlb-deliver-at", "1795219200001"));
    cr_expect_eq(PARSE(EPOCH, H("dlb-delay", "x")).code, CODE_BAD_TIME, "even if it is bad");
}

Test(compat, other_dlb_headers_precede_the_foreign_ones_of_their_meaning)
{
    struct outcome o = PARSE(EPOCH, TOPIC, H("scheduler-target-key", "k"), H("dlb-target", "a"),
                             H("dlb-key", "other"), H("dlb-id", "i"), H("dlb-op", "schedule"),
                             H("dlb-expires-at", "1795219400000"));
    cr_assert_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 100000);
    cr_expect_eq(o.stamp.expires_ms, STAMPED + 200000);
    cr_expect_eq(o.stamp.op, REQUEST_SCHEDULE);
    cr_expect_eq(o.stamp.format, COMPAT_ETF1);
    cr_expect(is(o.stamp.target, "a") && is(o.stamp.key, "other") && is(o.stamp.id, "i"));
    cr_expect_eq(PARSE(H("x-delay", "5"), H("dlb-op", "replace")).stamp.op, REQUEST_REPLACE);
}

Test(compat, cancel_by_dlb_op_has_foreign_headers_as_business_headers)
{
    struct outcome o = PARSE(EPOCH, H("x-delay", "x"), H("dlb-op", "cancel"));
    cr_expect_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.op, REQUEST_CANCEL);
}

Test(compat, delivery_that_is_sent_again_is_not_translated)
{
    cr_expect_eq(PARSE(EPOCH, TOPIC, H("dlb-due", "1")).code, CODE_NO_TIME);
    EXPECT_DUE(STAMPED + 5000, H("x-delay", "5000"), H("dlb-source", "s"), H("dlb-error", "e"));
}

Test(compat, faults_of_dlb_headers_are_reported_first)
{
    cr_expect_eq(PARSE(H("x-delay", "x"), H("dlb-delai", "5s")).code, CODE_UNKNOWN_HEADER);
    cr_expect_eq(PARSE(H("x-delay", "x"), H("dlb-op", "undo")).code, CODE_BAD_OP);
    cr_expect_eq(PARSE(H("x-delay", ""), H("dlb-op", "undo")).code, CODE_BAD_HEADER);
}

Test(compat, two_formats_are_two_times)
{
    EXPECT_FAULT(CODE_TWO_TIMES, "x-delay '5' and DELAY '3' are both given: give one of them",
                 H("x-delay", "5"), H("DELAY", "3"), EPOCH);
    EXPECT_FAULT(CODE_BAD_HEADER, "DELAY '' is empty", H("x-delay", "5"), H("DELAY", ""), EPOCH);
}

Test(compat, value_that_is_no_text_is_a_bad_header)
{
    static const char *const NAMES[] = {"DELAY",
                                        "TIMER_DELAY_SEC",
                                        "TIMER_DELAY_MS",
                                        "TIMER_DELIVER_MS",
                                        "TIMER_DEL_UNIQKEY",
                                        "x-delay",
                                        "scheduler-epoch",
                                        "scheduler-target-topic",
                                        "schedule_schema_version",
                                        "schedule_source_type",
                                        "schedule_target_epoch",
                                        "schedule_target_topic",
                                        "schedule_target_partition"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct header header = {NAMES[i], bytes_null()}, twice[2];
        struct outcome o = parse_n(bytes_text("v"), &header, 1);
        cr_expect_eq(o.code, CODE_BAD_HEADER, "%s: %s", NAMES[i], o.refusal.reason);
        cr_expect(strstr(o.refusal.reason, NAMES[i]) == o.refusal.reason);
        header.value = bytes_of("", 0);
        cr_expect_eq(parse_n(bytes_text("v"), &header, 1).code, CODE_BAD_HEADER, "%s", NAMES[i]);
        header.value = bytes_text("\xff");
        o = parse_n(bytes_text("v"), &header, 1);
        cr_expect_eq(o.code, CODE_BAD_HEADER, "%s", NAMES[i]);
        cr_expect(strstr(o.refusal.reason, " '\\xff' is not UTF-8") != NULL, "%s",
                  o.refusal.reason);
        header.value = bytes_text("1");
        twice[0] = twice[1] = header;
        o = parse_n(bytes_text("v"), twice, 2);
        cr_expect_eq(o.code, CODE_BAD_HEADER, "%s", NAMES[i]);
        cr_expect(strstr(o.refusal.reason, "'1' is given twice") != NULL, "%s", o.refusal.reason);
    }
    cr_expect_eq(PARSE(EPOCH, H_NULL("scheduler-target-key"), H("scheduler-target-key", "")).code,
                 CODE_BAD_HEADER);
}

/* RocketMQ */

Test(compat, rocketmq_level_is_its_delay)
{
    static const int64_t SECONDS[] = {1,   5,   10,  30,  60,  120,  180,  240,  300,
                                      360, 420, 480, 540, 600, 1200, 1800, 3600, 7200};
    for (int level = 1; level <= 18; level++) {
        char text[16];
        snprintf(text, sizeof text, "%d", level);
        const struct header header = {"DELAY", bytes_text(text)};
        struct outcome o = parse_n(bytes_text("v"), &header, 1);
        cr_expect_eq(o.code, CODE_OK);
        cr_expect_eq(o.stamp.due_ms, STAMPED + SECONDS[level - 1] * 1000, "level %d", level);
        cr_expect_eq(o.stamp.format, COMPAT_ROCKETMQ);
        cr_expect_eq(o.stamp.op, REQUEST_SCHEDULE);
        cr_expect_not(o.stamp.key_overridden);
        cr_expect(is(o.stamp.target, "orders.timeout"));
    }
}

Test(compat, rocketmq_level_out_of_range_is_as_in_the_brokers)
{
    EXPECT_DUE(STAMPED, H("DELAY", "0"));
    EXPECT_DUE(STAMPED, H("DELAY", "-1"));
    EXPECT_DUE(STAMPED, H("DELAY", "-2147483648"));
    EXPECT_DUE(STAMPED + 7200000, H("DELAY", "19"));
    EXPECT_DUE(STAMPED + 7200000, H("DELAY", "2147483647"));
    EXPECT_FAULT(CODE_BAD_TIME, "DELAY '2147483648' is not a delay level, which has 32 bits",
                 H("DELAY", "2147483648"));
    EXPECT_FAULT(CODE_BAD_TIME, "DELAY '5s' is not a whole number", H("DELAY", "5s"));
    EXPECT_FAULT(CODE_BAD_TIME, "DELAY '1.5' is not a whole number", H("DELAY", "1.5"));
    EXPECT_FAULT(CODE_BAD_TIME, "DELAY '-' is not a whole number", H("DELAY", "-"));
    EXPECT_FAULT(CODE_BAD_TIME, "DELAY ' 5' is not a whole number", H("DELAY", " 5"));
}

Test(compat, rocketmq_timers_have_the_order_of_the_brokers)
{
    const struct header s = H("TIMER_DELAY_SEC", "7"), ms = H("TIMER_DELAY_MS", "9"),
                        at = H("TIMER_DELIVER_MS", "1795219200011");
    EXPECT_DUE(STAMPED + 7000, s);
    EXPECT_DUE(STAMPED + 9, ms);
    EXPECT_DUE(STAMPED + 11, at);
    EXPECT_DUE(STAMPED + 7000, at, ms, s);
    EXPECT_DUE(STAMPED + 9, at, ms);
    EXPECT_DUE(STAMPED + 1000, at, ms, s, H("DELAY", "1"));
    EXPECT_DUE(STAMPED + 9, at, ms, H("DELAY", "0"));
    EXPECT_DUE(STAMPED + 11, at, H("DELAY", "-1"));
    EXPECT_DUE(STAMPED + 1000, H("TIMER_DELAY_SEC", "x"), H("DELAY", "1"));
    cr_expect_eq(PARSE(s, H("DELAY", "x")).code, CODE_BAD_TIME);
}

Test(compat, rocketmq_timers_have_bounds)
{
    EXPECT_DUE(STAMPED, H("TIMER_DELAY_SEC", "0"));
    EXPECT_DUE(STAMPED, H("TIMER_DELAY_SEC", "-5"));
    EXPECT_DUE(STAMPED, H("TIMER_DELAY_MS", "-5"));
    EXPECT_DUE(100000000000, H("TIMER_DELIVER_MS", "100000000000"));
    EXPECT_FAULT(CODE_BAD_TIME,
                 "TIMER_DELIVER_MS '1795219200' is not an epoch in milliseconds (seconds by "
                 "mistake?)",
                 H("TIMER_DELIVER_MS", "1795219200"));
    EXPECT_FAULT(CODE_TOO_FAR,
                 "TIMER_DELIVER_MS '1795219200000000' looks like microseconds: give milliseconds",
                 H("TIMER_DELIVER_MS", "1795219200000000"));
    EXPECT_DUE(STAMPED + 3456000000, H("TIMER_DELAY_SEC", "3456000"));
    EXPECT_FAULT(CODE_TOO_FAR,
                 "TIMER_DELAY_SEC '3456001' is more than max_delay 40d after the request's "
                 "timestamp 2026-11-21T00:00:00.000Z",
                 H("TIMER_DELAY_SEC", "3456001"));
    EXPECT_FAULT(CODE_BAD_TIME,
                 "TIMER_DELAY_SEC '9223372036854775807' is more than 64 bits of milliseconds hold",
                 H("TIMER_DELAY_SEC", "9223372036854775807"));
    EXPECT_FAULT(CODE_BAD_TIME, "TIMER_DELAY_MS '9223372036854775808' is more than 64 bits hold",
                 H("TIMER_DELAY_MS", "9223372036854775808"));
    EXPECT_FAULT(CODE_BAD_TIME, "TIMER_DELIVER_MS '2026-11-21T00:00:00Z' is not a whole number",
                 H("TIMER_DELIVER_MS", "2026-11-21T00:00:00Z"));
}

Test(compat, rocketmq_recall_is_refused)
{
    static const char WHY[] = "TIMER_DEL_UNIQKEY 'id-7' recalls a message, which is not possible: "
                              "send dlb-op: cancel";
    const struct header recall = H("TIMER_DEL_UNIQKEY", "id-7");
    EXPECT_FAULT(CODE_BAD_HEADER, WHY, recall, H("TIMER_DELIVER_MS", "1795219200011"));
    EXPECT_FAULT(CODE_BAD_HEADER, WHY, recall, H("TIMER_DELAY_SEC", "x"));
    EXPECT_FAULT(CODE_BAD_HEADER, WHY, recall, H("DELAY", "1"));
    EXPECT_FAULT(CODE_BAD_HEADER, WHY, recall);
    cr_expect_eq(PARSE(recall, H("dlb-delay", "5s")).code, CODE_OK, "a business header");
    cr_expect_eq(PARSE(recall, H("dlb-op", "cancel")).code, CODE_OK, "a business header");
}

/* RabbitMQ */

Test(compat, rabbitmq_delay_is_in_milliseconds)
{
    struct outcome o = PARSE(H("x-delay", "5000"));
    cr_assert_eq(o.code, CODE_OK);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 5000);
    cr_expect_eq(o.stamp.format, COMPAT_RABBITMQ);
    EXPECT_DUE(STAMPED + 5000, H("x-delay", "+5000"));
    EXPECT_DUE(STAMPED, H("x-delay", "0"));
    EXPECT_DUE(STAMPED, H("x-delay", "-5000"));
}

Test(compat, rabbitmq_delay_that_the_plugin_ignores_is_too_far)
{
    cr_expect_eq(PARSE(H("x-delay", "4294967295")).code, CODE_TOO_FAR, "49 days, max_delay is 40");
    cr_expect_eq(PARSE(H("x-delay", "4294967296")).code, CODE_TOO_FAR);
    EXPECT_FAULT(CODE_BAD_TIME, "x-delay '5000.0' is not a whole number", H("x-delay", "5000.0"));
    EXPECT_FAULT(CODE_BAD_TIME, "x-delay '5s' is not a whole number", H("x-delay", "5s"));
}

/* etf1 */

Test(compat, etf1_schedule_is_a_replace_by_key)
{
    struct outcome o = PARSE(EPOCH, TOPIC, H("scheduler-target-key", "vid1"), H("customer", "x"));
    cr_assert_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 100000);
    cr_expect_eq(o.stamp.op, REQUEST_REPLACE);
    cr_expect_eq(o.stamp.format, COMPAT_ETF1);
    cr_expect(is(o.stamp.target, "orders.eu"));
    cr_expect(o.stamp.key_overridden && is(o.stamp.key, "vid1"));
    cr_expect(bytes_is_null(o.stamp.id));
    cr_expect(request_voids(o.code, &o.stamp));
}

Test(compat, etf1_key_is_null_without_its_header)
{
    struct outcome o = PARSE(EPOCH, TOPIC);
    cr_expect(o.stamp.key_overridden && bytes_is_null(o.stamp.key));
    o = PARSE(EPOCH, TOPIC, H_NULL("scheduler-target-key"));
    cr_expect(o.stamp.key_overridden && bytes_is_null(o.stamp.key));
    o = PARSE(EPOCH, TOPIC, H("scheduler-target-key", ""));
    cr_expect(o.stamp.key_overridden && is(o.stamp.key, ""));
    o = PARSE(EPOCH, H("scheduler-target-key", "\xff\x01"));
    cr_expect_eq(o.code, CODE_OK);
    cr_expect(is(o.stamp.key, "\xff\x01") && is(o.stamp.target, "orders.timeout"));
}

Test(compat, etf1_null_value_is_a_cancel_by_key)
{
    struct outcome o = PARSE_NULL(EPOCH, TOPIC, H("scheduler-target-key", "vid1"));
    cr_assert_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.op, REQUEST_CANCEL);
    cr_expect(request_voids(o.code, &o.stamp));
    o = PARSE_NULL(EPOCH, H("dlb-target", "a"));
    cr_expect_eq(o.code, CODE_BAD_OP);
    cr_expect_str_eq(o.refusal.reason,
                     "a cancel in the format etf1 takes dlb-id alone, and not dlb-target 'a'");
}

Test(compat, null_value_with_a_foreign_time_is_no_cancel_by_tombstone)
{
    struct request_rules rules = RULES;
    struct header delay = H("x-delay", "5000");
    const struct record record = {
        .timestamp_ms = STAMPED, .key = bytes_text("k"), .headers = &delay, .headers_n = 1};
    rules.cancel_on_tombstone = true;
    struct outcome o = parse_record(&rules, &record);
    cr_expect_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.op, REQUEST_SCHEDULE);
    delay.value = bytes_text("5s");
    cr_expect_eq(parse_record(&rules, &record).code, CODE_BAD_TIME);
    delay.name = "business";
    cr_expect_eq(parse_record(&rules, &record).stamp.op, REQUEST_CANCEL);
}

Test(compat, etf1_faults_name_header_and_value)
{
    EXPECT_FAULT(CODE_NO_TIME,
                 "scheduler-target-topic 'orders.eu' is given without scheduler-epoch", TOPIC);
    EXPECT_FAULT(CODE_BAD_TIME, "scheduler-epoch 'soon' is not a whole number",
                 H("scheduler-epoch", "soon"));
    EXPECT_FAULT(CODE_BAD_TIME, "scheduler-epoch '-1' is not an epoch in seconds",
                 H("scheduler-epoch", "-1"));
    EXPECT_DUE(0, H("scheduler-epoch", "0"));
    EXPECT_FAULT(CODE_TOO_FAR,
                 "scheduler-epoch '1795219300000' looks like milliseconds: give seconds",
                 H("scheduler-epoch", "1795219300000"));
    EXPECT_FAULT(CODE_TOO_FAR,
                 "scheduler-epoch '99999999999' is more than max_delay 40d after the request's "
                 "timestamp 2026-11-21T00:00:00.000Z",
                 H("scheduler-epoch", "99999999999"));
    EXPECT_FAULT(CODE_TARGET_DENIED,
                 "scheduler-target-topic 'payroll' is not allowed by targets of the configuration",
                 EPOCH, H("scheduler-target-topic", "payroll"));
}

Test(compat, etf1_needs_a_schedule_id_and_cancels)
{
    const struct header headers[] = {EPOCH, TOPIC};
    struct record record = {
        .timestamp_ms = STAMPED, .value = bytes_text("v"), .headers = headers, .headers_n = 2};
    struct outcome o = parse_record(&RULES, &record);
    cr_expect_eq(o.code, CODE_BAD_ID);
    cr_expect_str_eq(o.refusal.reason, "a replace in the format etf1 needs the record key of its "
                                       "request, which decides the partition");
    record.key = bytes_text("id");
    struct request_rules rules = RULES;
    rules.cancels = false;
    o = parse_record(&rules, &record);
    cr_expect_eq(o.code, CODE_BAD_OP);
}

/* Karafka */

#define VERSION H("schedule_schema_version", "1.0.0")
#define TYPE    H("schedule_source_type", "schedule")
#define K_EPOCH H("schedule_target_epoch", "1795219300")
#define K_TOPIC H("schedule_target_topic", "orders.eu")

Test(compat, karafka_schedule_is_a_replace_by_key)
{
    struct outcome o = PARSE(VERSION, TYPE, K_EPOCH, K_TOPIC, H("schedule_target_key", "k"));
    cr_assert_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.due_ms, STAMPED + 100000);
    cr_expect_eq(o.stamp.op, REQUEST_REPLACE);
    cr_expect_eq(o.stamp.format, COMPAT_KARAFKA);
    cr_expect(is(o.stamp.target, "orders.eu"));
    cr_expect(o.stamp.key_overridden && is(o.stamp.key, "k"));
    o = PARSE(VERSION, TYPE, K_EPOCH, K_TOPIC);
    cr_expect(o.stamp.key_overridden && bytes_is_null(o.stamp.key));
    o = PARSE_NULL(VERSION, TYPE, K_EPOCH, K_TOPIC);
    cr_expect_eq(o.stamp.op, REQUEST_REPLACE, "the type decides, not the value");
}

Test(compat, karafka_cancel_and_tombstone_cancel_by_key)
{
    struct outcome o = PARSE_NULL(VERSION, H("schedule_source_type", "cancel"));
    cr_assert_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.op, REQUEST_CANCEL);
    o = PARSE_NULL(VERSION, H("schedule_source_type", "tombstone"), K_EPOCH, K_TOPIC);
    cr_expect_eq(o.code, CODE_OK, "%s", o.refusal.reason);
    cr_expect_eq(o.stamp.op, REQUEST_CANCEL);
    EXPECT_FAULT(CODE_BAD_OP,
                 "schedule_source_type 'cancel' takes dlb-id alone, and not dlb-key 'k'", VERSION,
                 H("schedule_source_type", "cancel"), H("dlb-key", "k"));
    EXPECT_FAULT(CODE_BAD_OP,
                 "schedule_source_type 'Schedule' is not a type; schedule, cancel or tombstone is "
                 "meant",
                 VERSION, H("schedule_source_type", "Schedule"), K_EPOCH);
}

Test(compat, karafka_headers_are_required)
{
    EXPECT_FAULT(CODE_BAD_HEADER,
                 "schedule_source_type 'schedule' is given without schedule_schema_version", TYPE,
                 K_EPOCH, K_TOPIC);
    EXPECT_FAULT(CODE_BAD_HEADER,
                 "schedule_schema_version '2.0.0' is not a version that the bridge knows: 1.0.0",
                 H("schedule_schema_version", "2.0.0"), TYPE, K_EPOCH, K_TOPIC);
    EXPECT_FAULT(CODE_BAD_HEADER,
                 "schedule_schema_version '1.0.0' is given without schedule_source_type", VERSION,
                 K_EPOCH, K_TOPIC);
    EXPECT_FAULT(CODE_NO_TIME,
                 "schedule_schema_version '1.0.0' is given without schedule_target_epoch", VERSION,
                 TYPE, K_TOPIC);
    EXPECT_FAULT(CODE_BAD_TIME, "schedule_target_epoch '1.5' is not a whole number", VERSION, TYPE,
                 H("schedule_target_epoch", "1.5"));
    cr_expect_eq(PARSE(VERSION, TYPE, K_EPOCH).code, CODE_OK, "default_target");
}

Test(compat, karafka_partition_that_the_key_does_not_choose_is_refused)
{
    EXPECT_FAULT(CODE_BAD_HEADER,
                 "schedule_target_partition '3' is not possible: schedule_target_key chooses the "
                 "partition",
                 VERSION, TYPE, K_EPOCH, K_TOPIC, H("schedule_target_partition", "3"));
    cr_expect_eq(PARSE(VERSION, TYPE, K_EPOCH, K_TOPIC, H("schedule_target_key", "k"),
                       H("schedule_target_partition_key", "other"))
                     .code,
                 CODE_BAD_HEADER);
    cr_expect_eq(
        PARSE(VERSION, TYPE, K_EPOCH, K_TOPIC, H("schedule_target_partition_key", "k")).code,
        CODE_BAD_HEADER);
    cr_expect_eq(PARSE(VERSION, TYPE, K_EPOCH, K_TOPIC, H("schedule_target_key", "k"),
                       H("schedule_target_partition_key", "k"))
                     .code,
                 CODE_OK);
}

Test(compat, records_that_may_void_are_found_by_their_names)
{
    const struct header headers[] = {H("x-delay", "5"), H("DELAY", "3"), H("scheduler-epoch", "x"),
                                     H("schedule_source_type", "y")};
    struct record record = {.headers = headers, .headers_n = 2};
    cr_expect_not(compat_may_void(COMPAT_ALL, &record));
    record.headers_n = 3;
    cr_expect(compat_may_void(COMPAT_ALL, &record));
    cr_expect(compat_may_void(COMPAT_BIT(COMPAT_ETF1), &record));
    cr_expect_not(compat_may_void(COMPAT_BIT(COMPAT_KARAFKA), &record));
    cr_expect_not(compat_may_void(0, &record));
    record.headers_n = 4;
    cr_expect(compat_may_void(COMPAT_BIT(COMPAT_KARAFKA), &record));
    cr_expect(request_has_op(&RULES, &record));
}

Test(compat, target_of_a_refused_request_is_the_foreign_one)
{
    const struct header headers[] = {H("scheduler-target-topic", "payroll"), EPOCH,
                                     H("dlb-target", "a")};
    struct record record = {.value = bytes_text("v"), .headers = headers, .headers_n = 2};
    cr_expect(is(request_target(&RULES, &record), "payroll"));
    record.headers_n = 3;
    cr_expect(is(request_target(&RULES, &record), "a"));
    record.headers_n = 0;
    cr_expect(is(request_target(&RULES, &record), "orders.timeout"));
}
