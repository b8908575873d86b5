/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_parts: the table of metrics and its writers, for the files metrics*.c alone. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_METRICS_PARTS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_METRICS_PARTS_H

#include "bridge/service/metrics.h"

#include <stddef.h>

struct metric {
    const char *name, *type;
    const char *labels; /* with commas; "": none */
    const char *help;
    void (*write)(FILE *out, const struct metric *metric, const struct metrics *metrics);
    size_t offset; /* for the writer: a counter's place in its struct, or an enum value */
};

/* The writer of an optional metric (transactions, canary) writes no sample if its feature is
   off. */
void metrics_write_counter(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_counter_ms(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_time(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_requests(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_formats(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_forwarded(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_dead_letters(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_by_target(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_failures(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_retry(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_lateness(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_target_delay(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_withheld(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_withheld_delay(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_control(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_limits(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_commit(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_restore(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_commits(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_transactions(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_by_level(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_level_time(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_partitions(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_lanes(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_memory_limit(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_cancels(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_events(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_ready(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_config_hash(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_reload_failed(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_open_records(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_lanes_unserved(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_findings(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_canary(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_canary_last(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_canary_interval(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_canary_spans(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_build(FILE *out, const struct metric *metric, const struct metrics *m);
void metrics_write_process(FILE *out, const struct metric *metric, const struct metrics *m);

#endif
