/* SPDX-License-Identifier: Apache-2.0 */
/* worker_parts: the members of a worker, for the files worker*.c alone. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_WORKER_PARTS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_WORKER_PARTS_H

#include "bridge/core/bridge.h"
#include "bridge/service/notices.h"
#include "bridge/service/worker.h"
#include "consumer/admin/topics.h"
#include "consumer/client/client.h"
#include "consumer/control_log.h"
#include "consumer/group.h"
#include "consumer/lane_ends.h"
#include "consumer/loads.h"
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
    rd_kafka_t *levels; /* consumer of the levels, assigned by source */
    struct source *source;
    struct producer *producer;
    struct loads *loads;
    struct lane_ends *lane_ends;
    struct control_log *control_log;
    struct notices notices;
    pthread_t thread;

    /* Topics. */
    int slots;
    const char **topics;           /* by slot, then the topic of cancels */
    char (*names)[TOPIC_TEXT_MAX]; /* memory of the levels' names in topics */
    char pulse[TOPIC_TEXT_MAX], dead_letter[TOPIC_TEXT_MAX], cancelled[TOPIC_TEXT_MAX];
    char events[TOPIC_TEXT_MAX], control[TOPIC_TEXT_MAX];
    bool any_missing;       /* some topic does not exist */
    bool find_missing;      /* check soon which topics exist */
    bool *missing;          /* by slot: the topic does not exist */
    int *partitions;        /* by slot, at the last such check */
    int64_t topics_mono_ms; /* last such check */

    /* Lanes and the group. */
    int *lanes; /* owned; lanes_n of them */
    int lanes_n;
    int64_t settle_ms;        /* longest wait of a revocation for records in flight */
    int64_t fenced_mono_ms;   /* the member was fenced then; 0: it is not */
    int64_t rejoined_mono_ms; /* last join of a member that was fenced; 0: none */
    bool group_signaled;      /* the group has an event to poll */
    bool busy;                /* the last turn followed another one at once */
    bool transient;           /* no other process has the member's static id */
    char instance[256];       /* that id */
    char transactional_id[PRODUCER_ID_MAX - 2];

    /* Unreadable ranges (worker_unreadable.c). */
    struct probe *probe; /* NULL: it was not needed yet */
    /* By queue index: offset at which the next search for the operator's dead letter begins.
       -1: not known yet. */
    int64_t *skip_search_offsets;
    int skip_search_next; /* index of the queue to search for next */
    int64_t skip_searched_mono_ms, measured_mono_ms;

    /* Last times, of the monotonic clock. */
    int64_t keepalive_checked_mono_ms, group_polled_mono_ms, surveyed_mono_ms;

    /* Shared with other threads. */
    atomic_bool stop, failed, joined;
    atomic_llong turned_mono_ms;         /* last turn */
    _Atomic(const struct config *) next; /* to apply; NULL: none */
    _Atomic(const struct config *) live; /* applied last; NULL: none */
    atomic_size_t record_max_bytes;      /* to apply */
    size_t record_max_taken;             /* applied last; not shared */
};

struct now worker_now(const struct worker *worker);

/* worker.c */

/* Returns whether a member that is fenced now joins again. If not, its process ends. */
bool worker_may_rejoin(const struct worker *worker, int64_t now_mono_ms);

/* worker_make.c */

/* Makes all parts and connects them. Returns 0, or an error of worker_start with a sentence. */
int worker_make(struct worker *worker, struct error *error) must_check;
/* Connect and disconnect the group member and its source. Disconnecting does nothing if there is no
   member. */
int worker_connect_member(struct worker *worker, struct error *error) must_check;
void worker_disconnect_member(struct worker *worker);
struct request_rules worker_rules(const struct worker *worker, const struct config *live);

/* worker_lanes.c: the callbacks of the clients. */

struct producer_config worker_producer_config(struct worker *worker);
struct group_config worker_group_config(struct worker *worker);
struct loads_config worker_loads_config(struct worker *worker);
struct lane_ends_config worker_lane_ends_config(struct worker *worker);
void worker_on_wakeup(void *ctx, int32_t number);
/* Finds topics that were deleted or created again. For each turn. */
void worker_find_missing(struct worker *worker, struct now now);
/* Ends the worker and the process. */
void worker_fail(struct worker *worker);

/* worker_control.c */
struct control_log_config worker_control_config(struct worker *worker);

/* worker_unreadable.c: for each turn. */
void worker_serve_unreadable(struct worker *worker, struct now now);

/* worker_port.c: the step machine's port onto librdkafka. */
struct port worker_port(struct worker *worker);

#endif
