/* SPDX-License-Identifier: Apache-2.0 */
/* Idle partitions: drained ones leave the fetch requests until they have records again. */
#include "consumer/source_parts.h"

enum { CHECK_MS = 250, REREAD_MS = 10000 };

/* An end of the log below next_offset was reported before the last seek. An end above it is valid:
   transaction markers lie between. */
static bool is_drained(const struct partition *p)
{
    return p->drained_offset >= 0 && p->drained_offset >= p->next_offset &&
           p->drained_offset >= p->landed_offset;
}

/* Lists the owned level partitions for which chooses returns true. */
static rd_kafka_topic_partition_list_t *choose_levels(struct source *s,
                                                      bool (*chooses)(struct partition *p))
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = SLOT_SCHEDULE + 1; slot < s->config.slots; slot++) {
            struct partition *p = source_partition(s, s->owned[i], slot);
            if (chooses(p))
                source_list_add(list, s->config.topics[slot], s->owned[i], p->next_offset);
        }
    }
    return list;
}

/* Makes a partition idle that is drained, and from which no record was taken since the last check.
   Returns whether it did. */
static bool become_idle(struct partition *p)
{
    bool unchanged = p->next_offset == p->checked_offset;
    p->checked_offset = p->next_offset;
    if (p->paused || p->idle || !unchanged || p->lost || !is_drained(p))
        return false;
    return p->idle = true;
}

/* Ends the idleness of a partition. Returns whether it was idle. */
static bool become_active(struct partition *p)
{
    bool was_idle = p->idle;
    if (was_idle)
        p->drained_offset = -1; /* the client reports the end of the log again after a seek */
    p->idle = false;
    return was_idle;
}

static bool is_read(struct partition *p)
{
    return !p->paused && !p->idle;
}

/* The seek fails if a partition is not assigned any more: its lane is about to be revoked. */
static void read_again(struct source *s, rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt == 0)
        return;
    keepalive_resume(s->keepalive, s->config.levels);
    rd_kafka_resume_partitions(s->config.levels, list);
    rd_kafka_error_t *error = rd_kafka_seek_partitions(s->config.levels, list, 0);
    if (error != NULL)
        rd_kafka_error_destroy(error);
}

void source_landed(struct source *s, int lane, int slot, int64_t offset)
{
    struct partition *p = source_partition(s, lane, slot);
    if (p->landed_offset <= offset)
        p->landed_offset = offset + 1;
    if (offset < 0) /* an earlier try stored it, and the broker does not name the offset */
        p->drained_offset = -1;
    if (p->idle)
        source_seek(s, source_queue(s, lane, slot), p->next_offset);
}

/* Drops records of paused partitions whose fetch was in flight when they were paused. */
static void drop_late(struct source *s)
{
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = SLOT_SCHEDULE; slot < s->config.slots; slot++) {
            struct queue_id queue = source_queue(s, s->owned[i], slot);
            struct partition *p = &s->partitions[queue.index];
            if (p->paused && rd_kafka_queue_length(p->queue) > 0)
                source_drop_fetched(s, queue);
        }
    }
}

void source_update_idle(struct source *s, int64_t now_mono_ms)
{
    if (now_mono_ms - s->checked_mono_ms < CHECK_MS)
        return;
    s->checked_mono_ms = now_mono_ms;
    drop_late(s);
    bool rereads = now_mono_ms - s->reread_mono_ms >= REREAD_MS;
    rd_kafka_topic_partition_list_t *list = choose_levels(s, rereads ? become_active : become_idle);
    if (rereads) {
        s->reread_mono_ms = now_mono_ms;
        read_again(s, list);
    } else if (list->cnt > 0) {
        rd_kafka_pause_partitions(s->config.levels, list);
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_topic_partition_list_t *read = choose_levels(s, is_read);
    if (read->cnt == 0)
        keepalive_pause(s->keepalive, s->config.levels);
    rd_kafka_topic_partition_list_destroy(read);
}
