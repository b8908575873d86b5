/* SPDX-License-Identifier: Apache-2.0 */
/* Records of events. */
#include "bridge/core/event_record.h"
#include "bridge/core/state.h"

int event_attempts(const struct parcel *p)
{
    struct envelope env;
    return !p->raw && envelope_open(p->record->value, &env) == 0 ? env.stamp.attempt : 0;
}

static struct bytes header_of(const struct record *record, const char *name)
{
    for (size_t i = 0; i < record->headers_n; i++)
        if (strcmp(record->headers[i].name, name) == 0)
            return record->headers[i].value;
    return bytes_null();
}

/* A record of a producer or a level, as it was read. */
static void describe_raw(const struct bridge *b, const struct parcel *p, struct event *e)
{
    e->key = p->record->key;
    e->id = header_of(p->record, "dlb-id");
    e->traceparent = header_of(p->record, "traceparent");
    if (p->queue->id.slot == SLOT_SCHEDULE)
        e->target = request_target(&b->config.rules, p->record);
}

/* The key of an entry is the name of its cancel. */
static void describe_entry(const struct parcel *p, struct event *e)
{
    struct cancel_decoded decoded;
    int err = cancel_record_decode(p->record->value, &decoded);
    assert(err == 0);
    if (decoded.is.entry.kind == CANCEL_BY_ID)
        e->id = p->record->key;
    const uint8_t *value = p->record->value.data;
    if (p->facts.key_len >= 0)
        e->key = bytes_of(value + CANCEL_ENTRY_SIZE, (size_t)p->facts.key_len);
}

/* The topic of the first request is null if it is the schedule topic. */
static void describe_retry(const struct retry *retry, struct event *e)
{
    bool foreign = !bytes_is_null(retry->origin_topic);
    e->retry = retry->attempt;
    e->origin = (struct origin){.topic = foreign ? retry->origin_topic : bytes_text(e->topic),
                                .lane = retry->origin_lane,
                                .offset = retry->origin_offset};
}

static void describe_envelope(const struct parcel *p, struct event *e)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    const struct stamp *stamp = &env.stamp;
    e->lane = stamp->origin_lane;
    e->offset = stamp->origin_offset;
    e->key = p->record->key;
    e->id = stamp->id;
    e->target = stamp->target;
    e->due_ms = stamp->due_ms;
    e->attempt = stamp->attempt;
    struct header header;
    for (size_t at = 0; envelope_header_next(&env, &at, &header);)
        if (strcmp(header.name, "traceparent") == 0)
            e->traceparent = header.value;
    if (e->type == EVENT_RETRY_ACCEPTED)
        describe_retry(&stamp->extras.retry, e);
    if (e->type == EVENT_DELIVERY_RETRIED) {
        e->code = delivery_error_name(stamp->extras.error_code);
        e->reason = stamp->extras.error;
        e->next_try_ms = stamp->next_try_ms;
    }
}

/* Adds the members of the type. */
static void add_facts(const struct parcel *p, struct event *e)
{
    const struct event_facts *facts = &p->facts;
    switch (e->type) {
    case EVENT_DELIVERED:
        if (facts->stored) {
            e->partition = facts->partition;
            e->stored_offset = facts->stored_offset;
        }
        break;
    case EVENT_CANCEL_ACCEPTED:
    case EVENT_REPLACED:
        e->in_force_ms = facts->in_force_wall_ms;
        break;
    case EVENT_CANCELLED:
        e->by_offset = facts->by_offset;
        e->certain = facts->certain;
        break;
    case EVENT_TOO_LATE:
        e->late_offset = facts->late_offset;
        break;
    case EVENT_DEAD_LETTERED:
    case EVENT_EXPIRED:
        e->code = code_name(p->dead_letter->refusal.code);
        e->reason = bytes_text(p->dead_letter->refusal.reason);
        break;
    case EVENT_ACCEPTED:
    case EVENT_DELIVERY_RETRIED:
    case EVENT_CANCEL_UNMATCHED:
    case EVENT_REDRIVEN:
    case EVENT_RETRY_ACCEPTED:
    case EVENT_TYPES:
        break;
    }
}

/* The name of a record with a key that is no text of ours: only short ones are names. */
static struct bytes name_of(const struct event *e)
{
    enum cancel_kind kind;
    if (!bytes_is_null(e->id) && e->id.len <= CANCEL_NAME_MAX && e->id.len > 0)
        return e->id;
    return cancel_name(e->key, bytes_null(), &kind);
}

static struct event event_begin(const struct bridge *b, enum event_type type, int64_t lane,
                                int64_t offset)
{
    struct event e = event_of(type, lane, offset);
    e.source = b->config.event_source;
    e.topic = b->config.rules.allowlist.schedule;
    e.time_ms = b->now.wall_ms;
    return e;
}

static struct record *event_end(const struct bridge *b, const struct event *e)
{
    char text[EVENT_MAX];
    size_t size = event_write(e, text);
    struct record *record = b->port.make(b->port.ctx, name_of(e), size);
    if (record == NULL)
        return NULL;
    memcpy((void *)record->value.data, text, size);
    record->offset = -1;
    return record;
}

struct record *event_record(const struct bridge *b, const struct parcel *p, enum event_type type,
                            int attempt)
{
    char level[TOPIC_TEXT_MAX];
    struct event e = event_begin(b, type, p->queue->id.lane, p->offset);
    if (p->raw && p->entry_kind == ENTRY_CANCEL)
        describe_entry(p, &e);
    else if (p->raw)
        describe_raw(b, p, &e);
    else
        describe_envelope(p, &e);
    if (p->raw && p->queue->id.slot != SLOT_SCHEDULE)
        e.topic = topic_of_level(e.topic, p->queue->level_ms, level);
    if (attempt >= 0)
        e.attempt = attempt;
    add_facts(p, &e);
    return event_end(b, &e);
}

struct record *event_record_unmatched(const struct bridge *b, int lane,
                                      const struct named_cancel *cancel)
{
    struct event e = event_begin(b, EVENT_CANCEL_UNMATCHED, lane, cancel->offset);
    *(cancel->kind == CANCEL_BY_ID ? &e.id : &e.key) = cancel->name;
    return event_end(b, &e);
}
