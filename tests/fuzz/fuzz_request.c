/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_request: a record with any headers becomes a stamp within its bounds, or a refusal with a
   complete sentence. */
#include "levels/duration.h"
#include "levels/instant.h"
#include "levels/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS_MAX = 12 };

static const char *const NAMES[] = {
    "dlb-deliver-at",
    "dlb-delay",
    "dlb-target",
    "dlb-key",
    "dlb-id",
    "dlb-op",
    "dlb-due",
    "dlb-expires-at",
    "dlb-source",
    "dlb-error",
    "dlb-reason",
    "dlb-failed-at",
    "DLB-Delay",
    "business",
    "dlb-truncated",
    "dlb-sent-at",
    "DELAY",
    "TIMER_DELAY_SEC",
    "TIMER_DELAY_MS",
    "TIMER_DELIVER_MS",
    "x-delay",
    "scheduler-epoch",
    "scheduler-target-topic",
    "scheduler-target-key",
    "schedule_schema_version",
    "schedule_source_type",
    "schedule_target_epoch",
    "schedule_target_topic",
    "schedule_target_key",
    "schedule_target_partition",
    "schedule_target_partition_key",
    "dlb-retry",
    "dlb-attempt",
    "dlb-first-at",
    "dlb-origin",
    "dlb-spread",
    "retry_topic-backoff-timestamp",
    "retry_topic-attempts",
    "retry_topic-original-timestamp",
    "kafka_original-topic",
    "kafka_original-partition",
    "kafka_original-offset",
    "__dlq.errors.topic",
    "__dlq.errors.partition",
    "__dlq.errors.offset",
    "TIMER_DEL_UNIQKEY",
};

enum { NAMES_N = sizeof NAMES / sizeof NAMES[0] };

/* The input, consumed from the front. */
struct input {
    const uint8_t *at;
    size_t left;
};

static struct bytes eat(struct input *in, size_t n)
{
    n = n < in->left ? n : in->left;
    struct bytes eaten = bytes_of(in->at, n);
    in->at += n;
    in->left -= n;
    return eaten;
}

static uint8_t eat_byte(struct input *in)
{
    struct bytes byte = eat(in, 1);
    return byte.len > 0 ? *(const uint8_t *)byte.data : 0;
}

static int64_t eat_time(struct input *in)
{
    uint8_t choice = eat_byte(in);
    if (choice % 4 == 0)
        return -1;
    if (choice % 4 < 3)
        return 1795219200000 + choice;
    int64_t ms = INT64_MAX;
    struct bytes bytes = eat(in, sizeof ms);
    memcpy(&ms, bytes.data, bytes.len);
    return ms;
}

/* Returns a separate copy, so that a sanitizer checks its bounds. */
static void *own(struct bytes bytes)
{
    char *copy = malloc(bytes.len + 1);
    assert(copy);
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len] = '\0';
    return copy;
}

static struct header eat_header(struct input *in)
{
    struct header header;
    uint8_t choice = eat_byte(in), len = eat_byte(in);
    uint8_t name = choice % (NAMES_N + 2);
    header.name = own(name < NAMES_N ? bytes_text(NAMES[name]) : eat(in, len % 32));
    header.value = bytes_null();
    if (choice < 240) {
        struct bytes value = eat(in, len);
        char *copy = malloc(value.len + (value.len == 0));
        assert(copy);
        memcpy(copy, value.data, value.len);
        header.value = bytes_of(copy, value.len);
    }
    return header;
}

static void check_utf8(const char *text)
{
    for (const uint8_t *at = (const uint8_t *)text; *at != 0;) {
        int more = *at < 0x80 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
        assert(*at >= ' ' && *at != 0x7f && (*at < 0x80 || (*at >= 0xc2 && *at < 0xf5)));
        for (at++; more > 0; more--, at++)
            assert((*at & 0xc0) == 0x80);
    }
}

static void check_refusal(enum code code, const struct refusal *refusal)
{
    assert(code > CODE_OK && code <= CODE_RETRIES_EXHAUSTED);
    assert(refusal->code == code);
    assert(memchr(refusal->reason, '\0', REASON_MAX) != NULL);
    assert(strlen(refusal->reason) > 10);
    check_utf8(refusal->reason);
}

static const struct header *find(const struct record *record, const char *name)
{
    const struct header *found = NULL;
    for (size_t i = 0; i < record->headers_n; i++)
        if (strcmp(record->headers[i].name, name) == 0) {
            assert(found == NULL);
            found = &record->headers[i];
        }
    return found;
}

/* The due time is the requested one, or lies in the spread after it. */
static void check_due(const struct record *record, const struct stamp *stamp, int64_t due_ms)
{
    const struct header *spread = find(record, "dlb-spread");
    int64_t spread_ms = 0;
    if (spread != NULL) {
        int err = duration_parse(spread->value, &spread_ms);
        assert(err == 0);
    }
    assert(stamp->due_ms == due_ms ||
           (stamp->due_ms > due_ms && stamp->due_ms - due_ms < spread_ms &&
            stamp->due_ms < stamp->expires_ms));
}

/* A translated request has its time or its policy from foreign headers alone. Its stamp has the
   words of the translator, unless a dlb- header precedes them. */
static void check_foreign(const struct request_rules *rules, const struct record *record,
                          const struct stamp *stamp)
{
    struct foreign foreign = compat_read(rules->compat, record);
    assert((rules->compat & COMPAT_BIT(stamp->format)) != 0);
    assert(find(record, "dlb-delay") == NULL && find(record, "dlb-deliver-at") == NULL);
    assert(foreign.format == (enum compat)stamp->format && foreign.fault == CODE_OK);
    assert((foreign.time != NULL) == (foreign.retry == NULL));
    assert((foreign.retry != NULL) == (stamp->format == COMPAT_SHARE_DLQ));
    if (foreign.time != NULL)
        check_due(record, stamp, foreign.ms + (foreign.is_delay ? stamp->timestamp_ms : 0));
    assert(stamp->extras.is_retry == (foreign.retry != NULL || foreign.counted));
    if (foreign.counted)
        assert(stamp->extras.retry.attempt == foreign.attempt && foreign.attempt >= 1);
    if (find(record, "dlb-target") == NULL && foreign.target != NULL)
        assert(bytes_equal(stamp->target, foreign.target->value));
    if (find(record, "dlb-key") == NULL)
        assert(stamp->key_overridden == foreign.key_overridden);
    if (stamp->op != REQUEST_SCHEDULE)
        assert(request_has_op(rules, record));
}

/* A retry waits from now. Its headers give the rest. */
static void check_retry(const struct record *record, int64_t now_ms, const struct stamp *stamp)
{
    const struct header *attempt = find(record, "dlb-attempt");
    const struct retry *retry = &stamp->extras.retry;
    assert(stamp->extras.is_retry && stamp->policy >= 1 && stamp->policy <= 2);
    assert(stamp->format == COMPAT_SHARE_DLQ || find(record, "dlb-target") != NULL);
    assert(stamp->op == REQUEST_SCHEDULE);
    assert(stamp->due_ms > now_ms);
    assert(stamp->due_ms <= now_ms + 2 * 60000 || find(record, "dlb-spread") != NULL);
    assert(retry->attempt >= 1 && retry->attempt <= 65535 &&
           (attempt != NULL || retry->attempt == 1));
    assert(bytes_is_null(retry->origin_topic) || topic_name_is_legal(retry->origin_topic));
    assert(find(record, "dlb-first-at") != NULL || retry->first_ms == stamp->timestamp_ms);
}

static void check_stamp(const struct request_rules *rules, const struct record *record,
                        int64_t now_ms, const struct stamp *stamp)
{
    assert(stamp->timestamp_ms == (record->timestamp_ms < 0 ? now_ms : record->timestamp_ms));
    assert(stamp->origin_offset == record->offset && stamp->origin_lane == 3);
    assert(stamp->next_try_ms == 0 && stamp->attempt == 0);
    assert(rules->cancels || stamp->op == REQUEST_SCHEDULE);
    if (stamp->op == REQUEST_CANCEL) {
        assert(find(record, "dlb-target") == NULL && find(record, "dlb-delay") == NULL);
        return;
    }
    assert(stamp->expires_ms >= stamp->due_ms);
    assert(allowlist_allows(&rules->allowlist, stamp->target));

    const struct header *at = find(record, "dlb-deliver-at"), *delay = find(record, "dlb-delay"),
                        *key = find(record, "dlb-key"), *id = find(record, "dlb-id");
    int64_t ms;
    if (stamp->format != COMPAT_NONE)
        check_foreign(rules, record, stamp);
    if (stamp->format == COMPAT_SHARE_DLQ || find(record, "dlb-retry") != NULL) {
        assert(at == NULL && delay == NULL);
        check_retry(record, now_ms, stamp);
        return;
    }
    if (stamp->format == COMPAT_NONE) {
        assert((at == NULL) != (delay == NULL));
        int err = at != NULL ? instant_parse(at->value, &ms) : duration_parse(delay->value, &ms);
        assert(err == 0);
        check_due(record, stamp, at != NULL ? ms : stamp->timestamp_ms + ms);
    }
    if (stamp->due_ms > stamp->timestamp_ms && find(record, "dlb-spread") == NULL)
        assert((uint64_t)stamp->due_ms - (uint64_t)stamp->timestamp_ms <=
               (uint64_t)rules->max_delay_ms);

    assert(stamp->format != COMPAT_NONE || stamp->key_overridden == (key != NULL));
    if (key != NULL)
        assert(bytes_equal(stamp->key, key->value));
    assert(bytes_equal(stamp->id, id != NULL ? id->value : bytes_null()));
    assert(stamp->id.len <= REQUEST_ID_MAX && (id == NULL || stamp->id.len > 0));
    size_t size = envelope_enclosed_size(stamp, record);
    void *out = malloc(size);
    struct envelope env;
    assert(out);
    envelope_enclose(stamp, record, out);
    assert(envelope_open(bytes_of(out, size), &env) == 0 && env.stamp.due_ms == stamp->due_ms);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const PATTERNS[] = {"orders.*", "a"};
    static char name[] = "a", other[] = "fast";
    static const struct retry_policy policies[] = {
        {.name = name, .delays_ms = {1, 60000}, .delays_n = 2, .jitter = 1, .deadline_ms = 5000},
        {.name = other, .first_ms = 10, .longest_ms = 60000, .factor = 1.5, .attempts = 65535}};
    struct input in = {data, size};
    uint8_t choice = eat_byte(&in);
    struct request_rules rules = {
        .allowlist = {PATTERNS, 2, "schedule"},
        .default_target = choice & 1 ? "orders.timeout" : NULL,
        .retry = policies,
        .retry_n = choice & 32 ? 2 : 0,
        .cancels = choice & 4,
        .compat = choice & 16 ? COMPAT_ALL : (unsigned)(choice >> 4) & COMPAT_ALL,
        .compat_policy = choice & 64 ? other : NULL,
        .max_delay_ms = choice & 2 ? INT64_MAX : (int64_t)40 * 86400000,
    };
    struct header headers[HEADERS_MAX];
    struct record record = {.offset = 9, .timestamp_ms = eat_time(&in), .headers = headers};
    if (choice & 8)
        record.key = bytes_text("k");
    int64_t now_ms = 1795219200000;
    while (in.left > 0 && record.headers_n < HEADERS_MAX)
        headers[record.headers_n++] = eat_header(&in);

    struct stamp stamp;
    struct refusal refusal;
    memset(&refusal, 0x5a, sizeof refusal);
    enum code code = request_parse(&rules, 3, &record, now_ms, &stamp, &refusal);
    if (code == CODE_OK)
        check_stamp(&rules, &record, now_ms, &stamp);
    else
        check_refusal(code, &refusal);

    for (size_t i = 0; i < record.headers_n; i++) {
        free((void *)headers[i].name);
        free((void *)headers[i].value.data);
    }
    return 0;
}
