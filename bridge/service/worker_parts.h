/* SPDX-License-Identifier: Apache-2.0 */
/* worker_parts: what a worker is made of, for the files worker*.c alone. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_WORKER_PARTS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_WORKER_PARTS_H

#include "bridge/core/bridge.h"
#include "bridge/service/notices.h"
#include "bridge/service/worker.h"
#include "consumer/admin/topics.h"
#include "consumer/group.h"
#include "consumer/probe.h"
#include "consumer/producer.h"
#include "consumer/source.h"
#include "consumer/wakeup.h"

#include <pthread.h>

struct worker {
    struct worker_config config;
    struct stats stats;
    struct bridge *bridge;
    struct wakeup wakeup;
    struct group *group;
    rd_kafka_t *levels; /* the level handle: assigned by hand */
    struct source *source;
    struct producer *producer;
    struct probe *probe;          /* NULL: nothing was unreadable yet */
    int64_t *skip_search_offsets; /* by queue: where the next look for its letter starts; -1:
                                     nowhere yet */
    int skip_search_next;         /* the queue whose turn it is */
    int64_t measured_mono_ms, skip_searched_mono_ms;
    char (*names)[TOPIC_TEXT_MAX];
    const char **topics; /* by slot */
    int slots;
    struct notices notices;
    char pulse[TOPIC_TEXT_MAX], dead_letter[TOPIC_TEXT_MAX];
    int *lanes; /* owned */
    int lanes_n;
    int64_t settle_ms; /* how long a revocation waits for records in flight */
    int64_t keepalive_checked_mono_ms, group_polled_mono_ms, surveyed_mono_ms;
    bool *missing;   /* by slot: the topic does not exist */
    int *partitions; /* by slot, of the last look at the topics */
    bool any_missing, find_missing;
    int64_t topics_mono_ms; /* monotonic: that look */
    int64_t fenced_mono_ms; /* monotonic: since when; 0: not */
    bool group_signaled;
    bool reread;        /* lose the lanes, and gain them again when the producer is back */
    bool restarted;     /* it is */
    bool regain;        /* and the lanes are not */
    bool aborting;      /* a transaction: no lanes are gained before its producer is back */
    bool transient;     /* the member's static id is of this process alone */
    char instance[256]; /* that id; empty: a dynamic member */
    char transactional_id[PRODUCER_ID_MAX - 2];
    atomic_bool stop, failed, joined;
    atomic_llong turned_mono_ms;               /* monotonic: the last turn */
    _Atomic(const struct config *) next, live; /* to take, and taken: NULL: none */
    atomic_size_t record_max_bytes;            /* to take */
    size_t record_max_taken;
    pthread_t thread;
};

/* worker_lanes.c: what the clients tell the worker. */
struct producer_config worker_producer_config(struct worker *worker);
struct group_config worker_group_config(struct worker *worker);
void worker_on_wakeup(void *ctx, int32_t number);
void worker_find_missing(struct worker *worker, struct now now); /* for each turn */
void worker_fail(struct worker *worker); /* it ends, and the process with it */
struct now worker_now(void);

/* worker_unreadable.c: for each turn. */
void worker_serve_unreadable(struct worker *worker, struct now now);

/* worker_port.c: the step machine's port onto librdkafka. */
struct port worker_port(struct worker *worker);

#endif
