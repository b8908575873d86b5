/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of deliveries and dead-letter records. */
#include "consumer/message.h"

#include "levels/decimal.h"
#include "levels/instant.h"
#include "levels/request.h"

#include <assert.h>
#include <string.h>

enum { SOURCE_MAX = TOPIC_NAME_MAX + 2 * (1 + DECIMAL_MAX), ADDED_MAX = 14 };

static void add(rd_kafka_headers_t *to, const char *name, struct bytes value)
{
    rd_kafka_header_add(to, name, -1, value.data, (ssize_t)value.len);
}

static void add_number(rd_kafka_headers_t *to, const char *name, int64_t number)
{
    char text[DECIMAL_MAX];
    add(to, name, bytes_of(text, (size_t)(decimal_put(text, number, 1) - text)));
}

/* Adds an instant. One before INSTANT_MS_MIN, the earliest that a request may have, becomes
   INSTANT_MS_MIN. Both are in the past. */
static void add_instant(rd_kafka_headers_t *to, const char *name, int64_t ms)
{
    add_number(to, name, ms < INSTANT_MS_MIN ? INSTANT_MS_MIN : ms);
}

/* The place of a record, for dlb-source and dlb-origin. */
struct place {
    struct bytes topic;
    int64_t lane, offset;
};

static void add_place(rd_kafka_headers_t *to, const char *name, struct place place)
{
    char text[SOURCE_MAX];
    assert(place.topic.len <= TOPIC_NAME_MAX);
    memcpy(text, place.topic.data, place.topic.len);
    char *at = text + place.topic.len;
    *at++ = '/';
    at = decimal_put(at, place.lane, 1);
    *at++ = '/';
    at = decimal_put(at, place.offset, 1);
    add(to, name, bytes_of(text, (size_t)(at - text)));
}

/* Adds the position of the request on the schedule topic. A record that came from no request gets
   the position at which it was read. */
static void add_source(rd_kafka_headers_t *to, const struct forward *f, const char *const *topics)
{
    struct place place = {bytes_text(topics[f->from.slot]), f->from.lane, f->offset};
    if (f->env != NULL)
        place = (struct place){bytes_text(topics[SLOT_SCHEDULE]), f->env->stamp.origin_lane,
                               f->env->stamp.origin_offset};
    add_place(to, "dlb-source", place);
}

/* Adds the headers by which a consumer counts its retries and recognizes duplicates. */
static void add_retry(rd_kafka_headers_t *to, const struct extras *extras,
                      const char *const *topics)
{
    const struct retry *retry = &extras->retry;
    if (!extras->is_retry)
        return;
    bool own = bytes_is_null(retry->origin_topic);
    struct place origin = {own ? bytes_text(topics[SLOT_SCHEDULE]) : retry->origin_topic,
                           retry->origin_lane, retry->origin_offset};
    add_number(to, "dlb-attempt", retry->attempt);
    add_instant(to, "dlb-first-at", retry->first_ms);
    add_place(to, "dlb-origin", origin);
}

static void add_user_headers(rd_kafka_headers_t *to, const struct envelope *env)
{
    struct header header;
    for (size_t at = 0; envelope_header_next(env, &at, &header);)
        add(to, header.name, header.value);
}

static rd_kafka_headers_t *delivery_headers(const struct forward *f, const char *const *topics)
{
    const struct envelope *env = f->env;
    rd_kafka_headers_t *to = rd_kafka_headers_new(env->headers_n + ADDED_MAX);
    add_user_headers(to, env);
    if (!bytes_is_null(env->stamp.id))
        add(to, "dlb-id", env->stamp.id);
    add_retry(to, &env->stamp.extras, topics);
    add_number(to, "dlb-due", env->stamp.due_ms);
    add_source(to, f, topics);
    return to;
}

/* Adds the stored properties of the request as the headers of a request. */
static void add_request_headers(rd_kafka_headers_t *to, const struct stamp *stamp)
{
    add_instant(to, "dlb-deliver-at", stamp->due_ms);
    add(to, "dlb-target", stamp->target);
    if (!bytes_is_null(stamp->id))
        add(to, "dlb-id", stamp->id);
    if (stamp->key_overridden)
        add(to, "dlb-key", stamp->key);
    if (stamp->expires_ms != STAMP_NEVER)
        add_instant(to, "dlb-expires-at", stamp->expires_ms);
}

/* Adds the headers of the record as it was read. A record that is written whole keeps
   HEADER_TRUNCATED of an earlier dead letter. Without this header, a record that has lost its value
   would pass as a tombstone. */
static void add_record_headers(rd_kafka_headers_t *to, const struct forward *f)
{
    for (size_t i = 0; i < f->record->headers_n; i++) {
        const struct header *header = &f->record->headers[i];
        bool replaced =
            f->content != DEAD_LETTER_FULL && strcmp(header->name, HEADER_TRUNCATED) == 0;
        if (!replaced && !header_is_of_dead_letter(header->name))
            add(to, header->name, header->value);
    }
}

static void add_original_headers(rd_kafka_headers_t *to, const struct forward *f,
                                 const char *const *topics)
{
    if (f->env == NULL) {
        add_record_headers(to, f);
        return;
    }
    add_user_headers(to, f->env);
    add_request_headers(to, &f->env->stamp);
    add_retry(to, &f->env->stamp.extras, topics);
}

/* Returns the wall clock time at which the request or the foreign record was written. Without a
   timestamp, returns the bridge's clock. A delay counts from this clock as well. */
static int64_t sent_wall_ms(const struct forward *f)
{
    int64_t ms = f->env != NULL ? f->env->stamp.timestamp_ms : f->record->timestamp_ms;
    return ms >= 0 ? ms : f->timestamp_wall_ms;
}

static rd_kafka_headers_t *dead_headers(const struct forward *f, const char *const *topics)
{
    size_t n = f->env != NULL ? f->env->headers_n : f->record->headers_n;
    rd_kafka_headers_t *to = rd_kafka_headers_new(n + ADDED_MAX);
    if (f->content != DEAD_LETTER_REASON_ONLY)
        add_original_headers(to, f, topics);
    add(to, "dlb-error", bytes_text(code_name(f->refusal->code)));
    add(to, "dlb-reason", bytes_text(f->refusal->reason));
    add_source(to, f, topics);
    add_number(to, "dlb-sent-at", sent_wall_ms(f));
    add_number(to, "dlb-failed-at", f->timestamp_wall_ms);
    if (f->content != DEAD_LETTER_FULL)
        add(to, HEADER_TRUNCATED,
            bytes_text(f->content == DEAD_LETTER_REASON_ONLY ? "all" : "value"));
    return to;
}

struct message message_of(const struct forward *f, const char *const *topics)
{
    struct message m = {.key = f->record->key, .value = f->record->value};
    if (f->kind == FORWARD_LEVEL || f->kind == FORWARD_CANCEL)
        return m;
    if (f->kind == FORWARD_EVENT) {
        m.headers = rd_kafka_headers_new(1);
        add(m.headers, "content-type", bytes_text("application/cloudevents+json"));
        return m;
    }
    if (f->env != NULL)
        m.value = f->env->value;
    if (f->kind == FORWARD_DEAD) {
        m.headers = dead_headers(f, topics);
        if (f->content != DEAD_LETTER_FULL)
            m.value = bytes_null();
        if (f->content == DEAD_LETTER_REASON_ONLY)
            m.key = bytes_null();
        return m;
    }
    assert(f->env != NULL);
    m.headers = delivery_headers(f, topics);
    if (f->env->stamp.key_overridden)
        m.key = f->env->stamp.key;
    return m;
}
