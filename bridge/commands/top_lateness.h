/* SPDX-License-Identifier: Apache-2.0 */
/* top_lateness: how late the deliveries of a level were between two readings of the metrics. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LATENESS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LATENESS_H

#include "bridge/commands/scrape.h"

#include <jansson.h>

enum { LATENESS_TEXT_MAX = 32 };

enum lateness_kind { LATENESS_NONE, LATENESS_WITHIN, LATENESS_ABOVE };
struct lateness {
    enum lateness_kind kind; /* no delivery; at most at_most_ms; above the largest bucket */
    double at_most_ms;
};

/* Returns the number of deliveries since `before`. */
double lateness_count(const struct scrape *now, const struct scrape *before, const char *level);

/* Returns the smallest bound of a bucket that a share q of these deliveries does not exceed. */
struct lateness lateness_quantile(const struct scrape *now, const struct scrape *before,
                                  const char *level, double q);

/* Returns "5ms", "2s", "> 5m" or "-". */
const char *lateness_text(struct lateness lateness, char out[LATENESS_TEXT_MAX]);

/* Returns the bound, rounded up to a whole millisecond. null: there is none. */
json_t *lateness_json(struct lateness lateness);

#endif
