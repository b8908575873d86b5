/* SPDX-License-Identifier: Apache-2.0 */
/* Quiet partitions: which of the drained ones leave the fetch, and how they come back. */
#include "consumer/source_parts.h"

enum { SWEEP_MS = 250, LOOK_MS = 10000 };

/* An end that is before where reading stands is of before a seek; one behind it comes after the
   ends of transactions. */
static bool is_drained(const struct partition *p)
{
    return p->drained >= 0 && p->drained >= p->next && p->drained >= p->landed;
}

/* Every level partition that is owned: visit says whether it is to be in the list. */
static rd_kafka_topic_partition_list_t *
choose_levels(struct source *s,
              bool (*visit)(struct source *s, struct partition *p, int lane, int slot))
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = SLOT_SCHEDULE + 1; slot < s->config.slots; slot++) {
            struct partition *p = source_partition(s, s->owned[i], slot);
            if (visit(s, p, s->owned[i], slot))
                source_list_add(list, s->config.topics[slot], s->owned[i], p->next);
        }
    }
    return list;
}

/* Drained, and nothing came since the last sweep: it becomes quiet. */
static bool falls_quiet(struct source *s, struct partition *p, int lane, int slot)
{
    (void)s, (void)lane, (void)slot;
    bool still = p->next == p->swept;
    p->swept = p->next;
    if (p->paused || p->quiet || !still || p->lost || !is_drained(p))
        return false;
    return p->quiet = true;
}

static bool stirs(struct source *s, struct partition *p, int lane, int slot)
{
    (void)s, (void)lane, (void)slot;
    bool was_quiet = p->quiet;
    if (was_quiet)
        p->drained = -1; /* the end is told again after a seek, and only then */
    p->quiet = false;
    return was_quiet;
}

static bool is_read(struct source *s, struct partition *p, int lane, int slot)
{
    (void)s, (void)lane, (void)slot;
    return !p->paused && !p->quiet;
}

static void stir(struct source *s, const rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt == 0)
        return;
    keepalive_resume(s->keepalive, s->config.levels);
    rd_kafka_resume_partitions(s->config.levels, (rd_kafka_topic_partition_list_t *)list);
    rd_kafka_error_t *error =
        rd_kafka_seek_partitions(s->config.levels, (rd_kafka_topic_partition_list_t *)list, 0);
    if (error != NULL)
        rd_kafka_error_destroy(error); /* not assigned any more: the lanes are about to go */
}

void source_landed(struct source *s, int lane, int slot, int64_t offset)
{
    struct partition *p = source_partition(s, lane, slot);
    if (p->landed <= offset)
        p->landed = offset + 1;
    if (offset < 0) /* stored by an earlier try, the broker does not say where */
        p->drained = -1;
    if (!p->quiet)
        return;
    struct queue_id id = {lane * s->config.slots + slot, lane, slot};
    source_seek(s, id, p->next);
}

/* What came of fetches that were under way. */
static void drop_late(struct source *s)
{
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = SLOT_SCHEDULE; slot < s->config.slots; slot++) {
            struct queue_id id = {s->owned[i] * s->config.slots + slot, s->owned[i], slot};
            struct partition *p = &s->partitions[id.index];
            if (p->paused && rd_kafka_queue_length(p->queue) > 0)
                source_drop_fetched(s, id);
        }
    }
}

void source_sweep(struct source *s, int64_t now_ms)
{
    if (now_ms - s->sweep_ms < SWEEP_MS)
        return;
    s->sweep_ms = now_ms;
    drop_late(s);
    bool look = now_ms - s->look_ms >= LOOK_MS;
    rd_kafka_topic_partition_list_t *list = choose_levels(s, look ? stirs : falls_quiet);
    if (look) {
        s->look_ms = now_ms;
        stir(s, list);
    } else if (list->cnt > 0) {
        rd_kafka_pause_partitions(s->config.levels, list);
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_topic_partition_list_t *read = choose_levels(s, is_read);
    if (read->cnt == 0)
        keepalive_pause(s->keepalive, s->config.levels);
    rd_kafka_topic_partition_list_destroy(read);
}
