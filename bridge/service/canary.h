/* SPDX-License-Identifier: Apache-2.0 */
/* canary: sends a request each canary_ms through the smallest level to the topic S.canary, and
   reads it there. Its lateness is the one that a user sees, because it is measured outside the
   workers. It has its own thread and clients, and its failures do not affect the service. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_CANARY_H
#define DELAYBRIDGE_BRIDGE_SERVICE_CANARY_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/core/stats.h"

struct canary;

/* Starts the thread. config->canary_ms > 0; the config outlives the canary. Returns NULL with a
   sentence in error on failure. */
struct canary *canary_start(const struct config *config, struct error *error);

const struct canary_stats *canary_stats(const struct canary *canary);

/* Stops the thread and frees the canary. Does not wait for requests in flight. */
void canary_stop(struct canary *canary);

#endif
