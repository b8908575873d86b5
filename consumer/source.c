/* SPDX-License-Identifier: Apache-2.0 */
/* Partition queues: assigned, taken from, paused, sought. */
#include "consumer/source.h"

#include "bridge/log.h"
#include "consumer/pulse.h"
#include "consumer/record.h"

#include <stdlib.h>

enum { ASK_MS = 500, LOST_MAX = 64 };

struct partition {
    rd_kafka_queue_t *queue; /* NULL: never assigned yet */
    bool paused;
    bool lost; /* its position does not exist */
};

struct source {
    struct source_config config;
    struct partition *partitions; /* by queue index */
    struct pulse *pulse;
    int *owned;
    int owned_n;
    int lost_n;
};

static rd_kafka_t *handle_of(const struct source *s, int slot)
{
    return slot == SLOT_SCHEDULE ? s->config.intake : s->config.levels;
}

static struct partition *partition_of(const struct source *s, int lane, int slot)
{
    return &s->partitions[lane * s->config.slots + slot];
}

struct source *source_new(const struct source_config *config)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->config = *config;
    s->partitions = calloc((size_t)(config->lanes * config->slots), sizeof *s->partitions);
    s->owned = calloc((size_t)config->lanes, sizeof *s->owned);
    s->pulse = pulse_new(config->pulse_topic);
    if (s->partitions == NULL || s->owned == NULL || s->pulse == NULL) {
        source_free(s);
        return NULL;
    }
    return s;
}

void source_free(struct source *s)
{
    for (int i = 0; s->partitions != NULL && i < s->config.lanes * s->config.slots; i++) {
        if (s->partitions[i].queue != NULL)
            rd_kafka_queue_destroy(s->partitions[i].queue);
    }
    if (s->pulse != NULL)
        pulse_free(s->pulse);
    free(s->partitions);
    free(s->owned);
    free(s);
}

/* Before the assignment: a queue that is redirected afterwards leaks what was already fetched. */
static void open_queue(struct source *s, int lane, int slot)
{
    struct partition *p = partition_of(s, lane, slot);
    p->lost = false;
    if (p->queue != NULL)
        return;
    p->queue = rd_kafka_queue_get_partition(handle_of(s, slot), s->config.topics[slot], lane);
    rd_kafka_queue_forward(p->queue, NULL);
    bell_attach(s->config.bell, p->queue, lane * s->config.slots + slot);
}

static void list_add(rd_kafka_topic_partition_list_t *list, const char *topic, int partition,
                     int64_t offset)
{
    rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
        offset == WINDOW_UNSET ? RD_KAFKA_OFFSET_BEGINNING : offset;
}

static int assign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t err = rd_kafka_assign(rk, list);
    if (err != 0)
        log_error("cannot assign partitions", "error=%s", rd_kafka_err2name(err));
    return err == 0 ? 0 : ERR_KAFKA;
}

int source_assign(struct source *s, const int *lanes, int n, const struct start *starts)
{
    rd_kafka_topic_partition_list_t *intake = rd_kafka_topic_partition_list_new(n + 1);
    rd_kafka_topic_partition_list_t *levels =
        rd_kafka_topic_partition_list_new(n * s->config.slots + 1);
    for (int i = 0; i < n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++) {
            open_queue(s, lanes[i], slot);
            list_add(slot == SLOT_SCHEDULE ? intake : levels, s->config.topics[slot], lanes[i],
                     starts[i * s->config.slots + slot].offset);
        }
        s->owned[i] = lanes[i];
    }
    s->owned_n = n;
    pulse_add(s->pulse, intake);
    pulse_add(s->pulse, levels);
    int err = assign(s->config.levels, levels);
    if (err == 0)
        err = assign(s->config.intake, intake);
    rd_kafka_topic_partition_list_destroy(intake);
    rd_kafka_topic_partition_list_destroy(levels);
    pulse_kick(s->pulse, s->config.intake);
    return err;
}

static void set_paused(struct source *s, int lane, int slot, bool paused)
{
    struct partition *p = partition_of(s, lane, slot);
    if (p->paused == paused)
        return;
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, s->config.topics[slot], lane);
    if (paused)
        rd_kafka_pause_partitions(handle_of(s, slot), one);
    else
        rd_kafka_resume_partitions(handle_of(s, slot), one);
    rd_kafka_topic_partition_list_destroy(one);
    p->paused = paused;
}

void source_unassign(struct source *s)
{
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++)
            set_paused(s, s->owned[i], slot, false);
    }
    s->owned_n = 0;
    rd_kafka_topic_partition_list_t *levels = rd_kafka_topic_partition_list_new(1);
    pulse_add(s->pulse, levels);
    (void)!assign(s->config.levels, levels);
    rd_kafka_topic_partition_list_destroy(levels);
    (void)!assign(s->config.intake, NULL);
}

void source_check_pulses(struct source *s, rd_kafka_t *ask)
{
    /* The group member's assignment cannot be changed between rebalances (eager protocol); it gets
       the new pulses with its next one, and until then only a drained backlog can stall, for a
       second. */
    if (pulse_choose(s->pulse, ask, ASK_MS))
        pulse_move(s->pulse, s->config.levels);
}

static bool position_is_lost(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
           err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

/* What is no record: an error of the partition. Those that mend themselves are only said. */
static void take_error(struct source *s, struct partition *p, struct queue_id queue,
                       const rd_kafka_message_t *message)
{
    if (position_is_lost(message->err)) {
        s->lost_n += !p->lost;
        p->lost = true;
    } else if (message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF &&
               message->err != RD_KAFKA_RESP_ERR__TIMED_OUT) {
        log_warn("cannot read a partition", "topic=%s lane=%d error=%s",
                 s->config.topics[queue.slot], queue.lane, rd_kafka_err2name(message->err));
    }
}

struct record *source_take(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while ((message = rd_kafka_consume_queue(p->queue, 0)) != NULL) {
        if (message->err == 0)
            return record_of_message(message, queue.slot == SLOT_SCHEDULE);
        take_error(s, p, queue, message);
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

void source_pause(struct source *s, struct queue_id queue)
{
    set_paused(s, queue.lane, queue.slot, true);
}

void source_seek(struct source *s, struct queue_id queue, int64_t offset)
{
    set_paused(s, queue.lane, queue.slot, false);
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    list_add(one, s->config.topics[queue.slot], queue.lane, offset);
    rd_kafka_error_t *error = rd_kafka_seek_partitions(handle_of(s, queue.slot), one, 0);
    if (error != NULL) { /* not assigned any more: the lane is about to go */
        log_debug("seek refused", "topic=%s lane=%d error=%s", s->config.topics[queue.slot],
                  queue.lane, rd_kafka_error_name(error));
        rd_kafka_error_destroy(error);
    }
    rd_kafka_topic_partition_list_destroy(one);
}

bool source_lost_position(struct source *s, struct queue_id *queue, int64_t *start, int64_t *end)
{
    for (int i = 0; s->lost_n > 0 && i < s->config.lanes * s->config.slots; i++) {
        struct partition *p = &s->partitions[i];
        if (!p->lost)
            continue;
        int lane = i / s->config.slots, slot = i % s->config.slots;
        *queue = (struct queue_id){i, lane, slot};
        if (rd_kafka_query_watermark_offsets(handle_of(s, slot), s->config.topics[slot], lane,
                                             start, end, ASK_MS) != 0)
            return false; /* later */
        p->lost = false;
        s->lost_n--;
        return true;
    }
    return false;
}
