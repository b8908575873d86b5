/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the counters of the service in the text format 0.0.4 of Prometheus. One table names
   every metric once, for /metrics and 'help --metrics'. A test compares alerts and dashboards with
   it. Labels are levels, kinds, states, codes and entries of `targets` (labels.h). A label is never
   an id, a key or a topic that a request names. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_METRICS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_METRICS_H

#include "bridge/config/config.h"
#include "bridge/core/stats.h"

#include <stdio.h>

/* Facts about the schedule topic that brokers report each ten seconds (watch.h). */
struct watched {
    int64_t open_records; /* behind transactions that were open in two successive reports; -1: not
                             known */
    int lanes_unserved;   /* partitions that were added since the start */
};

/* The source of all samples. Pointers are borrowed. */
struct metrics {
    const struct config *config;
    const struct stats *stats;         /* the sum of all workers */
    const struct canary_stats *canary; /* NULL: no canary */
    int lanes;                         /* of the schedule topic; 0: not known yet */
    int refusals, faults; /* findings of the check of topics, by kind; -1: not checked yet */
    uint32_t config_hash; /* 0: the service has not started */
    struct watched watched;
    bool ready, reload_failed;
    const char *librdkafka; /* its version */
};

/* Writes all samples. */
void metrics_write(FILE *out, const struct metrics *metrics);

/* Writes a line for each metric: NAME, TYPE, LABELS (with commas, or -) and HELP, separated by
   tabs. */
void metrics_print_table(FILE *out);

#endif
