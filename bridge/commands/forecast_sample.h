/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_sample: estimates when waiting records are delivered, from a part of them. Each
   partition is read in STRATA pieces at equal distances. A record in a piece stands for all waiting
   records from the beginning of its piece to that of the next. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_FORECAST_SAMPLE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_FORECAST_SAMPLE_H

#include "bridge/commands/output.h"
#include "consumer/admin/offsets.h"

enum { SAMPLE_PERCENT = 1, SAMPLE_LEAST = 1000, STRATA = 10, HOT_DELIVERIES = 10000 };

/* Deliveries at one instant or in one minute, with their estimated number. */
struct estimate {
    int64_t at_ms;
    double deliveries;
};

struct forecast_sample {
    const struct cli *cli;         /* in: its receiver paces and ends the sample (output.h) */
    const struct offsets *offsets; /* in: from offsets_read */
    rd_kafka_t *rk;                /* in: a consumer with offsets_conf */
    int timeout_ms;                /* in */
    int64_t sampled;               /* records that were read */
    struct estimate *minutes;      /* ascending, without empty ones; owned */
    int minutes_n;
    struct estimate *hot; /* instants with more than HOT_DELIVERIES, ascending; owned */
    int hot_n;
};

/* Reads the sample. Returns 0 or an error with a sentence. Call deinit in any case. */
int forecast_sample_read(struct forecast_sample *sample, struct error *error) must_check;
void forecast_sample_deinit(struct forecast_sample *sample);

#endif
