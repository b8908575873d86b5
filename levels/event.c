/* SPDX-License-Identifier: Apache-2.0 */
/* event: the names of the types, and the writer of the JSON. It is written by hand, because events
   of deliveries are on the path of each record (bench_core measures it). */
#include "levels/event.h"

#include "levels/base64.h"
#include "levels/decimal.h"
#include "levels/instant.h"
#include "levels/topic_name.h"
#include "levels/utf8.h"

#include <assert.h>

static const char *const NAMES[EVENT_TYPES] = {
#define EVENT_NAME(id, name) [id] = (name),
    EVENT_TABLE(EVENT_NAME)
#undef EVENT_NAME
};

const char *event_name(enum event_type type)
{
    assert((int)type >= 0 && type < EVENT_TYPES);
    return NAMES[type];
}

int event_type_of(struct bytes name)
{
    for (int type = 0; type < EVENT_TYPES; type++)
        if (bytes_equal(name, bytes_text(NAMES[type])))
            return type;
    return -1;
}

struct event event_of(enum event_type type, int64_t lane, int64_t offset)
{
    return (struct event){.type = type,
                          .lane = lane,
                          .offset = offset,
                          .due_ms = EVENT_NONE,
                          .attempt = -1,
                          .partition = EVENT_NONE,
                          .stored_offset = EVENT_NONE,
                          .in_force_ms = EVENT_NONE,
                          .by_offset = EVENT_NONE,
                          .late_offset = EVENT_NONE,
                          .next_try_ms = EVENT_NONE,
                          .retry = EVENT_NONE,
                          .sent_offset = EVENT_NONE};
}

/* A text takes up to six bytes for each byte. An event has at most five texts (source, id,
   key, target, reason) and five places. */
enum { PLACE_MAX = TOPIC_NAME_MAX + 2 * DECIMAL_MAX + 2, REST_MAX = 800 };
_Static_assert(EVENT_MAX >= 5 * 6 * EVENT_TEXT_MAX + 5 * PLACE_MAX + REST_MAX, "each event fits");

static char *put(char *out, const char *text)
{
    size_t len = strlen(text);
    memcpy(out, text, len);
    return out + len;
}

static char *put_escaped(char *out, struct bytes text)
{
    static const char HEX[] = "0123456789abcdef";
    const uint8_t *at = text.data;
    for (size_t i = 0; i < text.len; i++) {
        if (at[i] == '"' || at[i] == '\\')
            *out++ = '\\';
        if (at[i] >= ' ') {
            *out++ = (char)at[i];
            continue;
        }
        out = put(out, "\\u00");
        *out++ = HEX[at[i] >> 4];
        *out++ = HEX[at[i] & 15];
    }
    return out;
}

/* Writes ,"name": before a value. */
static char *put_name(char *out, const char *name)
{
    *out++ = ',';
    *out++ = '"';
    out = put(out, name);
    *out++ = '"';
    *out++ = ':';
    return out;
}

static char *put_text(char *out, const char *name, struct bytes text)
{
    if (bytes_is_null(text) || text.len > EVENT_TEXT_MAX)
        return out;
    if (!utf8_is_valid(text)) {
        out = put(put_name(out, name) - 2, "_base64\":\"");
        size_t len = base64_put(out, text);
        out += len;
        for (; len % 4 != 0; len++)
            *out++ = '=';
        *out++ = '"';
        return out;
    }
    out = put_name(out, name);
    *out++ = '"';
    out = put_escaped(out, text);
    *out++ = '"';
    return out;
}

static char *put_number(char *out, const char *name, int64_t number)
{
    return number == EVENT_NONE ? out : decimal_put(put_name(out, name), number, 1);
}

static char *put_instant(char *out, const char *name, int64_t ms)
{
    char text[INSTANT_TEXT_MAX];
    return ms == EVENT_NONE ? out : put_text(out, name, bytes_text(instant_format(ms, text)));
}

/* Writes TOPIC/partition/offset. The topic has a legal name. */
static char *put_place(char *out, struct bytes topic, int64_t lane, int64_t offset)
{
    memcpy(out, topic.data, topic.len);
    out += topic.len;
    *out++ = '/';
    out = decimal_put(out, lane, 1);
    *out++ = '/';
    return decimal_put(out, offset, 1);
}

static char *put_request_of(char *out, const char *name, struct bytes topic, int64_t lane,
                            int64_t offset)
{
    if (offset == EVENT_NONE)
        return out;
    out = put_name(out, name);
    *out++ = '"';
    out = put_place(out, topic, lane, offset);
    *out++ = '"';
    return out;
}

static char *put_request(char *out, const char *name, const struct event *e, int64_t offset)
{
    return put_request_of(out, name, bytes_text(e->topic), e->lane, offset);
}

/* Returns whether the text has the form of the W3C Trace Context. */
static bool is_traceparent(struct bytes text)
{
    enum { TRACEPARENT_LEN = 55 };
    const char *at = text.data;
    if (text.len != TRACEPARENT_LEN)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool hex = (at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f');
        bool dash = i == 2 || i == 35 || i == 52;
        if (dash ? at[i] != '-' : !hex)
            return false;
    }
    return true;
}

static char *put_attributes(char *out, const struct event *e)
{
    out = put(out, "{\"specversion\":\"1.0\",\"id\":\"");
    out = put_place(out, bytes_text(e->topic), e->lane, e->offset);
    *out++ = '/';
    out = put(out, NAMES[e->type]);
    *out++ = '/';
    if (e->sent_offset != EVENT_NONE)
        out = put_place(out, bytes_text(e->topic), e->sent_lane, e->sent_offset);
    else
        out = decimal_put(out, e->attempt < 0 ? 0 : e->attempt, 1);
    *out++ = '"';
    out = put_text(out, "source", bytes_text(e->source));
    out = put(put_name(out, "type"), "\"delaybridge.");
    out = put(out, NAMES[e->type]);
    *out++ = '"';
    out = put_request(out, "subject", e, e->offset);
    out = put_instant(out, "time", e->time_ms);
    if (is_traceparent(e->traceparent))
        out = put_text(out, "traceparent", e->traceparent);
    return put(out, ",\"datacontenttype\":\"application/json\"");
}

static char *put_data(char *out, const struct event *e)
{
    out = put(put_name(out, "data"), "{\"event\":\"");
    out = put(out, NAMES[e->type]);
    *out++ = '"';
    out = put_request(out, "source", e, e->offset);
    out = put_text(out, "id", e->id);
    out = put_text(out, "key", e->key);
    out = put_text(out, "target", e->target);
    out = put_instant(out, "due", e->due_ms);
    if (e->attempt >= 0)
        out = put_number(out, "attempt", e->attempt);
    out = put_number(out, "partition", e->partition);
    out = put_number(out, "offset", e->stored_offset);
    out = put_instant(out, "in_force", e->in_force_ms);
    if (e->type == EVENT_CANCELLED)
        out = put(put_name(out, "certain"), e->certain ? "true" : "false");
    out = put_request(out, "cancelled_by", e, e->by_offset);
    out = put_request(out, "delivered", e, e->late_offset);
    out = put_instant(out, "next_try", e->next_try_ms);
    out = put_request_of(out, "sent_as", bytes_text(e->topic), e->sent_lane, e->sent_offset);
    out = put_number(out, "retry", e->retry);
    if (!bytes_is_null(e->origin.topic))
        out = put_request_of(out, "origin", e->origin.topic, e->origin.lane, e->origin.offset);
    if (e->code != NULL)
        out = put_text(out, "code", bytes_text(e->code));
    return put_text(out, "reason", e->reason);
}

size_t event_write(const struct event *e, char out[EVENT_MAX])
{
    char *end = put_attributes(out, e);
    end = put(put_data(end, e), "}}");
    assert(end - out <= EVENT_MAX);
    return (size_t)(end - out);
}
