/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the cancel or replace that has voided a request. It is on the topic of cancels
   while it is in force, and on the schedule topic within its retention. */
#include "bridge/commands/find_parts.h"

#include "levels/envelope.h"

#include <limits.h>

static bool voids(const struct voider *voider, const struct known *known)
{
    return known->code == CODE_OK && voider->lane == known->lane &&
           voider->offset > known->offset && voider->kind == known->kind &&
           !bytes_is_null(known->name) && bytes_equal(voider->name, known->name);
}

/* Returns whether all of the schedule topic was searched, up to the first offset ever. */
static bool is_whole_history(const struct find *find)
{
    bool whole = !find->wanted.by_source && !find->wanted.sent_known;
    for (int lane = 0; whole && lane < find->offsets.lanes; lane++)
        whole = offsets_cell(&find->offsets, lane, 0)->low == 0;
    return whole;
}

/* Returns whether the voider is for the name of the question, if the request may be gone. */
static bool is_for_wanted(const struct find *find, const struct voider *voider)
{
    const struct wanted *wanted = &find->wanted;
    if (find->known_n > 0 || wanted->by_source || is_whole_history(find))
        return false;
    return bytes_is_null(wanted->id)
               ? voider->kind == CANCEL_BY_KEY && bytes_equal(voider->name, wanted->key)
               : voider->kind == CANCEL_BY_ID && bytes_equal(voider->name, wanted->id);
}

static void set_cancel(struct found *found, const struct voider *voider, int64_t in_force_ms)
{
    found->cancelled = true;
    found->op = voider->op;
    found->cancel_lane = voider->lane;
    found->cancel_offset = voider->offset;
    found->cancel_sent_ms = voider->timestamp_ms;
    found->in_force_ms = in_force_ms;
}

/* Adds an answer for each known request that the voider voids. */
static bool add_answers(struct find *find, const struct voider *voider, int64_t in_force_ms)
{
    struct found found = {.state = FOUND_CANCELLED, .source_lane = -1};
    set_cancel(&found, voider, in_force_ms);
    if (is_for_wanted(find, voider))
        return find_add(find, &found);
    bool continues = true;
    for (int i = 0; continues && i < find->known_n; i++) {
        const struct known *known = &find->known[i];
        if (!voids(voider, known))
            continue;
        found.source_lane = known->lane;
        found.source_offset = known->offset;
        found.due_ms = known->due_ms;
        continues = find_add(find, &found);
    }
    return continues;
}

/* Reads a record of the topic of cancels. Returns false if it is no cancel. The name is borrowed.
 */
static bool read_entry(const rd_kafka_message_t *message, struct voider *voider,
                       int64_t *in_force_ms)
{
    struct cancel_decoded decoded;
    if (cancel_record_decode(bytes_of(message->payload, message->len), &decoded) != 0 ||
        decoded.type != CANCEL_RECORD_ENTRY)
        return false;
    const struct cancel_entry *entry = &decoded.is.entry;
    *voider = (struct voider){.lane = message->partition,
                              .offset = entry->offset,
                              .timestamp_ms = entry->timestamp_ms,
                              .op = entry->op,
                              .kind = entry->kind,
                              .name = bytes_of(message->key, message->key_len)};
    *in_force_ms = entry->in_force_ms;
    return true;
}

static bool match_in_force(void *ctx, const struct scan_range *range,
                           const rd_kafka_message_t *message)
{
    struct voider voider;
    int64_t in_force_ms;
    (void)range;
    return !read_entry(message, &voider, &in_force_ms) || add_answers(ctx, &voider, in_force_ms);
}

static bool match_schedule(void *ctx, const struct scan_range *range,
                           const rd_kafka_message_t *message)
{
    struct voider voider;
    (void)range;
    return !find_read_voider(ctx, message, &voider) || add_answers(ctx, &voider, 0);
}

/* Reads what the schedule topic has behind the known requests, unless all of it was searched. */
static int read_schedule(struct find *find, struct topic_part *part)
{
    bool searched = !find->wanted.by_source && !find->wanted.sent_known;
    if (searched || find->known_n == 0)
        return 0;
    part->topic = find->cli->config->schedule;
    return find_topic(find, part, match_schedule);
}

int find_cancelled(struct find *find)
{
    char topic[TOPIC_TEXT_MAX];
    int lane = find->wanted.lane;
    struct topic_part part = {.topic = topic_of_cancelled(find->cli->config->schedule, topic),
                              .first = lane >= 0 ? lane : 0,
                              .last = lane >= 0 ? lane : find->offsets.lanes - 1};
    int err = find_topic(find, &part, match_in_force);
    if (err == 0 && find->found_n == 0)
        err = read_schedule(find, &part);
    for (int i = 0; err == 0 && i < find->voiders_n; i++)
        (void)add_answers(find, &find->voiders[i], 0);
    if (find->found_n > 0 && find->known_n == 0)
        find_note(find, "%s", "the schedule topic no longer has the request that this cancels");
    return err;
}

/* Returns the name of a waiting record, or null. */
static struct bytes name_of(const struct found *found, enum cancel_kind *kind)
{
    struct envelope env;
    if (found->state != FOUND_WAITING || envelope_open(found->value, &env) != 0)
        return bytes_null();
    return stamp_name(&env.stamp, found->key, kind);
}

static bool match_waiting(void *ctx, const struct scan_range *range,
                          const rd_kafka_message_t *message)
{
    struct find *find = ctx;
    struct voider voider;
    int64_t in_force_ms;
    (void)range;
    if (!read_entry(message, &voider, &in_force_ms))
        return true;
    pthread_mutex_lock(&find->mutex);
    for (int i = 0; i < find->found_n; i++) {
        struct found *found = &find->found[i];
        enum cancel_kind kind;
        struct bytes name = name_of(found, &kind);
        if (!bytes_is_null(name) && !found->cancelled && kind == voider.kind &&
            found->source_lane == voider.lane && found->source_offset < voider.offset &&
            bytes_equal(name, voider.name))
            set_cancel(found, &voider, in_force_ms);
    }
    pthread_mutex_unlock(&find->mutex);
    return true;
}

int find_cancels_of_waiting(struct find *find)
{
    char topic[TOPIC_TEXT_MAX];
    enum cancel_kind kind;
    struct topic_part part = {.topic = topic_of_cancelled(find->cli->config->schedule, topic),
                              .first = INT_MAX,
                              .last = -1,
                              .from_ms = find_sent_from_ms(find)};
    for (int i = 0; i < find->found_n; i++) {
        const struct found *found = &find->found[i];
        if (bytes_is_null(name_of(found, &kind)) || found->source_lane < 0)
            continue;
        part.first = found->source_lane < part.first ? found->source_lane : part.first;
        part.last = found->source_lane > part.last ? found->source_lane : part.last;
    }
    return part.last < 0 ? 0 : find_topic(find, &part, match_waiting);
}
