/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of events, their fields, and how often they are written. */
#include "bridge/service/notices.h"

#include "bridge/base/log.h"
#include "levels/topic_name.h"

#include <inttypes.h>
#include <stdio.h>

enum { COMMAND_MAX = TOPIC_TEXT_MAX + 64 };

/* Each field of a line, with its value for the event e. A line has them in this order. */
#define FIELDS(X)                                                                    \
    X(TOPIC, F_TEXT("topic", t->topics[e->queue.slot]))                              \
    X(TO, F_TEXT("topic", e->to_slot == 0 ? t->dead_letter : t->topics[e->to_slot])) \
    X(LANE, F_INT("lane", e->queue.lane))                                            \
    X(OFFSET, F_OFFSET("offset", e->offset))                                         \
    X(RANGE, F_RANGE("range", e->offset, e->end))                                    \
    X(SKIP, F_TEXT("command", skip_command(t, e, command)))                          \
    X(SOURCE, F_PLACE("source", t->topics[e->queue.slot], e->queue.lane, e->offset)) \
    X(KEY, F_BYTES("key", e->key))                                                   \
    X(TARGET, name_field("target", e->target, target))                               \
    X(CODE, F_TEXT("code", code_name(e->code)))                                      \
    X(ERROR, F_TEXT("error", delivery_error_name(e->error)))                         \
    X(REASON, F_TEXT("reason", e->reason == NULL ? "" : e->reason))                  \
    X(ATTEMPT, F_INT("attempt", e->attempt))                                         \
    X(NEXT_TRY, F_INSTANT("next_try", e->next_try_ms))                               \
    X(COUNT, F_INT("n", e->count))                                                   \
    X(SPAN, F_MS("ms", e->span_ms))

#define FIELD_NUMBER(NAME, ...) FIELD_NUMBER_##NAME,
enum { FIELDS(FIELD_NUMBER) FIELDS_N };
#define FIELD_BIT(NAME, ...) NAME = 1 << FIELD_NUMBER_##NAME,
enum { FIELDS(FIELD_BIT) };

struct sentence {
    enum log_level level;
    unsigned fields;
    const char *message;
};

static struct sentence sentence_of(enum event_kind kind)
{
    switch (kind) {
    case EVENT_GAP:
        return (struct sentence){LOG_WARN, TOPIC | LANE | COUNT,
                                 "offsets are missing in a level topic, counted as done"};
    case EVENT_OUT_OF_RANGE:
        return (struct sentence){
            LOG_ERROR, TOPIC | LANE | COUNT,
            "records were deleted before they were read: going on at the log's start"};
    case EVENT_BEYOND_END:
        return (struct sentence){
            LOG_ERROR, TOPIC | LANE | OFFSET,
            "the committed position is beyond the log's end: the topic was recreated or truncated; "
            "the partition is held until the group's offset is reset for it and the process "
            "restarted"};
    case EVENT_MISSING:
        return (struct sentence){
            LOG_ERROR, TOPIC | LANE | COUNT,
            "a level topic does not exist any more: what waited in it is lost, and requests for "
            "this level wait. Run 'delaybridge topics apply'"};
    case EVENT_REPLACED:
        return (struct sentence){
            LOG_ERROR, TOPIC | LANE | OFFSET | REASON,
            "a topic was deleted and created again under the running bridge, the partition is "
            "blocked: stop all processes, then reset the group's offset for it "
            "(kafka-consumer-groups.sh --reset-offsets --to-earliest)"};
    case EVENT_NEWER_ENVELOPE:
        return (struct sentence){
            LOG_ERROR, TOPIC | LANE | OFFSET,
            "a newer delaybridge wrote this record: upgrade this process, the partition is blocked "
            "until then"};
    case EVENT_WATCHDOG:
        return (struct sentence){LOG_WARN, TOPIC | LANE | SPAN,
                                 "a partition that should have woken did not: waking it again"};
    case EVENT_CLOCK_BACK:
        return (struct sentence){LOG_WARN, SPAN,
                                 "the clock went back: held records are read again"};
    case EVENT_STALLED_TURN:
        return (struct sentence){LOG_WARN, SPAN,
                                 "this process stood still: forwarding waits until it is known "
                                 "that the lanes are still ours"};
    case EVENT_TARGET_SHUT:
        return (struct sentence){LOG_WARN, TARGET | ERROR | REASON | SPAN,
                                 "a target takes nothing"};
    case EVENT_TARGET_OPEN:
        return (struct sentence){LOG_INFO, TARGET, "a target takes records again"};
    case EVENT_ABORTED:
        return (struct sentence){LOG_WARN, COUNT | REASON,
                                 "a transaction was aborted: its records are read again"};
    case EVENT_FORWARD_FAILED:
        return (struct sentence){LOG_ERROR, TO | REASON | SOURCE,
                                 "cannot write to our own topics, tried again"};
    case EVENT_DEAD_LETTERED:
        return (struct sentence){LOG_WARN, CODE | REASON | KEY | SOURCE | TARGET,
                                 "record refused, written to the dead-letter topic"};
    case EVENT_DELIVERY_FAILED:
        return (struct sentence){LOG_WARN,
                                 ERROR | REASON | KEY | SOURCE | TARGET | ATTEMPT | NEXT_TRY,
                                 "delivery failed, tried again"};
    case EVENT_UNREADABLE:
        return (struct sentence){
            LOG_ERROR, TOPIC | LANE | OFFSET | RANGE | SKIP,
            "a batch cannot be read, its partition is held until the range is skipped"};
    case EVENT_GIVEN_UP:
        return (struct sentence){
            LOG_WARN, TOPIC | LANE | OFFSET | RANGE,
            "a batch that cannot be read was skipped, a dead letter names the range"};
    case EVENT_OUTLET_SHUT:
        return (struct sentence){LOG_ERROR, TO | LANE | REASON,
                                 "own partition unavailable, its lane waits"};
    case EVENT_OUTLET_OPEN:
        return (struct sentence){LOG_INFO, TO | LANE,
                                 "own partition available again, its lane continues"};
    case EVENT_THROTTLED:
        return (struct sentence){LOG_WARN, SPAN,
                                 "a broker quota was exceeded, forwarding waits: raise "
                                 "producer_byte_rate of the bridge's user or client id"};
    }
    return (struct sentence){LOG_ERROR, 0, ""};
}

/* Writes the command that skips an unreadable range. Returns out. */
static const char *skip_command(const struct teller *t, const struct event *e,
                                char out[COMMAND_MAX])
{
    snprintf(out, COMMAND_MAX, "delaybridge skip %s/%d/%" PRId64 "-%" PRId64,
             t->topics[e->queue.slot], e->queue.lane, e->offset, e->end);
    return out;
}

/* A legal name of a topic is longer than the part of other bytes that is shown. */
static struct log_field name_field(const char *key, struct bytes name, char out[TOPIC_TEXT_MAX])
{
    if (!topic_name_is_legal(name))
        return F_BYTES(key, name);
    snprintf(out, TOPIC_TEXT_MAX, "%.*s", (int)name.len, (const char *)name.data);
    return F_TEXT(key, out);
}

/* A record's own values are no part of it: they differ in each line. */
static uint64_t key_of(const struct event *e, unsigned which)
{
    uint64_t key = limit_key(LIMIT_KEY, bytes_of(&e->kind, sizeof e->kind));
    if (which & TARGET)
        key = limit_key(key, e->target);
    if (which & CODE)
        key = limit_key(key, bytes_of(&e->code, sizeof e->code));
    if (which & ERROR)
        key = limit_key(key, bytes_of(&e->error, sizeof e->error));
    if (which & TO)
        key = limit_key(key, bytes_of(&e->to_slot, sizeof e->to_slot));
    if (which & (TOPIC | LANE))
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
    char command[COMMAND_MAX], target[TOPIC_TEXT_MAX];
    struct log_field fields[FIELDS_N + 2];
    size_t fields_n = 0;
#define FIELD_ADD(NAME, ...)   \
    if ((which & (NAME)) != 0) \
        fields[fields_n++] = __VA_ARGS__;
    FIELDS(FIELD_ADD)
    fields[fields_n++] = F_NONZERO("suppressed", suppressed);
    fields[fields_n] = F_END;
    log_line(sentence.level, sentence.message, fields);
}
