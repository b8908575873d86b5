/* SPDX-License-Identifier: Apache-2.0 */
/* message: the headers of a dead letter, and how large a message becomes. No broker is needed. */
#include "consumer/message.h"
#include "consumer/record.h"
#include "levels/instant.h"
#include "levels/wire_size.h"

#include <criterion/criterion.h>

static const char *const TOPICS[] = {"schedule", "schedule.1s"};

static struct bytes header_of(const struct message *m, const char *name)
{
    const void *value;
    size_t len;
    cr_assert_eq(rd_kafka_header_get_last(m->headers, name, &value, &len), 0, "no %s", name);
    return bytes_of(value, len);
}

enum { SENT_MS = 1795219, FAILED_MS = 1795399 };

static const struct refusal refusal = {CODE_TARGET_FAILED, "it did not accept it"};

static struct message letter_of(int64_t due_ms, int64_t expires_ms)
{
    struct record *record = record_make(bytes_text("key"), 0);
    cr_assert_not_null(record);
    const struct envelope env = {.stamp = {.due_ms = due_ms,
                                           .timestamp_ms = SENT_MS,
                                           .expires_ms = expires_ms,
                                           .target = bytes_text("orders"),
                                           .id = bytes_null(),
                                           .key = bytes_null()},
                                 .headers = bytes_null(),
                                 .value = bytes_null()};
    struct forward f = {.kind = FORWARD_DEAD,
                        .from = {.slot = 1},
                        .record = record,
                        .env = &env,
                        .refusal = &refusal};
    struct message m = message_of(&f, TOPICS);
    record_release(record);
    return m;
}

Test(message, instants_of_a_dead_letter_are_valid_in_a_request)
{
    static const int64_t DUE_MS[] = {-5, 0, INSTANT_MS_MIN - 1, INSTANT_MS_MIN, 1790000000000};
    for (size_t i = 0; i < sizeof DUE_MS / sizeof *DUE_MS; i++) {
        int64_t least = DUE_MS[i] < INSTANT_MS_MIN ? INSTANT_MS_MIN : DUE_MS[i], due_ms, expires_ms;
        struct message m = letter_of(DUE_MS[i], DUE_MS[i]);
        cr_assert_eq(instant_parse(header_of(&m, "dlb-deliver-at"), &due_ms), 0);
        cr_assert_eq(instant_parse(header_of(&m, "dlb-expires-at"), &expires_ms), 0);
        cr_expect_eq(due_ms, least, "%lld", (long long)DUE_MS[i]);
        cr_expect_eq(expires_ms, least, "%lld", (long long)DUE_MS[i]);
        rd_kafka_headers_destroy(m.headers);
    }
}

static void expect_header(const struct message *m, const char *name, const char *value)
{
    cr_expect(bytes_equal(header_of(m, name), bytes_text(value)), "%s is not %s", name, value);
}

static const struct stamp RETRY = {
    .due_ms = SENT_MS,
    .timestamp_ms = SENT_MS,
    .expires_ms = STAMP_NEVER,
    .target = {"orders", 6},
    .origin_offset = 120,
    .extras = {.is_retry = true,
               .retry = {.attempt = 3, .first_ms = 5, .origin_lane = 2, .origin_offset = 99}}};

/* Returns the names of the headers, separated by commas. */
static const char *names_of(const struct message *m)
{
    static char text[256];
    const char *name;
    const void *value;
    size_t len, n = 0;
    for (size_t i = 0; rd_kafka_header_get_all(m->headers, i, &name, &value, &len) == 0; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i == 0 ? "" : ",", name);
    return text;
}

Test(message, delivery_of_a_retry_has_its_count_and_origin)
{
    struct record *record = record_make(bytes_text("key"), 0);
    cr_assert_not_null(record);
    struct envelope env = {.stamp = RETRY};
    struct forward f = {.kind = FORWARD_TARGET, .from = {.slot = 1}, .record = record, .env = &env};
    struct message m = message_of(&f, TOPICS);
    cr_expect_str_eq(names_of(&m), "dlb-attempt,dlb-first-at,dlb-origin,dlb-due,dlb-source");
    expect_header(&m, "dlb-attempt", "3");
    expect_header(&m, "dlb-first-at", "100000000000"); /* valid when the consumer copies it */
    expect_header(&m, "dlb-origin", "schedule/2/99");
    expect_header(&m, "dlb-source", "schedule/0/120");
    rd_kafka_headers_destroy(m.headers);

    env.stamp.extras.retry.origin_topic = bytes_text("other");
    m = message_of(&f, TOPICS);
    expect_header(&m, "dlb-origin", "other/2/99");
    rd_kafka_headers_destroy(m.headers);

    f.kind = FORWARD_DEAD;
    f.refusal = &refusal;
    m = message_of(&f, TOPICS);
    cr_expect_str_eq(names_of(&m),
                     "dlb-deliver-at,dlb-target,dlb-attempt,dlb-first-at,dlb-origin,dlb-error,"
                     "dlb-reason,dlb-source,dlb-sent-at,dlb-failed-at");
    rd_kafka_headers_destroy(m.headers);
    record_release(record);
}

static size_t size_of(const struct message *m)
{
    const char *name;
    const void *value;
    size_t size = 0, len;
    for (size_t i = 0; rd_kafka_header_get_all(m->headers, i, &name, &value, &len) == 0; i++)
        size += strlen(name) + len + 4 + 4;
    return size;
}

Test(message, added_headers_are_within_their_bound)
{
    char topic[TOPIC_TEXT_MAX] = "", id[CANCEL_NAME_MAX];
    struct refusal longest = {.code = CODE_UNKNOWN_HEADER};
    memset(topic, 't', TOPIC_NAME_MAX);
    memset(id, 'i', sizeof id);
    memset(longest.reason, 'r', REASON_MAX - 1);
    const char *const topics[] = {topic};
    struct record *record = record_make(bytes_text("key"), 0);
    cr_assert_not_null(record);
    struct envelope env = {.stamp = {.due_ms = INT64_MAX,
                                     .timestamp_ms = INT64_MAX,
                                     .expires_ms = INT64_MAX - 1,
                                     .origin_offset = INT64_MAX,
                                     .origin_lane = INT32_MAX,
                                     .id = bytes_of(id, sizeof id),
                                     .target = bytes_text(topic),
                                     .extras = {.is_retry = true,
                                                .retry = {.first_ms = INT64_MAX,
                                                          .origin_offset = INT64_MAX,
                                                          .origin_lane = INT32_MAX,
                                                          .origin_topic = bytes_text(topic),
                                                          .attempt = UINT16_MAX}}}};
    struct forward f = {.kind = FORWARD_DEAD,
                        .record = record,
                        .env = &env,
                        .content = DEAD_LETTER_NO_VALUE,
                        .timestamp_wall_ms = INT64_MAX,
                        .refusal = &longest};
    struct message m = message_of(&f, topics);
    cr_expect_leq(size_of(&m), WIRE_ADDED_LATER, "%zu bytes", size_of(&m));
    cr_expect_gt(size_of(&m), 1536);
    rd_kafka_headers_destroy(m.headers);
    record_release(record);
}

/* Returns the dead letter of a request that never waited. The caller destroys m.headers. */
static struct message dead_letter_of_request(struct record *record, enum dead_letter_content letter)
{
    struct forward f = {.kind = FORWARD_DEAD,
                        .record = record,
                        .content = letter,
                        .timestamp_wall_ms = FAILED_MS,
                        .refusal = &refusal};
    return message_of(&f, TOPICS);
}

Test(message, dead_letter_has_the_timestamp_of_its_request)
{
    struct message waited = letter_of(SENT_MS, SENT_MS);
    expect_header(&waited, "dlb-sent-at", "1795219");
    rd_kafka_headers_destroy(waited.headers);

    struct record *record = record_make(bytes_text("key"), 0);
    cr_assert_not_null(record);
    record->timestamp_ms = SENT_MS;
    struct message refused = dead_letter_of_request(record, DEAD_LETTER_FULL);
    expect_header(&refused, "dlb-sent-at", "1795219");
    expect_header(&refused, "dlb-failed-at", "1795399");
    rd_kafka_headers_destroy(refused.headers);

    record->timestamp_ms =
        -1; /* without a timestamp, the bridge's clock counts, as for dlb-delay */
    struct message timeless = dead_letter_of_request(record, DEAD_LETTER_FULL);
    expect_header(&timeless, "dlb-sent-at", "1795399");
    rd_kafka_headers_destroy(timeless.headers);
    record_release(record);
}

Test(message, dead_letter_names_its_missing_part)
{
    struct record *record = record_make(bytes_text("key"), 5);
    cr_assert_not_null(record);
    struct message whole = dead_letter_of_request(record, DEAD_LETTER_FULL),
                   valueless = dead_letter_of_request(record, DEAD_LETTER_NO_VALUE),
                   bare = dead_letter_of_request(record, DEAD_LETTER_REASON_ONLY);
    const void *value;
    size_t len;
    cr_expect_neq(rd_kafka_header_get_last(whole.headers, "dlb-truncated", &value, &len), 0);
    cr_expect_eq(whole.value.len, 5);

    expect_header(&valueless, "dlb-truncated", "value");
    cr_expect(bytes_is_null(valueless.value) && valueless.key.len == 3);

    expect_header(&bare, "dlb-truncated", "all");
    cr_expect(bytes_is_null(bare.value) && bytes_is_null(bare.key));
    rd_kafka_headers_destroy(whole.headers);
    rd_kafka_headers_destroy(valueless.headers);
    rd_kafka_headers_destroy(bare.headers);
    record_release(record);
}
