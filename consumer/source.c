/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, pauses and seeks of partition queues. */
#include "consumer/source.h"

#include "bridge/base/log.h"
#include "consumer/record.h"
#include "consumer/source_parts.h"
#include "consumer/unreadable.h"

enum {
    RECORD_OVERHEAD = 400, /* bytes that the client needs for a record in addition to its content */
    MARKS = 2              /* queue entries of a resume and of a seek, which are no records */
};

void source_drop_kept(struct partition *p)
{
    if (p->kept != NULL)
        rd_kafka_message_destroy(p->kept);
    p->kept = NULL;
}

void source_set_paused(struct source *s, struct queue_id queue, bool paused)
{
    struct partition *p = &s->partitions[queue.index];
    bool was_paused = p->paused || p->idle;
    p->paused = paused;
    p->idle = false;
    if (was_paused == paused)
        return;
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, s->config.topics[queue.slot], queue.lane);
    if (paused)
        rd_kafka_pause_partitions(source_handle(s, queue.slot), one);
    else
        rd_kafka_resume_partitions(source_handle(s, queue.slot), one);
    rd_kafka_topic_partition_list_destroy(one);
    if (paused)
        source_drop_fetched(s, queue);
}

/* Reads the queue until it is empty, since the client keeps the fetched records of a paused
   partition. Its own purge stops at the mark of the pause, which precedes these records. The
   records of a fetch that was in flight arrive later.

   An error of the topic must be handled here, since the client reports it only once. It reports the
   end of the log or an unreadable batch again at the next read. */
void source_drop_fetched(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while (p->queue != NULL && (message = rd_kafka_consume_queue(p->queue, 0)) != NULL) {
        bool comes_again = message->err == 0 || unreadable_is(message->err) ||
                           message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        if (p->stuck || !comes_again)
            source_take_error(s, queue, message);
        rd_kafka_message_destroy(message);
    }
}

rd_kafka_message_t *source_next_message(struct partition *p)
{
    rd_kafka_message_t *kept = p->kept;
    p->kept = NULL;
    return kept != NULL ? kept : rd_kafka_consume_queue(p->queue, 0);
}

/* Returns the record of a message. If memory is lacking, keeps the message for the next call. A
   dropped message would look like a gap that a transaction left, and would count as done. */
static struct record *hand_over(struct partition *p, struct queue_id queue,
                                rd_kafka_message_t *message)
{
    struct record *record = record_of_message(message, queue.slot == SLOT_SCHEDULE);
    p->drained_offset = -1;
    if (record == NULL) {
        p->kept = message;
        return NULL;
    }
    p->next_offset = message->offset + 1;
    size_t bytes = record->cost_bytes;
    p->mean_bytes = p->mean_bytes == 0 ? bytes : (3 * p->mean_bytes + bytes) / 4;
    return record;
}

struct record *source_take(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while ((message = source_next_message(p)) != NULL) {
        if (message->err == 0 && !p->stuck)
            return hand_over(p, queue, message);
        source_take_error(s, queue, message);
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

void source_pause(struct source *s, struct queue_id queue)
{
    source_set_paused(s, queue, true);
}

/* The client refuses if the partition is not assigned any more: its lane is about to be revoked. */
static void log_refused(const struct source *s, const char *call, struct queue_id queue,
                        rd_kafka_error_t *error)
{
    if (error == NULL)
        return;
    log_debug("call for an unassigned partition refused, ignored", F_TEXT("call", call),
              F_TEXT("topic", s->config.topics[queue.slot]), F_INT("lane", queue.lane),
              F_TEXT("error", rd_kafka_error_name(error)));
    rd_kafka_error_destroy(error);
}

/* Starts a partition that the client has stopped fetching; a seek does not start it. */
static void assign_again(struct source *s, struct queue_id queue,
                         const rd_kafka_topic_partition_list_t *one)
{
    s->partitions[queue.index].stopped = false;
    if (queue.slot == SLOT_SCHEDULE) {
        s->rejoin = true;
        return;
    }
    rd_kafka_t *rk = s->config.levels;
    log_refused(s, "incremental_unassign", queue, rd_kafka_incremental_unassign(rk, one));
    log_refused(s, "incremental_assign", queue, rd_kafka_incremental_assign(rk, one));
}

void source_seek(struct source *s, struct queue_id queue, int64_t offset)
{
    struct partition *p = &s->partitions[queue.index];
    if (source_is_given_up(s, queue) && offset == p->next_offset) {
        s->any_stuck = true;
        p->measured = false; /* another start at this offset would fail in the same way */
        return;
    }
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    source_set_paused(s, queue, false);
    if (queue.slot != SLOT_SCHEDULE)
        keepalive_resume(s->keepalive, s->config.levels);
    source_drop_kept(p);
    p->stuck = p->measured = false;
    p->next_offset = offset;
    p->drained_offset = -1;
    source_list_add(one, s->config.topics[queue.slot], queue.lane, offset);
    if (p->stopped)
        assign_again(s, queue, one);
    else
        log_refused(s, "seek_partitions", queue,
                    rd_kafka_seek_partitions(source_handle(s, queue.slot), one, 0));
    rd_kafka_topic_partition_list_destroy(one);
}

int64_t source_end(const struct source *s, struct queue_id queue)
{
    const struct partition *p = &s->partitions[queue.index];
    int64_t start, end = -1;
    if (rd_kafka_get_watermark_offsets(source_handle(s, queue.slot), s->config.topics[queue.slot],
                                       queue.lane, &start, &end) != 0)
        end = -1;
    if (p->landed_offset > end && p->landed_offset > 0)
        end = p->landed_offset;
    bool all_read = p->drained_offset >= end && p->drained_offset >= p->next_offset;
    return all_read && p->next_offset >= 0 ? p->next_offset : end;
}

int64_t source_unread(const struct source *s, struct queue_id queue)
{
    const struct partition *p = &s->partitions[queue.index];
    size_t n = p->queue == NULL ? 0 : rd_kafka_queue_length(p->queue);
    return n <= MARKS ? 0 : (int64_t)((n - MARKS) * (p->mean_bytes + RECORD_OVERHEAD));
}

int64_t source_drained(const struct source *s, struct queue_id queue)
{
    return s->partitions[queue.index].drained_offset;
}

int64_t source_position(const struct source *s, struct queue_id queue)
{
    return s->partitions[queue.index].next_offset;
}

bool source_wants_rejoin(struct source *s)
{
    bool wanted = s->rejoin;
    s->rejoin = false;
    return wanted;
}
