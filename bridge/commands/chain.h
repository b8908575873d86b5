/* SPDX-License-Identifier: Apache-2.0 */
/* chain: the stops that a delay makes, for commands that tell of them. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CHAIN_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CHAIN_H

#include "levels/plan.h"

enum { CHAIN_MAX = 4096 };

struct chain {
    int64_t delay_ms;
    int levels[CHAIN_MAX];
    int64_t end_ms[CHAIN_MAX]; /* of each stop, since the request */
    int64_t hops;              /* may be more than fit */
    int shown;
    int64_t held_ms; /* in memory: what no level is for */
};

/* As the bridge goes if no time is lost on the way: a stop takes up the odd rest, so that there can
   be fewer than plan_chain sees at once. */
void chain_walk(struct chain *chain, const struct ladder *ladder, int64_t delay_ms);

#endif
