/* SPDX-License-Identifier: Apache-2.0 */
/* watch: a thread next to the workers that asks every ten seconds how much of the schedule topic
   waits behind open transactions, and during an outage of Kafka (client_log.h) asks until a broker
   answers. The service runs on if it cannot be started. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_WATCH_H
#define DELAYBRIDGE_CONSUMER_ADMIN_WATCH_H

#include "bridge/config/config.h"

#include <stdint.h>

struct watch;

struct watch_config {
    const struct config *config; /* borrowed; outlives the watch */
    int lanes;                   /* partitions of the schedule topic */
    int (*owned)(void *ctx);     /* how many of them this process owns; from the watch's thread */
    void *ctx;
};

/* Returns NULL with a sentence in error. */
struct watch *watch_start(const struct watch_config *config, char *error, size_t error_size);

/* Offsets behind transactions that were open at two looks in turn; -1: not known yet. Any thread.
 */
int64_t watch_open_records(const struct watch *watch);

/* Waits for a request in flight, for two seconds at most. */
void watch_stop(struct watch *watch);

#endif
