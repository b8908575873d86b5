/* SPDX-License-Identifier: Apache-2.0 */
/* The searches of the topic of events for the end of a request. An event needs no Read on the
   target, and remains when the target has deleted the delivery. */
#include "bridge/commands/find_parts.h"

#include "bridge/commands/result.h"
#include "levels/base64.h"
#include "levels/event.h"
#include "levels/instant.h"

#include <stdio.h>
#include <string.h>

enum { AROUND_MS = 60 * 1000, UNKNOWN = -1 };

/* Returns whether the member has these bytes, as text or as base64. */
static bool is_bytes(const json_t *data, const char *name, struct bytes wanted)
{
    char in_base64[32];
    struct bytes decoded;
    const json_t *text = json_object_get(data, name);
    if (text != NULL)
        return bytes_equal(bytes_of(json_string_value(text), json_string_length(text)), wanted);
    snprintf(in_base64, sizeof in_base64, "%s_base64", name);
    text = json_object_get(data, in_base64);
    if (text == NULL ||
        base64_decode(bytes_of(json_string_value(text), json_string_length(text)), &decoded) != 0)
        return false;
    bool equal = bytes_equal(decoded, wanted);
    free((void *)decoded.data);
    return equal;
}

/* Returns whether the event is of a wanted request. With a known request, only the source counts.
 */
static bool is_of_wanted(const struct find *find, const json_t *data, const struct found *found)
{
    const struct wanted *wanted = &find->wanted;
    if (find->known_n > 0)
        return find_known(find, found->source_lane, found->source_offset) != NULL;
    if (wanted->by_source)
        return found->source_lane == wanted->lane && found->source_offset == wanted->source_offset;
    return (bytes_is_null(wanted->id) || is_bytes(data, "id", wanted->id)) &&
           (bytes_is_null(wanted->key) || is_bytes(data, "key", wanted->key));
}

static int64_t instant_of(const json_t *object, const char *name)
{
    int64_t ms;
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL && instant_parse(bytes_text(text), &ms) == 0 ? ms : 0;
}

static bool place_of(const struct find *find, const json_t *data, const char *name,
                     struct place *place)
{
    const char *text = json_string_value(json_object_get(data, name));
    return text != NULL && place_parse(bytes_text(text), find->cli->config->schedule, place) == 0;
}

static int64_t number_of(const json_t *data, const char *name)
{
    const json_t *number = json_object_get(data, name);
    return json_is_integer(number) ? json_integer_value(number) : UNKNOWN;
}

static void set_delivered(const struct find *find, const json_t *data, struct found *found)
{
    const struct known *known = find_known(find, found->source_lane, found->source_offset);
    int64_t due_ms = found->due_ms;
    found->state = FOUND_DELIVERED;
    found->partition = (int)number_of(data, "partition");
    found->offset = number_of(data, "offset");
    found->late_ms = found->stamped_ms -
                     (known != NULL && known->timestamp_ms > due_ms ? known->timestamp_ms : due_ms);
    snprintf(found->topic, sizeof found->topic, "%s",
             json_string_value(json_object_get(data, "target")));
}

static void set_dead(const struct find *find, const json_t *data, struct found *found)
{
    found->state = FOUND_DEAD;
    found->partition = found->source_lane;
    found->offset = UNKNOWN;
    topic_of_dead_letter(find->cli->config->schedule, found->topic);
    snprintf(found->code, sizeof found->code, "%s",
             json_string_value(json_object_get(data, "code")));
    snprintf(found->reason, sizeof found->reason, "%s",
             json_string_value(json_object_get(data, "reason")));
}

static bool set_cancelled(const struct find *find, const json_t *data, struct found *found)
{
    struct place by;
    if (!place_of(find, data, "cancelled_by", &by))
        return false;
    found->state = FOUND_CANCELLED;
    found->cancelled = true;
    found->cancel_lane = by.partition;
    found->cancel_offset = by.offset;
    return true;
}

/* Reads the end of a request from its event. Returns false if it is none. */
static bool read_end(const struct find *find, const json_t *data, struct found *found)
{
    static const char *const texts[] = {"target", "code", "reason"};
    const char *type = json_string_value(json_object_get(data, "event"));
    int event = type == NULL ? -1 : event_type_of(bytes_text(type));
    bool is_dead = event == EVENT_DEAD_LETTERED || event == EVENT_EXPIRED;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if ((i == 0 ? event == EVENT_DELIVERED : is_dead) &&
            !json_is_string(json_object_get(data, texts[i])))
            return false;
    if (event == EVENT_DELIVERED)
        set_delivered(find, data, found);
    else if (is_dead)
        set_dead(find, data, found);
    return event == EVENT_DELIVERED || is_dead ||
           (event == EVENT_CANCELLED && set_cancelled(find, data, found));
}

/* Returns whether the value of an event names this request. The parsing of all events would take
   longer than their reading. */
static bool names_source(const rd_kafka_message_t *message, const char *schedule, int64_t offset)
{
    char place[TOPIC_TEXT_MAX + 32];
    int len = snprintf(place, sizeof place, "\"%s/%d/%lld\"", schedule, (int)message->partition,
                       (long long)offset);
    return memmem(message->payload, message->len, place, (size_t)len) != NULL;
}

/* Returns false if the event is certainly of no wanted request. */
static bool may_be_wanted(const struct find *find, const rd_kafka_message_t *message)
{
    const char *schedule = find->cli->config->schedule;
    const struct wanted *wanted = &find->wanted;
    for (int i = 0; i < find->known_n; i++)
        if (find->known[i].lane == message->partition &&
            names_source(message, schedule, find->known[i].offset))
            return true;
    if (find->known_n > 0)
        return false;
    if (wanted->by_source)
        return names_source(message, schedule, wanted->source_offset);
    return bytes_is_null(wanted->id) || wanted->id.len > CANCEL_NAME_MAX ||
           bytes_equal(bytes_of(message->key, message->key_len), wanted->id);
}

static bool match_event(void *ctx, const struct scan_range *range,
                        const rd_kafka_message_t *message)
{
    struct find *find = ctx;
    struct place place;
    (void)range;
    if (!may_be_wanted(find, message))
        return true;
    json_t *event = json_loadb(message->payload, message->len, 0, NULL);
    const json_t *data = json_object_get(event, "data");
    bool continues = true;
    if (place_of(find, data, "source", &place)) {
        struct found found = {.source_lane = place.partition,
                              .source_offset = place.offset,
                              .stamped_ms = instant_of(event, "time"),
                              .due_ms = instant_of(data, "due"),
                              .event_ms = instant_of(event, "time"),
                              .event_lane = message->partition,
                              .event_offset = message->offset};
        if (found.event_ms != 0 && is_of_wanted(find, data, &found) && read_end(find, data, &found))
            continues = find_add(find, &found);
    }
    json_decref(event);
    return continues;
}

/* Reads the events of these times. A missing right or topic is only a limit of this search. */
static int read_events(struct find *find, int64_t from_ms, int64_t to_ms)
{
    char topic[TOPIC_TEXT_MAX], denied[TOPIC_TEXT_MAX];
    int lanes, lane = find->wanted.lane;
    topic_of_events(find->cli->config->schedule, topic);
    int err = find_partitions(find, topic, &lanes);
    if (err != 0)
        return err;
    if (lanes == 0 || lane >= lanes) {
        find_note(find, "%.100s does not exist, or Describe on it is denied", topic);
        return 0;
    }
    struct topic_part part = {.topic = topic,
                              .first = lane >= 0 ? lane : 0,
                              .last = lane >= 0 ? lane : lanes - 1,
                              .from_ms = from_ms,
                              .to_ms = to_ms};
    snprintf(denied, sizeof denied, "%s", find->denied);
    find->denied[0] = '\0';
    err = find_topic(find, &part, match_event);
    if (find->denied[0] != '\0') {
        find_note(find, "events were not searched: allow Read on %.100s", topic);
        err = 0;
    }
    snprintf(find->denied, sizeof find->denied, "%s", denied);
    return err;
}

/* Searches the places of deliveries whose events have none, as those of exactly-once mode. */
static int find_places(struct find *find)
{
    int err = 0;
    for (int i = 0, n = find->found_n; err == 0 && i < n; i++) {
        const struct found found = find->found[i];
        if (found.state == FOUND_DELIVERED && found.offset < 0)
            err = find_on_target(find, &found, AROUND_MS);
    }
    return err;
}

int find_reported(struct find *find, int64_t from_ms, int64_t to_ms)
{
    if (find->cli->config->events == 0)
        return 0;
    int err = read_events(find, from_ms, to_ms);
    return err == 0 ? find_places(find) : err;
}

int find_reported_ever(struct find *find)
{
    return find_reported(find, find_sent_from_ms(find), 0);
}
