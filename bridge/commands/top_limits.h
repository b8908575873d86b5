/* SPDX-License-Identifier: Apache-2.0 */
/* top_limits: the limits of targets, as the metrics of running services show them. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LIMITS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LIMITS_H

#include "bridge/commands/scrape.h"

#include <jansson.h>

/* Returns an array of objects with the entry and its rate. */
json_t *top_limits_json(const struct scrape *now);

#endif
