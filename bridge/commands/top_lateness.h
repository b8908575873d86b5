/* SPDX-License-Identifier: Apache-2.0 */
/* top_lateness: how late the deliveries of the last updates were, in the buckets of the metrics,
   and a heat map of them. Pure. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LATENESS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LATENESS_H

#include "bridge/commands/top_chart.h"
#include "bridge/commands/top_figures.h"
#include "bridge/core/stats.h"

#include <jansson.h>
#include <stdio.h>

enum { TOP_COLUMNS = 60, TOP_RECENT_MS = 10000 };

/* Deliveries of some time, by the bounds of their lateness (SPAN_BOUNDS_MS). */
struct top_lateness {
    int64_t span_ms;
    double n[SPAN_BUCKETS];
};

/* Returns the deliveries between the two readings, of a level. NULL: of all levels. */
struct top_lateness top_lateness_read(const struct top_figures *figures, const char *level);

double top_lateness_n(const struct top_lateness *lateness);

/* A quantile. WITHIN: at most at_most_ms. ABOVE: beyond the largest bound. */
enum top_quantile_kind { QUANTILE_NONE, QUANTILE_WITHIN, QUANTILE_ABOVE };
struct top_quantile {
    enum top_quantile_kind kind;
    double at_most_ms;
};

/* Returns the smallest bound that a share q of the deliveries does not exceed. */
struct top_quantile top_lateness_quantile(const struct top_lateness *lateness, double q);

/* Writes "5ms", "2s", "> 5m" or "-". Returns out. */
const char *top_quantile_text(struct top_quantile quantile, char out[TOP_NUMBER_MAX]);

/* Returns the bound in ms, rounded up, or null. */
json_t *top_quantile_json(struct top_quantile quantile);

/* The last updates, the newest at newest. Starts zeroed. */
struct top_heat {
    struct top_lateness columns[TOP_COLUMNS];
    int n, newest;
};

void top_heat_add(struct top_heat *heat, struct top_lateness column);

/* Returns the sum of the updates of the last ten seconds, and of the last update at least. */
struct top_lateness top_heat_recent(const struct top_heat *heat);

/* Prints a row for each range of lateness, and a column for each update. */
void top_heat_print(const struct top_heat *heat, enum chart_letters letters, FILE *out);

#endif
