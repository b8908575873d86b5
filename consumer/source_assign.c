/* SPDX-License-Identifier: Apache-2.0 */
/* Which partitions the two handles read: assigned lanes, and the keep-alive partitions. */
#include "bridge/base/log.h"
#include "consumer/source_parts.h"

#include <stdlib.h>

enum { ASK_MS = 500 };

struct source *source_new(const struct source_config *config)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->config = *config;
    s->partitions = calloc((size_t)config->lanes * (size_t)config->slots, sizeof *s->partitions);
    s->owned = calloc((size_t)config->lanes, sizeof *s->owned);
    s->keepalive = keepalive_new(config->pulse_topic);
    if (s->partitions == NULL || s->owned == NULL || s->keepalive == NULL) {
        source_free(s);
        return NULL;
    }
    return s;
}

void source_free(struct source *s)
{
    for (int i = 0; s->partitions != NULL && i < s->config.lanes * s->config.slots; i++) {
        source_drop_kept(&s->partitions[i]);
        if (s->partitions[i].queue != NULL)
            rd_kafka_queue_destroy(s->partitions[i].queue);
    }
    if (s->keepalive != NULL) {
        keepalive_resume(s->keepalive, s->config.levels); /* a pause outlives the assignment */
        keepalive_free(s->keepalive);
    }
    free(s->partitions);
    free(s->owned);
    free(s);
}

void source_join(struct source *s, rd_kafka_t *intake)
{
    s->config.intake = intake;
}

/* Opens a new queue before each assignment. The client drops its object of a partition that is
   unassigned before metadata arrives, and the old queue would then receive no records. The queue
   must be separate before the assignment, or the records fetched until then leak. */
static void open_queue(struct source *s, int lane, int slot)
{
    struct partition *p = source_partition(s, lane, slot);
    p->lost = p->stopped = p->stuck = p->measured = false;
    p->landed_offset = 0;
    p->mean_bytes = 0;
    p->checked_offset = WINDOW_UNSET;
    p->drained_offset = -1;
    source_drop_kept(p);
    if (p->queue != NULL)
        rd_kafka_queue_destroy(p->queue);
    p->queue = rd_kafka_queue_get_partition(source_handle(s, slot), s->config.topics[slot], lane);
    rd_kafka_queue_forward(p->queue, NULL);
    wakeup_attach(s->config.wakeup, p->queue, source_queue(s, lane, slot).index);
}

static int log_failed(bool add, const char *error)
{
    log_warn(
        add ? "cannot assign partitions to the client, their lanes wait: restart this process "
              "if this repeats"
            : "cannot remove partitions from the client, the next assignment may fail: restart "
              "this process if this repeats",
        F_TEXT("error", error));
    return ERR_KAFKA;
}

/* Changes only the lanes in the assignment of the level handle. Its keep-alive partitions stay
   assigned: if one is removed and added again, the client may fail an assertion when the handle is
   closed. */
static int change_levels(struct source *s, bool add, const rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt == 0)
        return 0;
    rd_kafka_error_t *error = add ? rd_kafka_incremental_assign(s->config.levels, list)
                                  : rd_kafka_incremental_unassign(s->config.levels, list);
    if (error == NULL)
        return 0;
    int err = log_failed(add, rd_kafka_error_name(error));
    rd_kafka_error_destroy(error);
    return err;
}

static int assign_intake(struct source *s, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t err = rd_kafka_assign(s->config.intake, list);
    return err == 0 ? 0 : log_failed(list != NULL, rd_kafka_err2name(err));
}

/* Pauses the partitions of the schedule topic that the bridge paused before the assignment. */
static void pause_again(struct source *s)
{
    rd_kafka_topic_partition_list_t *paused = rd_kafka_topic_partition_list_new(s->owned_n + 1);
    for (int i = 0; i < s->owned_n; i++)
        if (source_partition(s, s->owned[i], SLOT_SCHEDULE)->paused)
            rd_kafka_topic_partition_list_add(paused, s->config.topics[SLOT_SCHEDULE], s->owned[i]);
    rd_kafka_pause_partitions(s->config.intake, paused);
    rd_kafka_topic_partition_list_destroy(paused);
}

int source_assign(struct source *s, const int *lanes, int n, const struct start *starts)
{
    rd_kafka_topic_partition_list_t *intake = rd_kafka_topic_partition_list_new(n + 1);
    rd_kafka_topic_partition_list_t *levels =
        rd_kafka_topic_partition_list_new(n * s->config.slots + 1);
    for (int i = 0; i < n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++) {
            int64_t start = starts[i * s->config.slots + slot].offset;
            open_queue(s, lanes[i], slot);
            source_partition(s, lanes[i], slot)->next_offset = start;
            source_list_add(slot == SLOT_SCHEDULE ? intake : levels, s->config.topics[slot],
                            lanes[i], start);
        }
        s->owned[i] = lanes[i];
    }
    s->owned_n = n;
    keepalive_wake(s->keepalive, s->config.intake);
    keepalive_add(s->keepalive, intake);
    keepalive_resume(s->keepalive, s->config.levels);
    int err = change_levels(s, true, levels);
    if (err == 0)
        err = assign_intake(s, intake);
    pause_again(s);
    rd_kafka_topic_partition_list_destroy(intake);
    rd_kafka_topic_partition_list_destroy(levels);
    keepalive_wake(s->keepalive, s->config.intake);
    return err;
}

void source_leave_levels(struct source *s)
{
    rd_kafka_topic_partition_list_t *levels =
        rd_kafka_topic_partition_list_new(s->owned_n * s->config.slots + 1);
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++) {
            struct queue_id queue = source_queue(s, s->owned[i], slot);
            source_set_paused(s, queue, false);
            source_drop_kept(&s->partitions[queue.index]);
            s->partitions[queue.index].lost = false;
            if (slot != SLOT_SCHEDULE)
                rd_kafka_topic_partition_list_add(levels, s->config.topics[slot], s->owned[i]);
        }
    }
    s->owned_n = 0;
    (void)!change_levels(s, false, levels);
    rd_kafka_topic_partition_list_destroy(levels);
}

void source_unassign(struct source *s)
{
    source_leave_levels(s);
    (void)!assign_intake(s, NULL);
}

/* Chooses the keep-alive partitions again, and moves the level handle to a new choice. The member's
   handle follows at the next rebalance, since its assignment cannot change earlier. Until then, a
   drained backlog of the schedule topic can delay the next requests for up to a second. */
bool source_check_keepalives(struct source *s, rd_kafka_t *ask)
{
    keepalive_resume(s->keepalive, s->config.levels); /* the old choice */
    if (keepalive_choose(s->keepalive, ask, ASK_MS)) {
        keepalive_wake(s->keepalive, s->config.levels);
        keepalive_move(s->keepalive, s->config.levels);
    }
    return keepalive_is_chosen(s->keepalive);
}
