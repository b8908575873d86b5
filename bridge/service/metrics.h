/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: what the service counts, as Prometheus reads it (text format 0.0.4). One table names
   every metric once: /metrics, 'help --metrics' and what alerts and dashboards may use come from
   it. Labels are levels, kinds, states, codes and entries of `targets` (labels.h): never an id, a
   key or a topic that a request names. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_METRICS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_METRICS_H

#include "bridge/config/config.h"
#include "bridge/core/stats.h"

#include <stdio.h>

/* All borrowed. */
struct metrics {
    const struct config *config;
    const struct stats *stats;         /* of all workers together */
    const struct canary_stats *canary; /* NULL: there is none */
    int lanes;                         /* of the schedule topic; 0: not known yet */
    int refusals, faults;              /* findings about the topics, by kind */
    uint32_t config_hash;              /* 0: nothing runs yet */
    int64_t open_records;              /* behind open transactions; -1: not known */
    bool ready;
    const char *librdkafka; /* version */
};

void metrics_write(FILE *out, const struct metrics *metrics);

/* One line for each metric: NAME, TYPE, LABELS (with commas, or -) and what it is, tabs between. */
void metrics_print_table(FILE *out);

#endif
