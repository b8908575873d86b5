/* SPDX-License-Identifier: Apache-2.0 */
/* chain: the stops of a delay in levels, for the commands explain and size. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CHAIN_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CHAIN_H

#include "levels/plan.h"

#include <jansson.h>

enum { CHAIN_MAX = 4096 };

struct chain {
    int64_t delay_ms;
    int levels[CHAIN_MAX];
    int64_t end_ms[CHAIN_MAX]; /* end of each stop, counted from the request */
    int64_t hops;              /* all stops, also those that do not fit */
    int shown;
    int64_t in_memory_ms; /* the remainder after the last stop, in memory */
    /* The same if there is room for a rest in memory. The chain then is the first hops of all. */
    int64_t with_room_hops, with_room_in_memory_ms;
};

/* Computes the stops of a record that loses no time between two levels. A stop lasts longer than
   its level if the remainder of the delay fits no level (plan_release_ms). So there may be fewer
   stops than plan_chain computes. hold_ms: the longest rest in memory if there is room
   (config.hold_ms). It saves no hops in a chain that is not shown to its end. */
void chain_walk(struct chain *chain, const struct ladder *ladder, int64_t hold_ms,
                int64_t delay_ms);

/* Longer levels that would save hops: those of 12h, 1d and 7d above the ladder's longest level and
   not above the delay. */
struct longer_levels {
    int64_t level_ms[3];
    int n;        /* 0: the chain is short, or no level of these helps */
    int64_t hops; /* with them */
};
void chain_longer_levels(const struct chain *chain, const struct ladder *ladder,
                         struct longer_levels *longer);

/* Returns the levels as text: "12h, 1d, 7d". */
enum { LONGER_TEXT_MAX = 64 };
const char *longer_levels_text(const struct longer_levels *longer, char out[LONGER_TEXT_MAX]);

/* Returns levels and hops, or null if there are no such levels. */
json_t *longer_levels_json(const struct longer_levels *longer);

#endif
