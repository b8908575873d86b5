/* SPDX-License-Identifier: Apache-2.0 */
/* watch: a thread next to the workers. Every ten seconds it requests how many records of the
   schedule topic wait behind open transactions. During an outage of Kafka (client_log.h) it sends
   requests until a broker answers. The service also runs without it, but does not log outages then.
 */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_WATCH_H
#define DELAYBRIDGE_BRIDGE_SERVICE_WATCH_H

#include "bridge/config/config.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct watch;

struct watch_config {
    const struct config *config; /* borrowed; outlives the watch */
    rd_kafka_t *committed;       /* borrowed; its isolation level is read_committed */
    int lanes;                   /* partitions of the schedule topic */
    int (*owned)(void *ctx);     /* lanes that this process owns; called from the watch's thread */
    void *ctx;
};

/* Starts the thread. Returns NULL with a sentence in error. */
struct watch *watch_start(const struct watch_config *config, struct error *error);

/* Returns the offsets behind transactions that were open in two successive requests, or -1 if that
   is not known yet. Any thread may call it. */
int64_t watch_open_records(const struct watch *watch);

/* Stops the thread. Waits for a request in flight, for two seconds at most. */
void watch_stop(struct watch *watch);

#endif
