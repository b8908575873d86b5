/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of delaybridge_lateness_seconds, as text and as JSON. */
#include "bridge/commands/top_lateness.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX = 200 };

/* Returns the number of deliveries that were late by at most bound. */
static double late_within(const struct scrape *now, const struct scrape *before, const char *level,
                          const char *bound)
{
    char name[NAME_MAX];
    snprintf(name, sizeof name, "delaybridge_lateness_seconds_bucket{level=\"%s\",le=\"%s\"}",
             level, bound);
    return scrape_value(now, name) - scrape_value(before, name);
}

double lateness_count(const struct scrape *now, const struct scrape *before, const char *level)
{
    return late_within(now, before, level, "+Inf");
}

struct lateness lateness_quantile(const struct scrape *now, const struct scrape *before,
                                  const char *level, double q)
{
    char prefix[NAME_MAX], bound[LATENESS_TEXT_MAX];
    int n = snprintf(prefix, sizeof prefix,
                     "delaybridge_lateness_seconds_bucket{level=\"%s\",le=\"", level);
    double all = lateness_count(now, before, level);
    for (size_t i = 0; all > 0 && i < now->n; i++) {
        const char *name = now->samples[i].name;
        if (strncmp(name, prefix, (size_t)n) != 0)
            continue;
        snprintf(bound, sizeof bound, "%.*s", (int)strcspn(name + n, "\""), name + n);
        if (late_within(now, before, level, bound) < q * all)
            continue;
        double seconds = strtod(bound, NULL);
        return isinf(seconds) ? (struct lateness){LATENESS_ABOVE, 0}
                              : (struct lateness){LATENESS_WITHIN, seconds * 1000};
    }
    return (struct lateness){LATENESS_NONE, 0};
}

const char *lateness_text(struct lateness lateness, char out[LATENESS_TEXT_MAX])
{
    switch (lateness.kind) {
    case LATENESS_NONE:
        return "-";
    case LATENESS_ABOVE:
        return "> 5m";
    case LATENESS_WITHIN:
        break;
    }
    bool below_1s = lateness.at_most_ms < 1000;
    snprintf(out, LATENESS_TEXT_MAX, below_1s ? "%gms" : "%gs",
             below_1s ? lateness.at_most_ms : lateness.at_most_ms / 1000);
    return out;
}

json_t *lateness_json(struct lateness lateness)
{
    return lateness.kind == LATENESS_WITHIN ? json_integer((json_int_t)ceil(lateness.at_most_ms))
                                            : json_null();
}
