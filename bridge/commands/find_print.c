/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of find as text and as JSON (docs/schemas/find.json). */
#include "bridge/commands/find_parts.h"

#include "bridge/commands/result.h"
#include "bridge/commands/waiting.h"
#include "levels/counted.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <stdio.h>

static const char *state_name(const struct found *found)
{
    switch (found->state) {
    case FOUND_WAITING:
        return found->cancelled ? "cancelled" : "waiting";
    case FOUND_DELIVERED:
        return "delivered";
    case FOUND_DEAD:
        return "dead_lettered";
    case FOUND_CANCELLED:
        return "cancelled";
    }
    return "";
}

static struct waiting waiting_of(const struct find *find, const struct found *found)
{
    const struct config *config = find->cli->config;
    struct waiting waiting = {.config = config,
                              .level_ms =
                                  found->slot == 0 ? 0 : offsets_level_ms(config, found->slot),
                              .lane = found->partition,
                              .offset = found->offset,
                              .stamped_ms = found->stamped_ms,
                              .key = found->key};
    waiting.opened = envelope_open(found->value, &waiting.env);
    return waiting;
}

static json_t *searched_json(const struct find *find)
{
    json_t *list = json_array();
    for (int i = 0; i < find->searched_n; i++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "topic", find->searched[i].topic,
                                              "partitions", find->searched[i].partitions, "offsets",
                                              (json_int_t)find->searched[i].offsets));
    return list;
}

static json_t *notes_json(const struct find *find)
{
    json_t *list = json_array();
    for (int i = 0; i < find->notes_n; i++)
        json_array_append_new(list, json_string(find->notes[i]));
    return list;
}

/* Returns the keys of every answer, with null for those that only some answers have. */
static json_t *line_of(const struct find *find, const char *state)
{
    json_t *line = json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "state", state, "topic",
                             "partition", "offset", "level", "in_memory", "source", "due");
    json_object_update_new(line,
                           json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:o, s:o}", "record",
                                     "delivered", "late_ms", "dead_letter", "cancel", "event",
                                     "searched", searched_json(find), "notes", notes_json(find)));
    return line;
}

static json_t *waiting_record(const struct find *find, const struct found *found)
{
    struct waiting waiting = waiting_of(find, found);
    return waiting.opened == 0 ? waiting_json(&waiting, find->now_ms) : json_null();
}

static const char *op_name(const struct found *found)
{
    return found->op == CANCEL_OP_REPLACE ? "replace" : "cancel";
}

static json_t *known_instant_json(int64_t ms)
{
    return ms == 0 ? json_null() : instant_json(ms);
}

static json_t *cancel_json(const struct find *find, const struct found *found)
{
    const char *op = found->cancel_sent_ms == 0 ? NULL : op_name(found);
    return json_pack("{s:s?, s:s, s:i, s:I, s:o, s:o}", "op", op, "topic",
                     find->cli->config->schedule, "partition", found->cancel_lane, "offset",
                     (json_int_t)found->cancel_offset, "timestamp",
                     known_instant_json(found->cancel_sent_ms), "in_force",
                     known_instant_json(found->in_force_ms));
}

static json_t *event_json(const struct find *find, const struct found *found)
{
    char topic[TOPIC_TEXT_MAX];
    return json_pack("{s:s, s:i, s:I, s:o}", "topic",
                     topic_of_events(find->cli->config->schedule, topic), "partition",
                     found->event_lane, "offset", (json_int_t)found->event_offset, "time",
                     instant_json(found->event_ms));
}

static void print_found_json(const struct find *find, const struct found *found)
{
    char level[DURATION_TEXT_MAX];
    json_t *line = line_of(find, state_name(found));
    if (found->topic[0] != '\0') {
        json_object_set_new(line, "topic", json_string(found->topic));
        if (found->partition >= 0)
            json_object_set_new(line, "partition", json_integer(found->partition));
        if (found->offset >= 0)
            json_object_set_new(line, "offset", json_integer(found->offset));
    }
    if (found->state == FOUND_WAITING && found->slot > 0)
        json_object_set_new(
            line, "level",
            json_string(duration_format(offsets_level_ms(find->cli->config, found->slot), level)));
    if (found->source_lane >= 0)
        json_object_set_new(line, "source",
                            json_pack("{s:s, s:i, s:I}", "topic", find->cli->config->schedule,
                                      "partition", found->source_lane, "offset",
                                      (json_int_t)found->source_offset));
    if (found->due_ms != 0)
        json_object_set_new(line, "due", instant_json(found->due_ms));
    if (found->state == FOUND_WAITING)
        json_object_set_new(line, "record", waiting_record(find, found));
    if (found->state == FOUND_WAITING && found->slot == 0)
        json_object_set_new(line, "in_memory",
                            found->read == READ_UNKNOWN ? json_null()
                                                        : json_boolean(found->read != READ_NOT));
    if (found->state == FOUND_DELIVERED) {
        json_object_set_new(line, "delivered", instant_json(found->stamped_ms));
        json_object_set_new(line, "late_ms", json_integer(found->late_ms));
    }
    if (found->cancelled)
        json_object_set_new(line, "cancel", cancel_json(find, found));
    if (found->event_ms != 0)
        json_object_set_new(line, "event", event_json(find, found));
    if (found->code[0] != '\0')
        json_object_set_new(line, "dead_letter",
                            json_pack("{s:s, s:s}", "code", found->code, "reason", found->reason));
    give_json(find->cli, line);
}

static void print_source(const struct find *find, const struct found *found)
{
    if (found->source_lane >= 0)
        printf("  %-9s %s/%d/%" PRId64 "\n", "source", find->cli->config->schedule,
               found->source_lane, found->source_offset);
}

static void print_place(const char *what, const struct found *found)
{
    printf("%s %s", what, found->topic);
    if (found->partition >= 0)
        printf(" partition %d", found->partition);
    if (found->offset >= 0)
        printf(" offset %" PRId64, found->offset);
    putchar('\n');
}

/* Prints the event that reports this. */
static void print_event(const struct find *find, const struct found *found)
{
    char topic[TOPIC_TEXT_MAX], at[INSTANT_TEXT_MAX];
    if (found->event_ms != 0)
        printf("  %-9s %s/%d/%" PRId64 " of %s\n", "event",
               topic_of_events(find->cli->config->schedule, topic), found->event_lane,
               found->event_offset, instant_format(found->event_ms, at));
}

static void print_cancelled(const struct find *find, const struct found *found)
{
    char at[INSTANT_TEXT_MAX];
    printf("cancelled by %s%s/%d/%" PRId64 "\n",
           found->cancel_sent_ms == 0       ? ""
           : found->op == CANCEL_OP_REPLACE ? "the replace "
                                            : "the cancel ",
           find->cli->config->schedule, found->cancel_lane, found->cancel_offset);
    if (found->cancel_sent_ms != 0)
        printf("  %-9s %s\n", "sent", instant_format(found->cancel_sent_ms, at));
    if (found->in_force_ms != 0)
        printf("  %-9s %s\n", "in force", instant_format(found->in_force_ms, at));
    if (found->state == FOUND_WAITING)
        return;
    if (found->due_ms != 0)
        printf("  %-9s %s\n", "due", instant_format(found->due_ms, at));
    print_source(find, found);
}

static const char *read_text(const struct found *found)
{
    switch (found->read) {
    case READ_UNKNOWN:
        return ", not read yet or in memory";
    case READ_NOT:
        return ", not read yet";
    case READ_AND_KEPT:
        return ", in memory";
    }
    return "";
}

static void print_waiting(const struct find *find, const struct found *found)
{
    struct waiting waiting = waiting_of(find, found);
    if (found->cancelled) {
        print_cancelled(find, found);
        printf("it is dropped when it leaves %s, where it is\n", found->topic);
    } else {
        printf("waiting in %s%s\n", found->topic, found->slot == 0 ? read_text(found) : "");
    }
    if (found->code[0] == '\0') {
        waiting_print(&waiting, find->now_ms);
        return;
    }
    printf("lane %d offset %" PRId64 "\n  will be dead-lettered: %s: %s\n", found->partition,
           found->offset, found->code, found->reason);
}

static void print_delivered(const struct find *find, const struct found *found)
{
    char at[INSTANT_TEXT_MAX], due[INSTANT_TEXT_MAX], late[DURATION_TEXT_MAX];
    print_place("delivered to", found);
    printf("  %-9s %s\n  %-9s %s\n", "at", instant_format(found->stamped_ms, at), "due",
           instant_format(found->due_ms, due));
    printf("  %-9s %s\n", "late", duration_format(found->late_ms > 0 ? found->late_ms : 0, late));
    print_source(find, found);
}

static void print_dead(const struct find *find, const struct found *found)
{
    char at[INSTANT_TEXT_MAX];
    print_place("dead-lettered in", found);
    printf("  %-9s %s\n  %-9s %s: %s\n", "at", instant_format(found->stamped_ms, at), "why",
           found->code, found->reason);
    print_source(find, found);
}

static void print_notes(const struct find *find)
{
    for (int i = 0; i < find->notes_n; i++)
        printf("note: %s\n", find->notes[i]);
}

void find_print(const struct find *find, const struct found *found)
{
    if (find->cli->json) {
        print_found_json(find, found);
        return;
    }
    switch (found->state) {
    case FOUND_WAITING:
        print_waiting(find, found);
        break;
    case FOUND_DELIVERED:
        print_delivered(find, found);
        break;
    case FOUND_DEAD:
        print_dead(find, found);
        break;
    case FOUND_CANCELLED:
        print_cancelled(find, found);
        break;
    }
    print_event(find, found);
    print_notes(find);
}

void find_print_none(const struct find *find)
{
    char offsets[COUNTED_MAX], partitions[COUNTED_MAX];
    if (find->cli->json) {
        give_json(find->cli, line_of(find, "not_found"));
        return;
    }
    puts("not found; searched:");
    for (int i = 0; i < find->searched_n; i++)
        printf("  %-24s %s of %s\n", find->searched[i].topic,
               counted(find->searched[i].offsets, "offset", offsets),
               counted(find->searched[i].partitions, "partition", partitions));
    print_notes(find);
}

void find_print_not_waiting(const struct find *find)
{
    if (find->cli->json)
        give_json(find->cli, line_of(find, "not_waiting"));
    else
        print_notes(find);
}
