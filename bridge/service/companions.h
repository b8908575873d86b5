/* SPDX-License-Identifier: Apache-2.0 */
/* companions: the threads next to the workers that share one client handle: the watch (watch.h) and
   the presence (presence.h). Even an idle handle costs a thousandth of a core. The service also
   runs without them: a failure to start one is logged. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_COMPANIONS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_COMPANIONS_H

#include "bridge/service/metrics.h"

struct companions;

struct companions_config {
    const struct config *config; /* at the start; outlives the companions */
    int lanes;                   /* partitions of the schedule topic, at the start */
    int (*owned)(void *ctx);     /* lanes that this process owns; called from their threads */
    void *ctx;
};

/* Returns NULL if nothing can be started. */
struct companions *companions_start(const struct companions_config *config);

/* The workers have applied another configuration. */
void companions_update(struct companions *companions, const struct config *live);

struct watched companions_watched(const struct companions *companions);

/* Stops the watch. Waits for its requests, for four seconds at most. Call it while the
   workers drain. */
void companions_stop_watch(struct companions *companions);

/* Removes the summary of this process, and frees the companions. The watch was stopped. Waits for a
   second at most for a broker. */
void companions_stop(struct companions *companions);

#endif
