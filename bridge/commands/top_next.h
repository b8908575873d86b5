/* SPDX-License-Identifier: Apache-2.0 */
/* top_next: the deliveries of the next hour by minute, estimated from a sample of the waiting
   records (forecast_sample.h). A thread reads it repeatedly, so a slow broker does not
   delay the other figures. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_NEXT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_NEXT_H

#include "bridge/commands/command.h"
#include "bridge/commands/forecast_sample.h"
#include "bridge/commands/top_chart.h"

enum { TOP_MINUTES = 60 };

/* An estimate. */
struct top_hour {
    bool is_known;
    int64_t sampled;       /* records that were read */
    int64_t first_wall_ms; /* the beginning of the first minute */
    int64_t minutes[TOP_MINUTES];
};

/* Adds the minutes of a sample that begin within the hour from now_wall_ms on. Pure. */
struct top_hour top_hour_of(const struct forecast_sample *sample, int64_t now_wall_ms);

/* Prints bars, or nothing if the hour is not known. */
void top_hour_print(const struct top_hour *hour, enum chart_letters letters, FILE *out);
json_t *top_hour_json(const struct top_hour *hour); /* null: not known */

struct top_next;

/* Starts the thread. cli outlives it. Returns NULL if it cannot be started. */
struct top_next *top_next_start(const struct cli *cli);

/* Returns the last estimate. wait: waits for the end of the first try. Without an estimate, *why
   has the sentence of the last failure, or is empty. */
struct top_hour top_next_take(struct top_next *next, bool wait, struct error *why);

/* Ends the thread after its current try. Accepts NULL. */
void top_next_stop(struct top_next *next);

#endif
