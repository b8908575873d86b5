/* SPDX-License-Identifier: Apache-2.0 */
/* scrape: reading /metrics of running services, and adding up those of several. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_SCRAPE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_SCRAPE_H

#include "bridge/base/error.h"

#include <stddef.h>

/* A sample: NAME or NAME{LABEL="VALUE",…}, as it is written. Owned by the scrape. */
struct scrape_sample {
    char *name;
    double value;
};

struct scrape {
    struct scrape_sample *samples; /* in the order of the first one read */
    size_t n;
};

/* Read http://ADDRESS/metrics (HOST:PORT) into scrape, which starts zeroed. A sample that is there
   already is added to; of *_timestamp_seconds the earlier stays, of *_configured the larger.
   Returns 0, or with a sentence in error ERR_KAFKA (no answer) or ERR_DATA (another service). */
int scrape_read(struct scrape *scrape, const char *address, int timeout_ms,
                struct error *error) must_check;
/* The same from the text of an answer, with its head. 0, or ERR_DATA with scrape unchanged. */
int scrape_take(struct scrape *scrape, const char *answer) must_check;
void scrape_deinit(struct scrape *scrape);

/* 0 if there is none of this name. */
double scrape_value(const struct scrape *scrape, const char *name);
/* NULL: none. */
const struct scrape_sample *scrape_find(const struct scrape *scrape, const char *name);

#endif
