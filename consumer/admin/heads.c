/* SPDX-License-Identifier: Apache-2.0 */
/* Reads each partition from its committed base, and skips the records that are done above it. */
#include "consumer/admin/heads.h"

#include "consumer/admin/browse.h"

#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS_MS = 2000, LOOK_BYTES = 16 << 20, RECORD_BYTES = 100 };

struct looking {
    struct offsets *offsets;
    struct head *heads;
    size_t share_bytes; /* limit for the records read behind the head of one partition */
};

int64_t heads_leaves_ms(const struct config *config, int64_t level_ms, int64_t stamped_wall_ms,
                        const struct stamp *stamp)
{
    int64_t until_wall_ms = stamp_until_ms(stamp);
    int64_t release_wall_ms =
        plan_release_ms(&config->ladder, level_ms, stamped_wall_ms, until_wall_ms);
    bool kept = !stamp_is_put_back(stamp) && until_wall_ms - release_wall_ms <= config->hold_ms;
    return kept ? until_wall_ms : release_wall_ms;
}

static void open_head(const struct offsets *offsets, struct head *head,
                      const rd_kafka_message_t *message, int slot)
{
    struct envelope env;
    int64_t stamped_wall_ms = rd_kafka_message_timestamp(message, NULL);
    head->lane = message->partition;
    head->offset = message->offset;
    head->kind = HEAD_FOREIGN;
    if (slot == 0)
        return;
    int err = envelope_open(bytes_of(message->payload, message->len), &env);
    if (err == ERR_NEWER)
        head->kind = HEAD_NEWER;
    if (err != 0)
        return;
    const struct stamp *stamp = &env.stamp;
    head->kind = HEAD_OPENED;
    head->due_wall_ms = stamp->due_ms;
    head->release_wall_ms = heads_leaves_ms(
        offsets->config, offsets_level_ms(offsets->config, slot), stamped_wall_ms, stamp);
}

static void note_redelivering(struct head *head, const rd_kafka_message_t *message)
{
    struct envelope env;
    if (envelope_open(bytes_of(message->payload, message->len), &env) != 0)
        return;
    head->withheld += stamp_is_withheld(&env.stamp);
    int64_t overdue_ms = stamp_overdue_ms(&env.stamp);
    if (overdue_ms == 0)
        return;
    if (head->redelivering++ == 0 || overdue_ms < head->redelivering_due_wall_ms)
        head->redelivering_due_wall_ms = overdue_ms;
}

static bool note_record(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    const struct looking *looking = ctx;
    const struct offsets_cell *cell = &looking->offsets->cells[tag];
    struct head *head = &looking->heads[tag];
    int slot = (int)tag % looking->offsets->slots;
    if (window_is_done(cell->window, message->offset))
        return true;
    if (head->kind == HEAD_NONE)
        open_head(looking->offsets, head, message, slot);
    if (slot == 0)
        return false;
    note_redelivering(head, message);
    head->looked_bytes += message->len + message->key_len + RECORD_BYTES;
    head->redelivering_is_cut =
        head->looked_bytes >= looking->share_bytes && message->offset + 1 < cell->end;
    return head->looked_bytes < looking->share_bytes && message->offset + 1 < cell->end;
}

/* Lists the partitions of the levels, or of the schedule topic, that may have waiting records. */
static rd_kafka_topic_partition_list_t *list_waiting(const struct offsets *offsets, bool levels)
{
    char name[TOPIC_TEXT_MAX];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);
    for (int i = 0; i < offsets->lanes * offsets->slots; i++) {
        int slot = i % offsets->slots;
        if (offsets->cells[i].waiting == 0 || (slot > 0) != levels)
            continue;
        rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(
            list, offsets_topic(offsets->config, slot, name), i / offsets->slots);
        at->offset = offsets->cells[i].window->base;
        at->opaque = (void *)(intptr_t)i;
    }
    return list;
}

/* Handles the end of a partition. If no head was found, only aborted records and markers of
   transactions were left, so no record waits. */
static void note_end(void *ctx, intptr_t tag, int64_t offset)
{
    const struct looking *looking = ctx;
    struct offsets_cell *cell = &looking->offsets->cells[tag];
    if (looking->heads[tag].kind == HEAD_NONE && offset >= cell->end)
        cell->waiting = cell->unread = 0;
}

static void note_unreadable(void *ctx, intptr_t tag, int64_t offset)
{
    const struct looking *looking = ctx;
    struct head *head = &looking->heads[tag];
    head->kind = HEAD_UNREADABLE;
    head->lane = (int)tag / looking->offsets->slots;
    head->offset = offset;
}

static int browse_heads(struct looking *looking, rd_kafka_t *rk, int timeout_ms, bool levels,
                        struct error *error)
{
    struct browse browse = {.rk = rk,
                            .timeout_ms = timeout_ms,
                            .each = note_record,
                            .ended = note_end,
                            .unreadable = note_unreadable,
                            .ctx = looking};
    rd_kafka_topic_partition_list_t *list = list_waiting(looking->offsets, levels);
    looking->share_bytes = LOOK_BYTES / (size_t)(list->cnt > 0 ? list->cnt : 1);
    int err = list->cnt == 0 ? 0 : browse_read(&browse, list, error);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

struct head *heads_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                        struct error *error)
{
    struct looking looking = {
        .offsets = offsets,
        .heads = calloc((size_t)offsets->lanes * (size_t)offsets->slots, sizeof *looking.heads)};
    struct error ignored; /* a login without Read on the schedule topic still sees the levels */
    if (looking.heads == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    if (browse_heads(&looking, rk, timeout_ms, true, error) == 0) {
        (void)!browse_heads(&looking, rk, REQUESTS_MS, false, &ignored);
        return looking.heads;
    }
    free(looking.heads);
    return NULL;
}

struct redelivering heads_redelivering(const struct offsets *offsets, const struct head *heads,
                                       int slot)
{
    struct redelivering sum = {0};
    for (int lane = 0; lane < offsets->lanes; lane++) {
        const struct head *head = &heads[lane * offsets->slots + slot];
        sum.is_cut |= head->redelivering_is_cut;
        if (head->redelivering > 0 &&
            (sum.n == 0 || head->redelivering_due_wall_ms < sum.due_wall_ms))
            sum.due_wall_ms = head->redelivering_due_wall_ms;
        sum.n += head->redelivering;
        sum.withheld += head->withheld;
    }
    return sum;
}

const struct head *heads_first(const struct offsets *offsets, const struct head *heads, int slot)
{
    const struct head *first = NULL;
    for (int lane = 0; lane < offsets->lanes; lane++) {
        const struct head *head = &heads[lane * offsets->slots + slot];
        if (head->kind == HEAD_NONE)
            continue;
        if (first == NULL || head->kind != HEAD_OPENED ||
            head->release_wall_ms < first->release_wall_ms)
            first = head;
    }
    return first;
}
