/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of notices, their fields, and the rate of their lines. */
#include "bridge/service/notices.h"

#include "bridge/base/log.h"
#include "levels/topic_name.h"

#include <inttypes.h>
#include <stdio.h>

enum { COMMAND_MAX = 1000 };

static const char *topic_read(const struct notices *to, int slot)
{
    return slot == SLOT_CANCELS  ? to->cancelled
           : slot == SLOT_EVENTS ? to->events
                                 : to->topics[slot];
}

static const char *topic_written(const struct notices *to, int slot)
{
    return slot == SLOT_SCHEDULE ? to->dead_letter : topic_read(to, slot);
}

/* Each field of a line, with its value for a notice. A line has them in this order. */
#define FIELDS(X)                                                                     \
    X(TOPIC, F_TEXT("topic", topic_read(to, n->queue.slot)))                          \
    X(TO, F_TEXT("topic", topic_written(to, n->to_slot)))                             \
    X(LANE, F_INT("lane", n->queue.lane))                                             \
    X(OFFSET, F_OFFSET("offset", n->offset))                                          \
    X(RANGE, F_RANGE("range", n->offset, n->end_offset))                              \
    X(SKIP, F_TEXT("command", skip_command(to, n, command)))                          \
    X(RESET, F_TEXT("command", reset_command(to, n, command)))                        \
    X(SOURCE, F_PLACE("source", to->topics[n->queue.slot], n->queue.lane, n->offset)) \
    X(KEY, F_BYTES("key", n->key))                                                    \
    X(TARGET, name_field("target", n->target, target))                                \
    X(CODE, F_TEXT("code", code_name(n->code)))                                       \
    X(ERROR, F_TEXT("error", delivery_error_name(n->error)))                          \
    X(REASON, F_TEXT("reason", n->reason == NULL ? "" : n->reason))                   \
    X(ATTEMPT, F_INT("attempt", n->attempt))                                          \
    X(NEXT_TRY, F_INSTANT("next_try", n->next_try_wall_ms))                           \
    X(OFFSETS, F_INT("offsets", n->count))                                            \
    X(RECORDS, F_INT("records", n->count))                                            \
    X(CANCELS, F_INT("cancels", n->count))                                            \
    X(TOOK, F_MS("took_ms", n->span_ms))                                              \
    X(ACK, F_MS("ack_ms", n->span_ms))                                                \
    X(STALLED, F_MS("stalled_ms", n->span_ms))                                        \
    X(STEP, F_MS("step_ms", n->span_ms))                                              \
    X(WAITED, F_MS("waited_ms", n->span_ms))                                          \
    X(REDELIVERY_IN, F_MS("redelivery_in_ms", n->span_ms))                            \
    X(THROTTLE, F_MS("throttle_ms", n->span_ms))

#define FIELD_NUMBER(NAME, ...) FIELD_NUMBER_##NAME,
enum { FIELDS(FIELD_NUMBER) FIELDS_N };
#define FIELD_BIT(NAME, ...) NAME = 1 << FIELD_NUMBER_##NAME,
enum { FIELDS(FIELD_BIT) };

struct sentence {
    enum log_level level;
    unsigned fields;
    const char *message;
};

/* By kind. NOTICE_DEAD_LETTERED is not in this table: its sentence depends on the code. */
static const struct sentence sentences[NOTICE_KINDS] = {
    [NOTICE_GAP] = {LOG_WARN, TOPIC | LANE | OFFSETS,
                    "offsets missing in a level topic, counted as processed: harmless after a "
                    "change from exactly-once, otherwise send the lost records again"},
    [NOTICE_OUT_OF_RANGE] = {LOG_ERROR, TOPIC | LANE | OFFSETS,
                             "records were deleted before they were read, continuing at the start "
                             "of the log: run 'delaybridge check'"},
    [NOTICE_BEYOND_END] = {LOG_ERROR, TOPIC | LANE | OFFSET | RESET,
                           "committed offset is beyond the end of the log, partition blocked: stop "
                           "all processes, run the command in this line, then start them"},
    [NOTICE_MISSING] = {LOG_ERROR, TOPIC | LANE | RECORDS,
                        "level topic does not exist, its records are lost and requests for this "
                        "level wait: run 'delaybridge topics apply'"},
    [NOTICE_REPLACED] = {LOG_ERROR, TOPIC | LANE | OFFSET | REASON | RESET,
                         "topic was recreated under the running bridge, partition blocked: stop "
                         "all processes, run the command in this line, then start them"},
    [NOTICE_NEWER_ENVELOPE] = {LOG_ERROR, TOPIC | LANE | OFFSET,
                               "record was written by a newer delaybridge, partition blocked: "
                               "upgrade this process"},
    [NOTICE_STALL_RECOVERY] = {LOG_WARN, TOPIC | LANE | STALLED,
                               "partition stalled after a resume, its records wait, reading it "
                               "again: restart this process if this repeats"},
    [NOTICE_CLOCK_BACK] = {LOG_WARN, STEP, "clock stepped back, reading buffered records again"},
    [NOTICE_STALLED_TURN] = {LOG_WARN, STALLED,
                             "process stalled, forwarding suspended until a commit confirms lane "
                             "ownership: give the process more CPU"},
    [NOTICE_TARGET_DOWN] = {LOG_WARN, TARGET | ERROR | REASON | REDELIVERY_IN,
                            "target unavailable, deliveries deferred"},
    [NOTICE_TARGET_UP] = {LOG_INFO, TARGET, "target available again, deliveries continue"},
    [NOTICE_TARGET_SLOW] = {LOG_WARN, TARGET | ACK,
                            "a target acknowledges slowly and delays the other targets of this "
                            "bridge: give it its own configuration and schedule topic"},
    [NOTICE_TARGET_FAST] = {LOG_INFO, TARGET, "a target acknowledges as fast as others again"},
    [NOTICE_ABORTED] = {LOG_WARN, REASON | RECORDS,
                        "transaction aborted, reading its records again"},
    [NOTICE_FORWARD_FAILED] = {LOG_ERROR, TO | SOURCE | REASON,
                               "cannot write to a topic of the bridge, trying again: run "
                               "'delaybridge check'"},
    [NOTICE_DELIVERY_FAILED] = {LOG_WARN,
                                SOURCE | KEY | TARGET | ERROR | REASON | ATTEMPT | NEXT_TRY,
                                "delivery failed, trying again"},
    [NOTICE_UNREADABLE] = {LOG_ERROR, TOPIC | LANE | OFFSET | RANGE | SKIP,
                           "batch is unreadable, partition blocked until the range is skipped: run "
                           "the command in this line"},
    [NOTICE_RANGE_SKIPPED] = {LOG_WARN, TOPIC | LANE | OFFSET | RANGE,
                              "unreadable batch skipped, its range is in the dead-letter topic"},
    [NOTICE_OUTLET_DOWN] = {LOG_ERROR, TO | LANE | REASON,
                            "partition of the bridge unavailable, its lane waits: run "
                            "'delaybridge check' and kafka-topics.sh --describe "
                            "--under-min-isr-partitions"},
    [NOTICE_OUTLET_UP] = {LOG_INFO, TO | LANE,
                          "partition of the bridge available again, its lane continues"},
    [NOTICE_THROTTLED] = {LOG_WARN, THROTTLE,
                          "broker quota exceeded, forwarding waits: raise producer_byte_rate or "
                          "request_percentage of the bridge's user or client id"},
    [NOTICE_CANCELLED] = {LOG_INFO, SOURCE | KEY | TARGET, "request cancelled"},
    [NOTICE_CANCEL_NOT_OURS] = {LOG_ERROR, TOPIC | LANE | OFFSET | REASON,
                                "record of the topic of cancels is damaged or foreign, ignored: "
                                "allow only the bridge to write there"},
    [NOTICE_CANCEL_NEWER] =
        {LOG_ERROR, TOPIC | LANE | OFFSET,
         "cancel was written by a newer delaybridge, lane blocked: upgrade this process"},
    [NOTICE_LANE_RESTORED] = {LOG_INFO, LANE | CANCELS | TOOK,
                              "cancels of a lane are in force again, lane opens"},
    [NOTICE_CANCELS_GREW] = {LOG_WARN, LANE | CANCELS,
                             "more cancels in force than fit the table, table enlarged: raise "
                             "cancel_memory"},
    [NOTICE_CANCELS_NO_MEMORY] = {LOG_ERROR, LANE | CANCELS,
                                  "no memory for the cancels in force, exiting: give the process "
                                  "more memory, or run more processes"},
    [NOTICE_CONTROL_UNKNOWN] = {LOG_ERROR, WAITED,
                                "cannot read the paused and limited targets, lanes open without "
                                "them: allow Read on the topic of control, or run 'delaybridge "
                                "check'"},
    [NOTICE_LOG_CUT] =
        {LOG_ERROR, TOPIC | LANE | OFFSET | CANCELS,
         "schedule topic has lost its records from this offset on, reading continues "
         "there: have producers send the lost requests again"},
    [NOTICE_LOG_REPLACED] = {LOG_WARN, TOPIC | LANE | CANCELS,
                             "schedule topic was recreated, copied or truncated, its older cancels "
                             "void older requests only"},
};

/* Of NOTICE_DEAD_LETTERED, which comes before the dead letter is written. */
static const struct sentence expired = {
    LOG_WARN, TO | SOURCE | KEY | TARGET | CODE | REASON,
    "record expires before its delivery, it goes to the dead-letter topic: check its expiry, and "
    "whether deliveries are late"};
static const struct sentence undeliverable = {
    LOG_WARN, TO | SOURCE | KEY | TARGET | CODE | REASON,
    "delivery failed at every attempt, the record goes to the dead-letter topic: correct the "
    "target, then send the record again"};
static const struct sentence refused = {
    LOG_WARN, TO | SOURCE | KEY | TARGET | CODE | REASON,
    "record refused, it goes to the dead-letter topic: correct the cause, then send it again"};

static const struct sentence *sentence_of(const struct notice *n)
{
    if (n->kind != NOTICE_DEAD_LETTERED)
        return &sentences[n->kind];
    if (n->code == CODE_EXPIRED)
        return &expired;
    return n->code == CODE_TARGET_FAILED ? &undeliverable : &refused;
}

/* Writes the command that skips an unreadable range. Returns out. */
static const char *skip_command(const struct notices *to, const struct notice *n,
                                char out[COMMAND_MAX])
{
    snprintf(out, COMMAND_MAX, "delaybridge skip %s/%d/%" PRId64 "-%" PRId64,
             to->topics[n->queue.slot], n->queue.lane, n->offset, n->end_offset);
    return out;
}

/* Writes the command that sets the group's offset to the start of the log. Returns out. */
static const char *reset_command(const struct notices *to, const struct notice *n,
                                 char out[COMMAND_MAX])
{
    snprintf(out, COMMAND_MAX,
             "kafka-consumer-groups.sh --bootstrap-server BROKER --group %s --topic %s:%d "
             "--reset-offsets --to-earliest --execute",
             to->group, to->topics[n->queue.slot], n->queue.lane);
    return out;
}

/* Returns a field with a target's name. A legal name is written whole, where F_BYTES would cut it.
 */
static struct log_field name_field(const char *key, struct bytes name, char out[TOPIC_TEXT_MAX])
{
    if (!topic_name_is_legal(name))
        return F_BYTES(key, name);
    snprintf(out, TOPIC_TEXT_MAX, "%.*s", (int)name.len, (const char *)name.data);
    return F_TEXT(key, out);
}

/* Returns the kind of a line for the rate limit. Its key has the target's name and the lane. Its
   group has the entry of `targets` instead of the name, and no lane. The values of a record are in
   neither, because they differ in each line. */
static struct limit_kind kind_of(const struct notices *to, const struct notice *n, unsigned which)
{
    uint64_t group = limit_key(LIMIT_KEY, bytes_of(&n->kind, sizeof n->kind));
    if (which & CODE)
        group = limit_key(group, bytes_of(&n->code, sizeof n->code));
    if (which & ERROR)
        group = limit_key(group, bytes_of(&n->error, sizeof n->error));
    if (which & TO)
        group = limit_key(group, bytes_of(&n->to_slot, sizeof n->to_slot));
    if (which & TOPIC)
        group = limit_key(group, bytes_of(&n->queue.slot, sizeof n->queue.slot));
    struct limit_kind kind = {.key = group, .group = group};
    if (which & TARGET) {
        int entry = allowlist_entry(&to->targets, n->target);
        kind.group = limit_key(group, bytes_of(&entry, sizeof entry));
        kind.key = limit_key(group, n->target);
    }
    if (which & LANE)
        kind.key = limit_key(kind.key, bytes_of(&n->queue.lane, sizeof n->queue.lane));
    return kind;
}

void notice_log(struct notices *to, const struct notice *n, int64_t mono_ms)
{
    const struct sentence *sentence = sentence_of(n);
    unsigned which = sentence->fields;
    struct limit_kind kind = kind_of(to, n, which);
    uint64_t suppressed;
    if (!limit_pass(&to->limit, kind, mono_ms, &suppressed))
        return;
    char command[COMMAND_MAX], target[TOPIC_TEXT_MAX];
    struct log_field fields[FIELDS_N + 3];
    size_t fields_n = 0;
#define FIELD_ADD(NAME, ...)   \
    if ((which & (NAME)) != 0) \
        fields[fields_n++] = __VA_ARGS__;
    FIELDS(FIELD_ADD)
    fields[fields_n++] = F_NONZERO("suppressed", suppressed);
    fields[fields_n++] = F_LIMIT(kind.group);
    fields[fields_n] = F_END;
    log_line(sentence->level, sentence->message, fields);
}
