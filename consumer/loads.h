/* SPDX-License-Identifier: Apache-2.0 */
/* loads: reads parts of the logs of lanes before the lanes open (port.load). It uses the consumer
   of the levels, which reads committed records and reports the end of a log. So a load of the
   schedule topic does not move the position of the group member. Each lane has one load at most.
   Only the worker's thread may call these functions. */
#ifndef DELAYBRIDGE_CONSUMER_LOADS_H
#define DELAYBRIDGE_CONSUMER_LOADS_H

#include "bridge/core/port.h"
#include "consumer/wakeup.h"

struct loads;

struct loads_config {
    rd_kafka_t *levels;               /* borrowed */
    const char *schedule, *cancelled; /* topics; borrowed */
    int lanes;
    struct wakeup *wakeup;
    /* Called for each committed record of the load, which is valid during the call. */
    void (*loaded)(void *ctx, int lane, const struct record *record);
    /* Called when a load has ended. next: the first offset that it did not read, below the end of
       the load if the log ends there. May begin another load. */
    void (*ended)(void *ctx, int lane, int64_t next);
    void *ctx;
};

/* Returns NULL if memory is lacking. */
struct loads *loads_new(const struct loads_config *config);
void loads_free(struct loads *loads); /* call before the handle is destroyed */

/* Begins a load. Replaces one of the same lane that has not ended. */
void loads_begin(struct loads *loads, const struct load *load);

/* Ends the load of a lane, if there is one, without a call of ended. */
void loads_drop(struct loads *loads, int lane);
void loads_drop_all(struct loads *loads);

/* Returns the most memory that fetched records of the lane's last load needed. */
int64_t loads_unread(const struct loads *loads, int lane);

/* Reads the records that have arrived, for some milliseconds at most. Logs the progress of long
   loads. Call it each turn. Returns whether more may be there: call it again soon. */
bool loads_serve(struct loads *loads, int64_t now_mono_ms);

#endif
