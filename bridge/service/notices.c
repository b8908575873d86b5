/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of events, their fields, and how often they are written. */
#include "bridge/service/notices.h"

#include "bridge/base/log.h"
#include "levels/duration.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Which members of an event are fields of its line. */
enum field {
    FIELD_LANE = 1 << 0, /* topic and lane of the queue */
    FIELD_OFFSET = 1 << 1,
    FIELD_COUNT = 1 << 2,
    FIELD_SPAN = 1 << 3,
    FIELD_SOURCE = 1 << 4, /* topic/lane/offset, as in dlb-source */
    FIELD_TO = 1 << 5,
    FIELD_KEY = 1 << 6,
    FIELD_TARGET = 1 << 7,
    FIELD_CODE = 1 << 8,
    FIELD_ERROR = 1 << 9,
    FIELD_REASON = 1 << 10,
    FIELD_ATTEMPT = 1 << 11,
    FIELD_NEXT_TRY = 1 << 12,
    FIELD_RANGE = 1 << 13,
    FIELD_TO_LANE = 1 << 15,
    FIELD_SKIP = 1 << 14 /* the command that gives the range up */
};

struct sentence {
    enum log_level level;
    unsigned fields;
    const char *message;
};

static struct sentence sentence_of(enum event_kind kind)
{
    switch (kind) {
    case EVENT_GAP:
        return (struct sentence){LOG_WARN, FIELD_LANE | FIELD_COUNT,
                                 "offsets are missing in a level topic, counted as done"};
    case EVENT_OUT_OF_RANGE:
        return (struct sentence){
            LOG_ERROR, FIELD_LANE | FIELD_COUNT,
            "records were deleted before they were read: going on at the log's start"};
    case EVENT_BEYOND_END:
        return (struct sentence){
            LOG_ERROR, FIELD_LANE | FIELD_OFFSET,
            "the committed position is beyond the log's end: the topic was recreated or truncated; "
            "the partition is held until the group's offset is reset for it and the process "
            "restarted"};
    case EVENT_MISSING:
        return (struct sentence){
            LOG_ERROR, FIELD_LANE | FIELD_COUNT,
            "a level topic does not exist any more: what waited in it is lost, and requests for "
            "this level wait. Run 'delaybridge topics apply'"};
    case EVENT_REPLACED:
        return (struct sentence){
            LOG_ERROR, FIELD_LANE | FIELD_OFFSET | FIELD_REASON,
            "a topic was deleted and created again under the running bridge, the partition is "
            "blocked: stop all processes, then reset the group's offset for it "
            "(kafka-consumer-groups.sh --reset-offsets --to-earliest)"};
    case EVENT_NEWER_ENVELOPE:
        return (struct sentence){
            LOG_ERROR, FIELD_LANE | FIELD_OFFSET,
            "a newer delaybridge wrote this record: upgrade this process, the partition is blocked "
            "until then"};
    case EVENT_WATCHDOG:
        return (struct sentence){LOG_WARN, FIELD_LANE | FIELD_SPAN,
                                 "a partition that should have woken did not: waking it again"};
    case EVENT_CLOCK_BACK:
        return (struct sentence){LOG_WARN, FIELD_SPAN,
                                 "the clock went back: held records are read again"};
    case EVENT_STALLED_TURN:
        return (struct sentence){LOG_WARN, FIELD_SPAN,
                                 "this process stood still: forwarding waits until it is known "
                                 "that the lanes are still ours"};
    case EVENT_TARGET_SHUT:
        return (struct sentence){LOG_WARN, FIELD_TARGET | FIELD_ERROR | FIELD_REASON | FIELD_SPAN,
                                 "a target takes nothing"};
    case EVENT_TARGET_OPEN:
        return (struct sentence){LOG_INFO, FIELD_TARGET, "a target takes records again"};
    case EVENT_ABORTED:
        return (struct sentence){LOG_WARN, FIELD_COUNT | FIELD_REASON,
                                 "a transaction was aborted: its records are read again"};
    case EVENT_FORWARD_FAILED:
        return (struct sentence){LOG_ERROR, FIELD_TO | FIELD_REASON | FIELD_SOURCE,
                                 "cannot write to our own topics, tried again"};
    case EVENT_DEAD_LETTERED:
        return (struct sentence){
            LOG_WARN, FIELD_CODE | FIELD_REASON | FIELD_KEY | FIELD_SOURCE | FIELD_TARGET,
            "record refused, written to the dead-letter topic"};
    case EVENT_DELIVERY_FAILED:
        return (struct sentence){LOG_WARN,
                                 FIELD_ERROR | FIELD_REASON | FIELD_KEY | FIELD_SOURCE |
                                     FIELD_TARGET | FIELD_ATTEMPT | FIELD_NEXT_TRY,
                                 "delivery failed, tried again"};
    case EVENT_UNREADABLE:
        return (struct sentence){
            LOG_ERROR, FIELD_LANE | FIELD_OFFSET | FIELD_RANGE | FIELD_SKIP,
            "a batch cannot be read, its partition is held until the range is skipped"};
    case EVENT_GIVEN_UP:
        return (struct sentence){
            LOG_WARN, FIELD_LANE | FIELD_OFFSET | FIELD_RANGE,
            "a batch that cannot be read was skipped, a dead letter names the range"};
    case EVENT_OUTLET_SHUT:
        return (struct sentence){LOG_ERROR, FIELD_TO | FIELD_TO_LANE | FIELD_REASON,
                                 "own partition unavailable, its lane waits"};
    case EVENT_OUTLET_OPEN:
        return (struct sentence){LOG_INFO, FIELD_TO | FIELD_TO_LANE,
                                 "own partition available again, its lane continues"};
    case EVENT_THROTTLED:
        return (struct sentence){LOG_WARN, FIELD_SPAN,
                                 "a broker quota was exceeded, forwarding waits: raise "
                                 "producer_byte_rate of the bridge's user or client id"};
    }
    return (struct sentence){LOG_ERROR, 0, ""};
}

struct fields {
    char text[2400];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct fields *fields, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof fields->text - fields->n;
    int n = vsnprintf(fields->text + fields->n, room, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < room)
        fields->n += (size_t)n;
    else
        fields->text[fields->n] = '\0'; /* a field is whole, or not there */
}

static void add_text(struct fields *fields, const char *name, const char *text)
{
    char quoted[512];
    add(fields, " %s=%s", name, log_quote(text == NULL ? "" : text, quoted, sizeof quoted));
}

static void add_bytes(struct fields *fields, const char *name, struct bytes bytes)
{
    char quoted[LOG_BYTES_TEXT_MAX];
    add(fields, " %s=%s", name, log_quote_bytes(bytes, quoted));
}

/* A target's legal names are longer than what is shown of other bytes. */
static void add_target(struct fields *fields, struct bytes target)
{
    if (topic_name_is_legal(target))
        add(fields, " target=\"%.*s\"", (int)target.len, (const char *)target.data);
    else
        add_bytes(fields, "target", target);
}

static void add_place(const struct teller *t, struct fields *fields, const struct event *e,
                      unsigned which)
{
    const char *topic = t->topics[e->queue.slot];
    if (which & FIELD_LANE)
        add(fields, " topic=%s lane=%d", topic, e->queue.lane);
    if (which & FIELD_OFFSET)
        add(fields, " offset=%" PRId64, e->offset);
    if (which & FIELD_RANGE)
        add(fields, " range=%" PRId64 "-%" PRId64, e->offset, e->end);
    if (which & FIELD_SKIP)
        add(fields, " command=\"delaybridge skip %s/%d/%" PRId64 "-%" PRId64 "\"", topic,
            e->queue.lane, e->offset, e->end);
    if (which & FIELD_SOURCE)
        add(fields, " source=%s/%d/%" PRId64, topic, e->queue.lane, e->offset);
    if (which & FIELD_TO)
        add(fields, " topic=%s", e->to_slot == 0 ? t->dead_letter : t->topics[e->to_slot]);
    if (which & FIELD_TO_LANE)
        add(fields, " lane=%d", e->queue.lane);
}

static void add_record(struct fields *fields, const struct event *e, unsigned which)
{
    char at[INSTANT_TEXT_MAX];
    if (which & FIELD_KEY)
        add_bytes(fields, "key", e->key);
    if (which & FIELD_TARGET)
        add_target(fields, e->target);
    if (which & FIELD_CODE)
        add(fields, " code=%s", code_name(e->code));
    if (which & FIELD_ERROR)
        add_text(fields, "error", delivery_error_name(e->error));
    if (which & FIELD_REASON)
        add_text(fields, "reason", e->reason);
    if (which & FIELD_ATTEMPT)
        add(fields, " attempt=%d", e->attempt);
    if (which & FIELD_NEXT_TRY)
        add(fields, " next_try=%s", instant_format(e->next_try_ms, at));
    if (which & FIELD_COUNT)
        add(fields, " n=%" PRId64, e->count);
    if (which & FIELD_SPAN)
        add(fields, " ms=%" PRId64, e->span_ms);
}

/* A record's own values are no part of it: they differ in each line. */
static uint64_t key_of(const struct event *e, unsigned which)
{
    uint64_t key = limit_key(LIMIT_KEY, bytes_of(&e->kind, sizeof e->kind));
    if (which & FIELD_TARGET)
        key = limit_key(key, e->target);
    if (which & FIELD_CODE)
        key = limit_key(key, bytes_of(&e->code, sizeof e->code));
    if (which & FIELD_ERROR)
        key = limit_key(key, bytes_of(&e->error, sizeof e->error));
    if (which & FIELD_TO)
        key = limit_key(key, bytes_of(&e->to_slot, sizeof e->to_slot));
    if (which & (FIELD_LANE | FIELD_TO_LANE))
        key = limit_key(key, bytes_of(&e->queue, sizeof e->queue));
    return key;
}

void tell_event(struct teller *t, const struct event *e, int64_t mono_ms)
{
    struct sentence sentence = sentence_of(e->kind);
    unsigned which = sentence.fields;
    uint64_t suppressed;
    if (!limit_pass(&t->limit, key_of(e, which), mono_ms, &suppressed))
        return;
    struct fields fields = {.n = 0};
    add_place(t, &fields, e, which);
    add_record(&fields, e, which);
    if (suppressed > 0)
        add(&fields, " suppressed=%" PRIu64, suppressed);
    log_line(sentence.level, sentence.message, "%s", fields.text);
}
