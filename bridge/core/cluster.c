/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster: when it last answered, how long it throttles, whether leaders are known. */
#include "bridge/core/cluster.h"
#include "bridge/core/bridge.h"
#include "bridge/core/sender.h"
#include "bridge/core/state.h"

void cluster_answered(struct bridge *b)
{
    if (b->now.mono_ms - b->cluster.acked_mono_ms > AWAY_MS)
        b->cluster.back_mono_ms = b->now.mono_ms;
    b->cluster.acked_mono_ms = b->now.mono_ms;
}

void cluster_heard(struct bridge *b)
{
    struct cluster *c = &b->cluster;
    if (c->heard_mono_ms == 0 || b->now.mono_ms - c->heard_mono_ms > HEARD_GAP_MS)
        c->heard_since_mono_ms = b->now.mono_ms;
    c->heard_mono_ms = b->now.mono_ms;
}

bool cluster_is_heard(const struct bridge *b)
{
    const struct cluster *c = &b->cluster;
    return c->heard_mono_ms > 0 && b->now.mono_ms - c->heard_mono_ms <= HEARD_GAP_MS &&
           b->now.mono_ms - c->heard_since_mono_ms >= HEARD_FOR_MS;
}

/* Throttle times of two brokers that overlap count once. */
void bridge_throttled(struct bridge *b, int64_t for_ms)
{
    struct cluster *c = &b->cluster;
    int64_t until_mono_ms = b->now.mono_ms + for_ms;
    int64_t from_mono_ms = c->muted_mono_ms > b->now.mono_ms ? c->muted_mono_ms : b->now.mono_ms;
    if (until_mono_ms > from_mono_ms) {
        counter_add(&b->stats->throttled_ms, (uint64_t)(until_mono_ms - from_mono_ms));
        c->muted_mono_ms = until_mono_ms;
    }
    if (for_ms >= AWAY_MS) /* has the same effect as a broker that was away */
        c->back_mono_ms = until_mono_ms;
    bridge_notice(b, (struct notice){.kind = NOTICE_THROTTLED, .span_ms = for_ms});
}

/* Leaders do not matter if a spare producer could begin another transaction. */
bool cluster_leaders_are_known(const struct bridge *b, int64_t whole_mono_ms, int64_t after_ms)
{
    return whole_mono_ms - b->cluster.stall_mono_ms >= after_ms || sender_has_spare(b);
}
