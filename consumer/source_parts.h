/* SPDX-License-Identifier: Apache-2.0 */
/* source_parts: the parts of struct source, for source.c and source_*.c alone. */
#ifndef DELAYBRIDGE_CONSUMER_SOURCE_PARTS_H
#define DELAYBRIDGE_CONSUMER_SOURCE_PARTS_H

#include "consumer/keepalive.h"
#include "consumer/source.h"

struct partition {
    rd_kafka_queue_t *queue;  /* NULL: never assigned yet */
    rd_kafka_message_t *kept; /* fetched, but memory was lacking to hand it over; NULL: none */
    bool paused;              /* by the bridge */
    bool idle;                /* paused by the source: all its records were taken */
    int64_t next_offset;      /* of the next record; WINDOW_UNSET: not known yet */
    int64_t checked_offset;   /* next_offset at the last check for idle partitions */
    int64_t drained_offset;   /* end of the log that the client has reached; -1: not reached */
    size_t mean_bytes;        /* size of a record, weighted towards recent ones */
    int64_t landed_offset;    /* the log reaches here at least; 0: no acknowledgement yet */
    bool lost;                /* its position does not exist; the ends of its log are unknown */
    bool stopped;             /* the client has stopped fetching it */
    bool stuck;               /* at an unreadable batch: no record is handed over before a seek */
    bool measured;            /* stuck, and the range of the batch was reported */
};

struct source {
    struct source_config config;
    struct partition *partitions; /* by queue index */
    struct keepalive *keepalive;
    int *owned; /* lanes */
    int owned_n;
    bool any_lost, any_stuck, any_missing;
    bool rejoin;
    int64_t checked_mono_ms;  /* last check for idle partitions */
    int64_t reread_mono_ms;   /* last time that all idle partitions were read again */
    int lost_next;            /* queue index at which the next search begins */
    int64_t lost_ask_mono_ms; /* earliest time of the next request for the ends of a log */
};

/* source.c */
/* Pauses or resumes a partition for the bridge. Ends its idleness in either case. */
void source_set_paused(struct source *source, struct queue_id queue, bool paused);
/* Drops the fetched records of a paused partition. */
void source_drop_fetched(struct source *source, struct queue_id queue);
void source_drop_kept(struct partition *partition);
/* Returns the next message or error of the partition, or NULL. */
rd_kafka_message_t *source_next_message(struct partition *partition);

/* source_faults.c */
/* Handles an error of a partition. An error that the client recovers from is only logged. Of a
   stuck partition it only notes whether the client has stopped. */
void source_take_error(struct source *source, struct queue_id queue,
                       const rd_kafka_message_t *message);
/* Returns whether the client has stopped fetching a stuck partition. */
bool source_is_given_up(struct source *source, struct queue_id queue);

static inline rd_kafka_t *source_handle(const struct source *s, int slot)
{
    return slot == SLOT_SCHEDULE ? s->config.intake : s->config.levels;
}

static inline struct queue_id source_queue(const struct source *s, int lane, int slot)
{
    return (struct queue_id){lane * s->config.slots + slot, lane, slot};
}

static inline struct partition *source_partition(const struct source *s, int lane, int slot)
{
    return &s->partitions[lane * s->config.slots + slot];
}

/* offset: WINDOW_UNSET is the beginning of the log. */
static inline void source_list_add(rd_kafka_topic_partition_list_t *list, const char *topic,
                                   int partition, int64_t offset)
{
    rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
        offset == WINDOW_UNSET ? RD_KAFKA_OFFSET_BEGINNING : offset;
}

#endif
