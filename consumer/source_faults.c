/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of partitions: lost positions, unreadable batches, missing topics. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/client/log_ends.h"
#include "consumer/source_parts.h"
#include "consumer/unreadable.h"

enum { ASK_MS = 500, ASK_AGAIN_MS = 1000 };

static bool position_is_lost(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
           err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

static bool is_missing(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

/* Stops reading at an unreadable batch, for three reasons. The client skips some of these batches,
   and later records must wait. Repeated decompression would occupy a core. After a wrong checksum
   the client continues inside the batch, mistakes other bytes for an offset, and may stop fetching
   the partition. */
static void mark_stuck(struct source *s, struct queue_id queue, const rd_kafka_message_t *message)
{
    struct partition *p = &s->partitions[queue.index];
    if (p->next_offset == WINDOW_UNSET)
        p->next_offset = message->offset;
    s->any_stuck = p->stuck = true;
    p->measured = false;
    source_set_paused(s, queue, true);
}

void source_take_error(struct source *s, struct queue_id queue, const rd_kafka_message_t *message)
{
    struct partition *p = &s->partitions[queue.index];
    if (p->stuck) {
        p->stopped |= position_is_lost(message->err);
    } else if (unreadable_is(message->err)) {
        mark_stuck(s, queue, message);
    } else if (position_is_lost(message->err)) {
        s->any_lost = p->lost = p->stopped = true;
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        p->drained_offset = message->offset;
        if (p->next_offset == WINDOW_UNSET)
            p->next_offset = message->offset;
    } else if (is_missing(message->err) && queue.slot != SLOT_SCHEDULE) {
        s->any_missing = true; /* the worker checks the topics, and logs a missing one */
    } else if (message->err != RD_KAFKA_RESP_ERR__TIMED_OUT) {
        log_warn("cannot read a partition, its records wait, trying again",
                 F_TEXT("topic", s->config.topics[queue.slot]), F_INT("lane", queue.lane),
                 F_TEXT("error", rd_kafka_err2name(message->err)),
                 F_HINT(message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
                            ? "allow Read on the topic"
                            : NULL));
    }
}

bool source_is_given_up(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while (p->stuck && (message = source_next_message(p)) != NULL) {
        source_take_error(s, queue, message);
        rd_kafka_message_destroy(message);
    }
    return p->stuck && p->stopped;
}

bool source_misses_topic(struct source *s)
{
    bool missing = s->any_missing;
    s->any_missing = false;
    return missing;
}

bool source_find_stuck(struct source *s, struct queue_id *queue)
{
    int n = s->config.lanes * s->config.slots;
    for (int i = 0; s->any_stuck && i < n; i++) {
        *queue = source_queue(s, i / s->config.slots, i % s->config.slots);
        if (source_is_stuck(s, *queue))
            return true;
    }
    s->any_stuck = false;
    return false;
}

bool source_is_stuck(const struct source *s, struct queue_id queue)
{
    const struct partition *p = &s->partitions[queue.index];
    return p->stuck && !p->measured;
}

void source_measured(struct source *s, struct queue_id queue)
{
    s->partitions[queue.index].measured = true;
}

void source_read_again(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    (void)source_is_given_up(s, queue);
    p->stuck = false;
    source_seek(s, queue, p->next_offset);
}

/* Returns the index of the next lost partition after the one found last, or -1. */
static int next_lost(struct source *s)
{
    int n = s->config.lanes * s->config.slots;
    for (int i = 0; s->any_lost && i < n; i++) {
        int index = (s->lost_next + i) % n;
        if (s->partitions[index].lost)
            return index;
    }
    s->any_lost = false;
    return -1;
}

bool source_lost_position(struct source *s, struct queue_id *queue, int64_t *start, int64_t *end)
{
    int index = next_lost(s);
    if (index < 0 || clock_mono_ms() < s->lost_ask_mono_ms)
        return false;
    *queue = source_queue(s, index / s->config.slots, index % s->config.slots);
    s->lost_next = index + 1;
    const char *topic = s->config.topics[queue->slot];
    if (log_ends_of(source_handle(s, queue->slot), topic, queue->lane, start, end, ASK_MS) != 0) {
        s->lost_ask_mono_ms = clock_mono_ms() + ASK_AGAIN_MS;
        return false;
    }
    s->partitions[index].lost = false;
    return true;
}
