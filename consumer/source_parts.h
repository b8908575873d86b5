/* SPDX-License-Identifier: Apache-2.0 */
/* source_parts: what a source is made of, for source.c and source_quiet.c alone. */
#ifndef DELAYBRIDGE_CONSUMER_SOURCE_PARTS_H
#define DELAYBRIDGE_CONSUMER_SOURCE_PARTS_H

#include "consumer/keepalive.h"
#include "consumer/source.h"

struct partition {
    rd_kafka_queue_t *queue;  /* NULL: never assigned yet */
    rd_kafka_message_t *kept; /* fetched, and there was no memory to hand it over; else NULL */
    bool paused;              /* by the bridge */
    bool quiet;               /* paused by us: all of it is taken */
    int64_t next;             /* is taken next; WINDOW_UNSET: not known yet */
    int64_t swept;            /* next at the last sweep */
    int64_t drained;   /* the log's end, if the client has come there and nothing since; else -1 */
    size_t mean_bytes; /* of a record, weighted towards the last ones */
    int64_t landed;    /* the log reaches at least to here: it was acknowledged */
    bool lost;         /* its position does not exist: the log's ends are to be asked for */
    bool stopped;      /* the client has stopped fetching it */
    bool stuck;        /* at a batch that cannot be read: nothing is handed over before a seek */
    bool measured;     /* and its range was told */
};

struct source {
    struct source_config config;
    struct partition *partitions; /* by queue index */
    struct keepalive *keepalive;
    int *owned;
    int owned_n;
    bool any_lost, any_missing;
    bool rejoin;
    int64_t sweep_ms, look_ms; /* the last ones */
    int lost_next;             /* where the next search begins */
    bool any_stuck;
    int64_t lost_ask_ms; /* no question before */
};

/* Of a paused partition. */
void source_drop_fetched(struct source *source, struct queue_id queue);

static inline rd_kafka_t *source_handle(const struct source *s, int slot)
{
    return slot == SLOT_SCHEDULE ? s->config.intake : s->config.levels;
}

static inline struct partition *source_partition(const struct source *s, int lane, int slot)
{
    return &s->partitions[lane * s->config.slots + slot];
}

/* offset: WINDOW_UNSET is the log's beginning. */
static inline void source_list_add(rd_kafka_topic_partition_list_t *list, const char *topic,
                                   int partition, int64_t offset)
{
    rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
        offset == WINDOW_UNSET ? RD_KAFKA_OFFSET_BEGINNING : offset;
}

#endif
