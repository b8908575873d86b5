/* SPDX-License-Identifier: Apache-2.0 */
/* The searches of the dead-letter topic and of the targets. */
#include "bridge/commands/find_parts.h"
#include "bridge/commands/place.h"
#include "levels/murmur2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DELIVERED_WITHIN_MS = 3600 * 1000,
    REPORTED_WITHIN_MS = 60 * 1000,
    CLOCK_SKEW_MS = 60 * 1000,
    TARGETS_MAX = 64
};

static struct bytes header_of(rd_kafka_headers_t *headers, const char *name)
{
    const void *value;
    size_t len;
    if (rd_kafka_header_get_last(headers, name, &value, &len) != 0)
        return bytes_null();
    return bytes_of(value, len);
}

static int64_t number_of(struct bytes text)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.*s", (int)text.len,
             text.data == NULL ? "" : (const char *)text.data);
    return strtoll(digits, NULL, 10);
}

const struct known *find_known(const struct find *find, int lane, int64_t offset)
{
    for (int i = 0; i < find->known_n; i++)
        if (find->known[i].lane == lane && find->known[i].offset == offset)
            return &find->known[i];
    return NULL;
}

/* Returns whether a record outside the levels is of a wanted request. With a known request, only
   the source counts. */
static bool is_of_wanted(const struct find *find, const struct found *found,
                         rd_kafka_headers_t *headers)
{
    const struct wanted *wanted = &find->wanted;
    if (find->known_n > 0)
        return find_known(find, found->source_lane, found->source_offset) != NULL;
    if (wanted->by_source)
        return found->source_lane == wanted->lane && found->source_offset == wanted->source_offset;
    return (bytes_is_null(wanted->id) || bytes_equal(header_of(headers, "dlb-id"), wanted->id)) &&
           (bytes_is_null(wanted->key) || bytes_equal(found->key, wanted->key));
}

/* Reads the parts that deliveries and dead letters have in common. Returns the headers, or NULL if
   the record is of no wanted request. */
static rd_kafka_headers_t *read_common(const struct find *find, const struct scan_range *range,
                                       const rd_kafka_message_t *message, struct found *found)
{
    struct place place;
    rd_kafka_headers_t *headers;
    if (rd_kafka_message_headers(message, &headers) != 0)
        return NULL;
    *found = (struct found){.partition = message->partition,
                            .offset = message->offset,
                            .stamped_ms = rd_kafka_message_timestamp(message, NULL),
                            .key = bytes_of(message->key, message->key_len),
                            .source_lane = -1};
    snprintf(found->topic, sizeof found->topic, "%s", range->topic);
    if (place_parse(header_of(headers, "dlb-source"), find->cli->config->schedule, &place) == 0) {
        found->source_lane = place.partition;
        found->source_offset = place.offset;
    }
    return is_of_wanted(find, found, headers) ? headers : NULL;
}

static void copy_text(char *out, size_t size, struct bytes text)
{
    snprintf(out, size, "%.*s", (int)text.len, text.data == NULL ? "" : (const char *)text.data);
}

static bool match_dead(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message)
{
    struct find *find = ctx;
    struct found found;
    rd_kafka_headers_t *headers = read_common(find, range, message, &found);
    if (headers == NULL)
        return true;
    found.state = FOUND_DEAD;
    copy_text(found.code, sizeof found.code, header_of(headers, "dlb-error"));
    copy_text(found.reason, sizeof found.reason, header_of(headers, "dlb-reason"));
    return find_add(find, &found);
}

static bool match_delivery(void *ctx, const struct scan_range *range,
                           const rd_kafka_message_t *message)
{
    struct find *find = ctx;
    struct found found;
    rd_kafka_headers_t *headers = read_common(find, range, message, &found);
    if (headers == NULL)
        return true;
    const struct known *known = find_known(find, found.source_lane, found.source_offset);
    found.state = FOUND_DELIVERED;
    found.due_ms = number_of(header_of(headers, "dlb-due"));
    int64_t late_from_ms =
        known != NULL && known->timestamp_ms > found.due_ms ? known->timestamp_ms : found.due_ms;
    found.late_ms = found.stamped_ms - late_from_ms;
    return find_add(find, &found);
}

int64_t find_sent_from_ms(const struct find *find)
{
    int64_t from_ms = find->wanted.sent_known ? find->wanted.sent.from_ms : 0;
    for (int i = 0; i < find->known_n; i++) {
        int64_t sent_ms = find->known[i].timestamp_ms;
        if (sent_ms < 0 || sent_ms > find->now_ms)
            return 0; /* a producer's clock is wrong */
        from_ms = i == 0 || sent_ms < from_ms ? sent_ms : from_ms;
    }
    return from_ms > CLOCK_SKEW_MS ? from_ms - CLOCK_SKEW_MS : 0;
}

int find_topic(struct find *find, const struct topic_part *part, find_each *each)
{
    int n = part->last - part->first + 1;
    struct scan_range *ranges = calloc((size_t)n, sizeof *ranges);
    if (ranges == NULL)
        return error_set(&find->error, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
    int err = find_topic_ranges(find, part, ranges);
    if (err == 0)
        err = find_scan(find, ranges, n, each);
    free(ranges);
    return err;
}

int find_dead_letter(struct find *find)
{
    char topic[TOPIC_TEXT_MAX];
    int lane = find->wanted.lane;
    struct topic_part part = {.topic = topic_of_dead_letter(find->cli->config->schedule, topic),
                              .first = lane >= 0 ? lane : 0,
                              .last = lane >= 0 ? lane : find->offsets.lanes - 1,
                              .from_ms = find_sent_from_ms(find)};
    return find_topic(find, &part, match_dead);
}

/* One target and the times of the deliveries to search for. */
struct goal {
    const char *topic;
    int64_t from_ms, to_ms;
    struct bytes key;
    bool has_key; /* all deliveries have this key, which decides their partition */
};

/* A request for the metadata by name could create the topic. */
int find_partitions(struct find *find, const char *topic, int *partitions)
{
    const rd_kafka_metadata_t *metadata;
    rd_kafka_resp_err_t code =
        rd_kafka_metadata(find->rk, 1, NULL, &metadata, find->cli->timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return error_set(&find->error, ERR_KAFKA, "cannot read the list of topics: %s",
                         rd_kafka_err2str(code));
    *partitions = 0;
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, topic) == 0)
            *partitions = metadata->topics[i].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

static int scan_target(struct find *find, const struct goal *goal)
{
    int partitions = 0;
    int err = find_partitions(find, goal->topic, &partitions);
    if (err != 0)
        return err;
    if (partitions == 0) {
        find_note(find, "%.100s does not exist, or Describe on it is denied", goal->topic);
        return 0;
    }
    struct topic_part part = {.topic = goal->topic,
                              .last = partitions - 1,
                              .from_ms = goal->from_ms,
                              .to_ms = goal->to_ms};
    if (goal->has_key)
        part.first = part.last = murmur2_partition(goal->key, partitions);
    err = find_topic(find, &part, match_delivery);
    return find->denied[0] != '\0' ? 0 : err; /* the answer says that Read is denied */
}

static int64_t until_ms(const struct find *find, int64_t due_ms)
{
    if (find->wanted.until_ms > 0)
        return find->wanted.until_ms;
    return due_ms > INT64_MAX - DELIVERED_WITHIN_MS ? INT64_MAX : due_ms + DELIVERED_WITHIN_MS;
}

/* Searches the targets that the configuration names in full, if the request itself is gone. */
static int scan_known_targets(struct find *find)
{
    const struct config *config = find->cli->config;
    const struct wanted *wanted = &find->wanted;
    struct goal goal = {.from_ms = wanted->due.from_ms, .to_ms = until_ms(find, wanted->due.to_ms)};
    if (!wanted->due_known) {
        find_note(find, "%s",
                  "the schedule topic no longer has the request, so its target is not "
                  "known: give --due to search the targets");
        return 0;
    }
    int err = 0;
    for (size_t i = 0; err == 0 && i < config->targets_n; i++) {
        goal.topic = config->targets[i];
        if (strchr(goal.topic, '*') == NULL)
            err = scan_target(find, &goal);
        else
            find_note(find, "targets like %.60s are not searched", goal.topic);
    }
    return err;
}

/* Returns whether the end of this request is found. */
static bool is_answered(const struct find *find, const struct known *known)
{
    for (int i = 0; i < find->found_n; i++)
        if (find->found[i].source_lane == known->lane &&
            find->found[i].source_offset == known->offset)
            return true;
    return false;
}

int find_on_target(struct find *find, const struct found *found, int64_t span_ms)
{
    const struct known *known = find_known(find, found->source_lane, found->source_offset);
    const struct goal goal = {.topic = found->topic,
                              .from_ms = found->event_ms - span_ms,
                              .to_ms = found->event_ms + span_ms,
                              .key = known != NULL ? known->key : bytes_null(),
                              .has_key = known != NULL && !bytes_is_null(known->key)};
    return scan_target(find, &goal);
}

/* Searches the events that followed the due times. Later ones are rare, and the target often has
   fewer records than the topic of events. */
static int find_reported_soon(struct find *find)
{
    int64_t from_ms = find->wanted.due.from_ms, to_ms = find->wanted.due.to_ms;
    bool is_known = find->wanted.due_known;
    for (int i = 0; i < find->known_n; i++) {
        const struct known *known = &find->known[i];
        if (known->code != CODE_OK)
            continue;
        int64_t due_ms = known->due_ms > known->timestamp_ms ? known->due_ms : known->timestamp_ms;
        from_ms = !is_known || due_ms < from_ms ? due_ms : from_ms;
        to_ms = !is_known || due_ms > to_ms ? due_ms : to_ms;
        is_known = true;
    }
    to_ms += to_ms < INT64_MAX - REPORTED_WITHIN_MS ? REPORTED_WITHIN_MS : 0;
    return is_known ? find_reported(find, from_ms, to_ms) : 0;
}

int find_delivered(struct find *find)
{
    int err = find_reported_soon(find);
    if (err == 0 && find->known_n == 0 && find->found_n == 0)
        return scan_known_targets(find);
    for (int i = 0; err == 0 && i < find->known_n; i++) {
        const struct known *known = &find->known[i];
        struct goal goal = {.topic = known->target,
                            .from_ms = known->due_ms,
                            .to_ms = until_ms(find, known->due_ms),
                            .key = known->key,
                            .has_key = !bytes_is_null(known->key)};
        if (known->code == CODE_OK && !is_answered(find, known))
            err = scan_target(find, &goal);
    }
    return err;
}
