/* SPDX-License-Identifier: Apache-2.0 */
/* The searches of the schedule topic and of the levels. */
#include "bridge/commands/find_parts.h"

#include "levels/envelope.h"
#include "levels/stay.h"

#include <stdio.h>
#include <stdlib.h>

static bool match_level(struct find *find, const struct scan_range *range,
                        const rd_kafka_message_t *message)
{
    struct envelope env;
    struct bytes key = bytes_of(message->key, message->key_len);
    struct bytes value = bytes_of(message->payload, message->len);
    const struct offsets_cell *cell = offsets_cell(&find->offsets, range->partition, range->tag);
    if (window_is_done(cell->window, message->offset) || envelope_open(value, &env) != 0)
        return true;
    const struct stamp *stamp = &env.stamp;
    struct place source = {(int)stamp->origin_lane, stamp->origin_offset};
    if (!find_is_wanted(&find->wanted, stamp->id, key, source))
        return true;
    struct found found = {.state = FOUND_WAITING,
                          .slot = range->tag,
                          .partition = range->partition,
                          .offset = message->offset,
                          .stamped_ms = rd_kafka_message_timestamp(message, NULL),
                          .key = key,
                          .value = value,
                          .source_lane = (int)stamp->origin_lane,
                          .source_offset = stamp->origin_offset,
                          .due_ms = stamp->due_ms};
    snprintf(found.topic, sizeof found.topic, "%s", range->topic);
    return find_add(find, &found);
}

static bool each(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message)
{
    struct find *find = ctx;
    return range->tag == 0 ? find_match_request(find, message) : match_level(find, range, message);
}

/* Lists the partitions of the wanted lanes, each from its committed base. history: only those of
   the schedule topic, each from the start of its log. Returns their number. */
static int list_ranges(const struct find *find, bool history, struct scan_range *ranges)
{
    const struct offsets *offsets = &find->offsets;
    int n = 0;
    for (int i = 0; i < offsets->lanes * offsets->slots; i++) {
        const struct offsets_cell *cell = &offsets->cells[i];
        int lane = i / offsets->slots, slot = i % offsets->slots;
        if ((history && slot > 0) || cell->end == 0 || cell->window == NULL ||
            (find->wanted.lane >= 0 && lane != find->wanted.lane))
            continue;
        struct scan_range *range = &ranges[n++];
        *range = (struct scan_range){.partition = lane,
                                     .from = history ? cell->low : cell->window->base,
                                     .end = cell->end,
                                     .tag = slot};
        offsets_topic(offsets->config, slot, range->topic);
    }
    return n;
}

static struct scan_range *new_ranges(struct find *find)
{
    const struct offsets *offsets = &find->offsets;
    struct scan_range *ranges =
        calloc((size_t)offsets->lanes * (size_t)offsets->slots, sizeof *ranges);
    if (ranges == NULL)
        (void)error_set(&find->error, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
    return ranges;
}

/* Limits a range of the schedule topic to the offset of --source. */
static void limit_to_source(const struct wanted *wanted, struct scan_range *range)
{
    if (!wanted->by_source || range->tag != 0)
        return;
    range->from = range->from > wanted->source_offset ? range->from : wanted->source_offset;
    if (range->end > wanted->source_offset)
        range->end = wanted->source_offset + 1;
}

static int scan_history(struct find *find, const struct around *sent)
{
    struct scan_range *ranges = new_ranges(find);
    if (ranges == NULL)
        return ERR_NO_MEMORY;
    int n = list_ranges(find, true, ranges);
    for (int i = 0; i < n; i++) {
        limit_to_source(&find->wanted, &ranges[i]);
        ranges[i].from_ms = sent == NULL ? 0 : sent->from_ms;
        ranges[i].to_ms = sent == NULL ? 0 : sent->to_ms;
    }
    int err = find_narrow(find, ranges, n);
    if (err == 0)
        err = find_scan(find, ranges, n, each);
    free(ranges);
    return err;
}

/* Returns whether the searches so far have read only the lane of the key. */
static bool has_other_lanes(const struct find *find)
{
    return find->wanted.key_lane >= 0 && find->wanted.lane >= 0 && find->offsets.lanes > 1;
}

int find_request(struct find *find)
{
    const struct wanted *wanted = &find->wanted;
    if (!wanted->by_source && !wanted->sent_known)
        return 0;
    find->only_requests = true;
    int err = scan_history(find, wanted->by_source ? NULL : &wanted->sent);
    find->only_requests = false;
    if (err == 0 && find->known_n == 0 && !has_other_lanes(find))
        find_note(find, wanted->by_source
                            ? "the schedule topic no longer has this offset"
                            : "the schedule topic has no such request from the time of --sent");
    return err;
}

int find_request_in_history(struct find *find)
{
    return find->known_n > 0 || find->wanted.by_source ? 0 : scan_history(find, NULL);
}

/* Returns whether the due time is known: from --due, or from the requests that were found. */
static bool due_range(const struct find *find, struct around *due)
{
    *due = find->wanted.due;
    if (find->wanted.due_known)
        return true;
    for (int i = 0; i < find->known_n; i++) {
        const struct known *known = &find->known[i];
        if (known->code != CODE_OK)
            return false;
        due->from_ms = i == 0 || known->due_ms < due->from_ms ? known->due_ms : due->from_ms;
        due->to_ms = i == 0 || known->due_ms > due->to_ms ? known->due_ms : due->to_ms;
    }
    return find->known_n > 0;
}

/* Limits a range of a level to the times at which the record may have entered it. due: NULL, or the
   times of its forwarding. sent_ms: no record of it is older; 0: unknown. */
static void limit_to_times(const struct find *find, const struct around *due, int64_t sent_ms,
                           struct scan_range *range)
{
    const struct config *config = find->cli->config;
    range->from_ms = sent_ms;
    if (due == NULL)
        return;
    struct stay stay =
        stay_in(&config->ladder, offsets_level_ms(config, range->tag), due->from_ms, due->to_ms);
    if (stay.after_ms != STAY_UNBOUNDED && stay.after_ms >= sent_ms)
        range->from_ms = stay.after_ms + 1;
    range->to_ms = stay.up_to_ms > 0 ? stay.up_to_ms : 1;
}

/* Scans the schedule topic and the levels. due, sent_ms: as in limit_to_times. before: NULL, or the
   ends that an earlier scan has reached. */
static int scan_waiting(struct find *find, const struct around *due, int64_t sent_ms,
                        const int64_t *before)
{
    struct scan_range *ranges = new_ranges(find);
    if (ranges == NULL)
        return ERR_NO_MEMORY;
    int n = list_ranges(find, false, ranges);
    for (int i = 0; i < n; i++) {
        struct scan_range *range = &ranges[i];
        limit_to_source(&find->wanted, range);
        if (before != NULL) {
            int64_t end = before[range->partition * find->offsets.slots + range->tag];
            range->from = range->from > end ? range->from : end;
        }
        if (range->tag > 0)
            limit_to_times(find, due, sent_ms, range);
    }
    int err = find_narrow(find, ranges, n);
    if (err == 0)
        err = find_scan(find, ranges, n, each);
    free(ranges);
    return err;
}

/* Searches the records that were written since the first look. A record may have moved to a topic
   whose end was read before the move. If that was committed before the offsets were read, the first
   look misses it. */
static int scan_moved(struct find *find)
{
    int cells = find->offsets.lanes * find->offsets.slots;
    int64_t *before = calloc((size_t)cells, sizeof *before);
    if (before == NULL)
        return error_set(&find->error, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
    for (int i = 0; i < cells; i++)
        before[i] = find->offsets.cells[i].end;
    int lanes = find->offsets.lanes;
    const struct config *config = find->cli->config;
    offsets_deinit(&find->offsets);
    find->offsets.config = config;
    int err = offsets_read(&find->offsets, find->rk, find->cli->timeout_ms, &find->error);
    if (err == 0 && find->offsets.lanes == lanes)
        err = scan_waiting(find, NULL, 0, before);
    free(before);
    return err;
}

/* A producer's clock may be wrong, and the levels may have changed. So ranges that hold nothing
   prove nothing. */
int find_waiting(struct find *find)
{
    struct around due;
    bool known = due_range(find, &due);
    int64_t sent_ms = find_sent_from_ms(find);
    int err = scan_waiting(find, known ? &due : NULL, sent_ms, NULL);
    if (err == 0 && (known || sent_ms > 0) && find->found_n == 0) {
        find_note(find, "the ranges for the %s time held nothing, so all that waits was searched",
                  known ? "due" : "sent");
        err = scan_waiting(find, NULL, 0, NULL);
    }
    return err == 0 && find->found_n == 0 ? scan_moved(find) : err;
}

/* The request of another partitioner, or from before partitions were added, is in another lane. */
int find_in_other_lanes(struct find *find)
{
    if (find->known_n > 0 || !has_other_lanes(find))
        return 0;
    find->wanted.lane = -1;
    int err = find_request(find);
    if (err == 0)
        err = find_waiting(find);
    return err == 0 && find->found_n == 0 ? find_request_in_history(find) : err;
}
