/* SPDX-License-Identifier: Apache-2.0 */
/* The walk from stop to stop. */
#include "bridge/commands/chain.h"

#include <stddef.h>

void chain_walk(struct chain *chain, const struct ladder *ladder, int64_t delay_ms)
{
    int64_t at_ms = 0, waited_ms = 0;
    int level = plan_level(ladder, delay_ms);
    chain->delay_ms = delay_ms;
    chain->shown = 0;
    chain->in_memory_ms = 0;
    while (level != PLAN_HOLD && chain->shown < CHAIN_MAX) {
        int64_t level_ms = ladder->level_ms[level];
        at_ms = plan_release_ms(ladder, level_ms, at_ms, delay_ms);
        waited_ms += level_ms;
        chain->levels[chain->shown] = level;
        chain->end_ms[chain->shown++] = at_ms;
        level = plan_level(ladder, delay_ms - at_ms);
    }
    chain->hops = chain->shown;
    if (level != PLAN_HOLD)
        chain->hops += plan_chain(ladder, delay_ms - at_ms, NULL, 0);
    else if (delay_ms > waited_ms) /* false if slack allowed a longer level */
        chain->in_memory_ms = delay_ms - waited_ms;
}
