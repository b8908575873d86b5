/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_life: how long a cancel stays in force, and how many cancels a second fit cancel_memory,
   for the commands explain and size. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CANCEL_LIFE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CANCEL_LIFE_H

#include "bridge/commands/chain.h"
#include "bridge/config/config.h"

/* A cancel dies when no record is left that it could void. That takes one stay in the longest level
   that its lane uses, and then some seals (levels/seals.h). */
struct cancel_life {
    int64_t level_ms; /* the longest level of the chain; 0: the chain has no level */
    int64_t kept_ms;  /* with the time that seals take */
};

struct cancel_life cancel_life_of(const struct chain *chain, const struct ladder *ladder);

/* The same with the longer levels of a hint, of which there is at least one. */
struct cancel_life cancel_life_with(const struct longer_levels *longer);

/* Returns how many cancels a second fit, in all lanes together, if each is kept for span_ms. A lane
   uses the table of one worker only. */
double cancel_life_rate(const struct config *c, int64_t span_ms);

/* Returns the cancel_memory that rate cancels a second need if each is kept for span_ms. The alert
   of a table that is nearly full stays silent. In steps of 16 MiB. */
double cancel_life_memory(const struct config *c, double rate, int64_t span_ms);

#endif
