/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: assigned, lost, and read again. */
#include "bridge/core/lanes.h"
#include "bridge/core/bridge.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/commit.h"
#include "bridge/core/outcome.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/restore.h"
#include "bridge/core/state.h"
#include "bridge/core/withhold.h"

static void count_lanes(struct bridge *b, int64_t change)
{
    counter_set(&b->stats->lanes, (uint64_t)((int64_t)counter_read(&b->stats->lanes) + change));
}

/* Returns whether the log is still the one that was committed. Committed offsets never decrease in
   one log. */
static bool is_same_log(const struct queue *q, const struct start *start)
{
    return !start->fresh && start->offset >= q->base_kept;
}

int bridge_lane_assigned(struct bridge *b, int lane, const struct start *starts, struct now now)
{
    assert(!b->lanes[lane].owned);
    b->now = now;
    b->lanes[lane].owned = true;
    withhold_lane_gained(b, &b->lanes[lane], starts[SLOT_SCHEDULE].kept);
    commit_invalidate(b); /* an answer to an older commit is not about these windows */
    count_lanes(b, 1);
    int unusable = 0;
    for (int slot = 0; slot < b->queues_per_lane; slot++) {
        struct queue *q = bridge_queue(b, lane, slot);
        const struct window before =
            q->window; /* of an earlier assignment; it may know more done offsets than the commit */
        bool same = is_same_log(q, &starts[slot]), was_missing = q->missing;
        q->missing = starts[slot].missing;
        if (was_missing != q->missing) /* a topic that exists again may be the old one */
            q->log_mismatch = q->missing;
        if (starts[slot].offset == WINDOW_UNSET)
            window_init(&q->window, WINDOW_UNSET);
        else if (window_decode(&q->window, starts[slot].offset, starts[slot].text) != 0)
            unusable++;
        if (!same)
            queue_forget_log(q);
        queue_open(b, q);
        if (same && q->read_end < before.next)
            q->read_end = before.next;
        if (q->missing && !was_missing)
            queue_notice_missing(b, q, &before);
        if (q->log_mismatch)
            queue_disown_in_flight(q);
        else if (same && !b->config.exactly_once && window_learn(&q->window, &before))
            queue_changed(q);
    }
    restore_begin(b, lane, &starts[SLOT_SCHEDULE]);
    return unusable;
}

/* A record in flight outlives its lane. Its report may still mark it as done. */
static void revoke(struct bridge *b, struct parcel *p)
{
    p->ownership = REVOKED;
    p->queue->parcels--;
    list_append(&p->queue->revoked, &p->link);
    b->revoked++;
}

static void forget_parcels(struct bridge *b, int lane)
{
    for (size_t i = 0; i < b->pools.parcels_high; i++) {
        struct parcel *p = &b->pools.parcels[i];
        if (p->state == PARCEL_FREE || p->ownership != OWNED || p->queue->id.lane != lane)
            continue;
        if (p->state == PARCEL_IN_FLIGHT)
            revoke(b, p);
        else
            parcel_forget(b, p);
    }
}

void bridge_lane_lost(struct bridge *b, int lane)
{
    if (!b->lanes[lane].owned)
        return;
    outcome_lane_lost(b);
    b->lanes[lane].owned = false;
    count_lanes(b, -1);
    restore_end(b, lane);
    forget_parcels(b, lane);
    for (int slot = 0; slot < b->queues_per_lane; slot++)
        queue_close(b, bridge_queue(b, lane, slot));
}

void bridge_lanes_settled(struct bridge *b)
{
    withhold_lanes_settled(b);
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (b->lanes[q->id.lane].owned)
            continue;
        if (queue_is_schedule(q))
            outlets_lane_lost(b, q->id.lane);
        window_init(&q->window, WINDOW_UNSET);
        q->missing = false;
        queue_forget_log(q);
        cancel_table_close(b, q->id.lane);
    }
}

/* After a large step back, records in memory would wait for the clock to catch up. So they are
   forgotten, read again, and go to the levels that fit now. */
void lanes_clock_went_back(struct bridge *b, int64_t by_ms)
{
    bridge_notice(b, (struct notice){.kind = NOTICE_CLOCK_BACK, .span_ms = by_ms});
    if (outcome_break(b, "the clock went back")) /* records in flight would be sent twice */
        return;
    for (int lane = 0; lane < b->config.lanes; lane++) {
        if (!b->lanes[lane].owned)
            continue;
        forget_parcels(b, lane);
        restore_forgot_parcels(b, lane);
        for (int slot = 0; !restore_is_under_way(b, lane) && slot < b->queues_per_lane; slot++)
            queue_reread(b, bridge_queue(b, lane, slot));
    }
}
