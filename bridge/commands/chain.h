/* SPDX-License-Identifier: Apache-2.0 */
/* chain: the stops of a delay in levels, for the commands explain and size. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CHAIN_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CHAIN_H

#include "levels/plan.h"

enum { CHAIN_MAX = 4096 };

struct chain {
    int64_t delay_ms;
    int levels[CHAIN_MAX];
    int64_t end_ms[CHAIN_MAX]; /* end of each stop, counted from the request */
    int64_t hops;              /* all stops, also those that do not fit */
    int shown;
    int64_t in_memory_ms; /* the remainder after the last stop, in memory */
};

/* Computes the stops of a record that loses no time between two levels. A stop lasts longer than
   its level if the remainder of the delay fits no level (plan_release_ms). So there may be fewer
   stops than plan_chain computes. */
void chain_walk(struct chain *chain, const struct ladder *ladder, int64_t delay_ms);

#endif
