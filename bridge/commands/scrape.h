/* SPDX-License-Identifier: Apache-2.0 */
/* scrape: reads /metrics of running services and adds up those of several. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_SCRAPE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_SCRAPE_H

#include "bridge/base/error.h"

#include <stddef.h>

/* A sample. Its name is NAME or NAME{LABEL="VALUE",…}, as received; owned by the scrape. */
struct scrape_sample {
    char *name;
    double value;
};

struct scrape {
    struct scrape_sample *samples; /* in the order of the first one read */
    size_t n;
};

/* Reads http://ADDRESS/metrics (HOST:PORT) into scrape, which starts zeroed. Adds the value to a
   sample of the same name. *_timestamp_seconds keeps the earlier value; *_configured,
   *_limit_per_second and *_behind_seconds keep the larger.
   Returns 0. Otherwise returns ERR_KAFKA (no answer) or ERR_DATA (another service), with a sentence
   in error. */
int scrape_read(struct scrape *scrape, const char *address, int timeout_ms,
                struct error *error) must_check;
/* Does the same with the text of an answer, including its head. Returns 0, or ERR_DATA with scrape
   unchanged. */
int scrape_take(struct scrape *scrape, const char *answer) must_check;
void scrape_deinit(struct scrape *scrape);

/* Returns the value of a sample, or 0 if there is none of this name. */
double scrape_value(const struct scrape *scrape, const char *name);
/* Returns the sample of this name, or NULL. */
const struct scrape_sample *scrape_find(const struct scrape *scrape, const char *name);

#endif
