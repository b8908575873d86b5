/* SPDX-License-Identifier: Apache-2.0 */
/* canary: a request of the bridge's own, every now and then, through the smallest level to the
   topic S.canary, and back: what a user would see, measured from outside of the workers. Clients
   and a thread of its own; whatever happens to it, the service goes on. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_CANARY_H
#define DELAYBRIDGE_BRIDGE_SERVICE_CANARY_H

#include "bridge/config/config.h"
#include "bridge/core/stats.h"

struct canary;

/* config->canary_ms > 0; the config outlives it. NULL with a sentence in error. */
struct canary *canary_start(const struct config *config, char *error, size_t error_size);

const struct canary_stats *canary_stats(const struct canary *canary);

/* Those that are on their way are not waited for. */
void canary_stop(struct canary *canary);

#endif
