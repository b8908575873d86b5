/* SPDX-License-Identifier: Apache-2.0 */
/* message: what a dead letter says of its request. No broker is needed. */
#include "consumer/message.h"
#include "consumer/record.h"
#include "levels/duration.h"

#include <criterion/criterion.h>

static const char *const TOPICS[] = {"schedule", "schedule.1s"};

static struct bytes header_of(const struct message *m, const char *name)
{
    const void *value;
    size_t len;
    cr_assert_eq(rd_kafka_header_get_last(m->headers, name, &value, &len), 0, "no %s", name);
    return bytes_of(value, len);
}

static struct message letter_of(int64_t due_ms, int64_t expires_ms)
{
    struct record *record = record_make(bytes_text("key"), 0);
    cr_assert_not_null(record);
    static const struct refusal refusal = {CODE_TARGET_FAILED, "it took nothing"};
    const struct envelope env = {.stamp = {.due_ms = due_ms,
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

Test(message, instants_of_a_dead_letter_can_be_sent_again)
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
