/* SPDX-License-Identifier: Apache-2.0 */
/* scratch: a configuration with a new schedule topic, two levels and a retired one. With
   KAFKA=host:port it names that broker, so that clients made from the configuration reach it. */
#ifndef DELAYBRIDGE_TESTS_INTEGRATION_SCRATCH_H
#define DELAYBRIDGE_TESTS_INTEGRATION_SCRATCH_H

#include "bridge/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Returns a configuration whose name and property are valid until the next call. */
static inline struct config scratch_config(const char *prefix, int lanes, int replication)
{
    static char schedule[64];
    static struct property broker;
    char *brokers = getenv("KAFKA");
    broker = (struct property){.name = (char *)"bootstrap.servers", .value = brokers};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(schedule, sizeof schedule, "%s-%lld-%ld", prefix, (long long)now.tv_sec, now.tv_nsec);
    return (struct config){.kafka = &broker,
                           .kafka_n = brokers != NULL,
                           .schedule = schedule,
                           .group = schedule,
                           .ladder = {.level_ms = {1000, 60000}, .n = 2, .hold_ms = 1000},
                           .retired_ms = {90000},
                           .retired_n = 1,
                           .partitions = lanes,
                           .replication = replication};
}

#endif
