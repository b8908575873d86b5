/* SPDX-License-Identifier: Apache-2.0 */
/* watch: a thread next to the workers. Every ten seconds it requests how many records of the
   schedule topic wait behind open transactions, and how many partitions the topic has. During an
   outage of Kafka (client_log.h) it sends requests until a broker answers. The service also runs
   without it, but does not log outages then. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_WATCH_H
#define DELAYBRIDGE_BRIDGE_SERVICE_WATCH_H

#include "bridge/config/config.h"
#include "bridge/service/metrics.h"

#include <librdkafka/rdkafka.h>

struct watch;

struct watch_config {
    const struct config *config; /* borrowed; outlives the watch */
    rd_kafka_t *committed;       /* borrowed; its isolation level is read_committed */
    int lanes;                   /* partitions of the schedule topic, at the start */
    int (*owned)(void *ctx);     /* lanes that this process owns; called from the watch's thread */
    void *ctx;
};

/* Starts the thread. Returns NULL with a sentence in error. */
struct watch *watch_start(const struct watch_config *config, struct error *error);

/* Returns the latest answers. Any thread may call it. */
struct watched watch_read(const struct watch *watch);

/* Stops the thread. Waits for its requests, for four seconds at most. */
void watch_stop(struct watch *watch);

#endif
