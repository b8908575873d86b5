/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster: when it last answered, and whether the leaders of partitions are known. */
#include "bridge/core/cluster.h"
#include "bridge/core/state.h"

void cluster_answered(struct bridge *b)
{
    if (b->now.mono_ms - b->cluster.acked_mono_ms > AWAY_MS)
        b->cluster.back_mono_ms = b->now.mono_ms;
    b->cluster.acked_mono_ms = b->now.mono_ms;
}

/* Or it does not matter, since another transaction could begin without the producer that it holds.
 */
bool cluster_leaders_are_known(const struct bridge *b, int64_t whole_ms, int64_t after_ms)
{
    return whole_ms - b->cluster.stall_mono_ms >= after_ms || b->port.spare(b->port.ctx);
}
