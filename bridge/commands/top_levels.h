/* SPDX-License-Identifier: Apache-2.0 */
/* top_levels: the table of levels: the waiting records, the first of them, and the state. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LEVELS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LEVELS_H

#include "bridge/commands/top_lateness.h"

/* A level of the processes. */
struct top_level {
    char level[TOP_LABEL_MAX];
    double waiting, redelivering, withheld, blocked; /* records; blocked: partitions */
    double hops_per_s, deliveries_per_s;
    const struct scrape_sample *head;   /* when it leaves; NULL: it is in memory, or none waits */
    const struct scrape_sample *oldest; /* when the oldest that retries was due; NULL: none */
    struct top_lateness lateness;
};

/* Reads the n-th level in the order of the metrics. Returns false if there are fewer. */
bool top_level_at(const struct top_figures *figures, int n, struct top_level *level);

/* Returns "flowing", "empty", "overdue", "withheld", "redelivering" or "blocked". */
const char *top_level_state(const struct top_level *level, int64_t now_wall_ms);

/* Prints the table. brief: empty levels are one line. */
void top_levels_print(const struct top_figures *figures, bool brief, int64_t now_wall_ms,
                      FILE *out);
json_t *top_levels_json(const struct top_figures *figures, int64_t now_wall_ms);

#endif
