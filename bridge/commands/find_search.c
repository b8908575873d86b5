/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that all searches of find share: ranges by time, the scan with its bar, answers. */
#include "bridge/commands/find_parts.h"
#include "bridge/commands/output.h"
#include "bridge/commands/owned.h"

#include "consumer/client/log_ends.h"
#include "levels/counted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 30 };

void find_note(struct find *find, const char *format, ...)
{
    va_list arguments;
    if (find->notes_n == NOTES_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(find->notes[find->notes_n], sizeof find->notes[0], format, arguments);
    va_end(arguments);
    for (int i = 0; i < find->notes_n; i++)
        if (strcmp(find->notes[i], find->notes[find->notes_n]) == 0)
            return;
    find->notes_n++;
}

static void show_bar(void *ctx, int64_t read, int64_t all)
{
    struct find *find = ctx;
    char records[COUNTED_MAX];
    if (all > 0)
        output_progress(find->cli, (double)read / (double)all);
    if (find->cli->output != NULL || !isatty(STDERR_FILENO) || all == 0)
        return;
    int full = (int)(read * BAR / all);
    full = full > BAR ? BAR : full;
    fprintf(stderr, "\r[%.*s%.*s] %lld of %s ", full, "##############################", BAR - full,
            "                              ", (long long)read, counted(all, "record", records));
    fflush(stderr);
    find->bar_shown = true;
}

static void note_searched(struct find *find, const struct scan_range *range)
{
    int i = 0;
    while (i < find->searched_n && strcmp(find->searched[i].topic, range->topic) != 0)
        i++;
    if (i == SEARCHED_MAX)
        return;
    struct searched *searched = &find->searched[i];
    if (i == find->searched_n) {
        *searched = (struct searched){.partitions = 0};
        snprintf(searched->topic, sizeof searched->topic, "%s", range->topic);
        find->searched_n++;
    }
    searched->scan_partitions = searched->scan == find->scans_n ? searched->scan_partitions + 1 : 1;
    searched->scan = find->scans_n;
    if (searched->partitions < searched->scan_partitions)
        searched->partitions = searched->scan_partitions;
    searched->offsets += range->end > range->from ? range->end - range->from : 0;
}

/* Passes a record to the search. Returns false to end the scan. */
static bool give(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message)
{
    struct find *find = ctx;
    if (output_read(find->cli))
        return find->each(find, range, message);
    atomic_store(&find->stopped, true);
    return false;
}

int find_scan(struct find *find, struct scan_range *ranges, int n, find_each *each)
{
    find->each = each;
    struct scan scan = {.config = find->cli->config,
                        .rk = find->rk,
                        .timeout_ms = find->cli->timeout_ms,
                        .each = give,
                        .is_gentle = find->cli->output != NULL,
                        .progress = show_bar,
                        .ctx = find};
    int err = scan_read(&scan, ranges, n, &find->error);
    if (err == 0 && atomic_load(&find->stopped))
        err = error_set(&find->error, ERR_DATA, "stopped");
    find->scans_n++;
    if (find->bar_shown)
        fputs("\r\033[K", stderr);
    find->bar_shown = false;
    if (scan.denied[0] != '\0')
        snprintf(find->denied, sizeof find->denied, "%s", scan.denied);
    for (int i = 0; err == 0 && i < n; i++) {
        note_searched(find, &ranges[i]);
        if (ranges[i].unreadable >= 0)
            find_note(find, "%.64s/%d was searched only up to offset %lld, which cannot be read",
                      ranges[i].topic, ranges[i].partition, (long long)ranges[i].unreadable);
    }
    return err;
}

int find_narrow(struct find *find, struct scan_range *ranges, int n)
{
    const struct scan scan = {.rk = find->rk, .timeout_ms = find->cli->timeout_ms};
    return scan_narrow(&scan, ranges, n, &find->error);
}

/* Returns whether two answers are one. A waiting record is found twice if it moves to another level
   during the search, and a request can be cancelled twice. Any record is, if two searches read the
   same partition. */
static bool is_same(const struct found *a, const struct found *b)
{
    if (a->state != b->state)
        return false;
    if (a->state == FOUND_WAITING || (a->state == FOUND_CANCELLED && a->source_lane >= 0))
        return a->source_lane == b->source_lane && a->source_offset == b->source_offset;
    if (a->state == FOUND_CANCELLED)
        return b->source_lane < 0 && a->cancel_lane == b->cancel_lane;
    if (a->offset < 0 || b->offset < 0)
        return a->source_lane == b->source_lane && a->source_offset == b->source_offset;
    return a->partition == b->partition && a->offset == b->offset &&
           strcmp(a->topic, b->topic) == 0;
}

static struct found *same_as(struct find *find, const struct found *found)
{
    for (int i = 0; i < find->found_n; i++)
        if (is_same(&find->found[i], found))
            return &find->found[i];
    return NULL;
}

/* Returns whether an answer replaces another one for the same request. */
static bool is_better_than(const struct found *found, const struct found *other)
{
    if (found->state == FOUND_CANCELLED && found->source_lane < 0)
        return found->cancel_offset > other->cancel_offset;
    if (found->state == FOUND_CANCELLED)
        return found->cancel_offset < other->cancel_offset; /* the first cancel voids it */
    if (found->state != FOUND_WAITING)
        return other->offset < 0 && found->offset >= 0;
    return other->slot == 0 || (found->slot > 0 && other->stamped_ms < found->stamped_ms);
}

bool find_add(struct find *find, const struct found *found)
{
    pthread_mutex_lock(&find->mutex);
    struct found *place = same_as(find, found);
    bool is_better = place == NULL || is_better_than(found, place);
    if (is_better && !output_keep(find->cli, found->key.len + found->value.len)) {
        find_note(find, "there are more or larger answers than a job keeps");
        pthread_mutex_unlock(&find->mutex);
        return false;
    }
    if (place == NULL && find->found_n < find->wanted.limit)
        place = &find->found[find->found_n++];
    if (place != NULL && is_better) {
        owned_drop(&place->key);
        owned_drop(&place->value);
        *place = *found;
        (void)owned_copy(found->key, &place->key);
        (void)owned_copy(found->value, &place->value);
    }
    bool continues = find->found_n < find->wanted.limit && !find->wanted.by_source;
    pthread_mutex_unlock(&find->mutex);
    return continues;
}

int find_topic_ranges(struct find *find, const struct topic_part *part, struct scan_range *ranges)
{
    int n = part->last - part->first + 1;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(n);
    rd_kafka_topic_partition_list_add_range(list, part->topic, part->first, part->last);
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_copy(list);
    int timeout_ms = find->cli->timeout_ms;
    rd_kafka_resp_err_t code = log_ends_await(find->rk, list, LOG_BEGINNING, timeout_ms);
    code = code != 0 ? code : log_ends_await(find->rk, ends, LOG_END, timeout_ms);
    for (int i = 0; code == 0 && i < n; i++) {
        ranges[i] = (struct scan_range){.partition = list->elems[i].partition,
                                        .from = list->elems[i].offset,
                                        .end = ends->elems[i].offset,
                                        .from_ms = part->from_ms,
                                        .to_ms = part->to_ms};
        snprintf(ranges[i].topic, sizeof ranges[i].topic, "%s", part->topic);
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_topic_partition_list_destroy(ends);
    if (code != 0)
        return error_set(&find->error, ERR_KAFKA, "cannot read the offsets of %s: %s", part->topic,
                         rd_kafka_err2str(code));
    return find_narrow(find, ranges, n);
}
