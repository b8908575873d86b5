/* SPDX-License-Identifier: Apache-2.0 */
/* One turn: the clock, due records, reports, queues and progress, in this order. */
#include "bridge/core/admission.h"
#include "bridge/core/bridge.h"
#include "bridge/core/bulk.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/commit.h"
#include "bridge/core/forward.h"
#include "bridge/core/hold.h"
#include "bridge/core/lanes.h"
#include "bridge/core/outcome.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/progress.h"
#include "bridge/core/ready.h"
#include "bridge/core/restore.h"
#include "bridge/core/seal.h"
#include "bridge/core/slowness.h"
#include "bridge/core/state.h"
#include "bridge/core/target.h"
#include "bridge/core/transaction.h"
#include "bridge/core/unmatched.h"
#include "bridge/core/withhold.h"

static void clock_update(struct bridge *b, struct now now)
{
    int64_t passed_ms = now.mono_ms - b->clock.turn.mono_ms;
    int64_t back_ms = b->clock.turn.wall_ms + passed_ms - now.wall_ms;
    b->now = b->clock.turn = now;
    if (b->commit.timed_mono_ms != 0)
        spans_add(&b->stats->commit, now.mono_ms - b->commit.timed_mono_ms);
    b->commit.timed_mono_ms = 0;
    if (passed_ms > b->config.session_ms / 2 && progress_is_any(b))
        commit_doubt_ownership(b, passed_ms);
    if (back_ms > CLOCK_BACK_MS || back_ms < -CLOCK_BACK_MS)
        withhold_forget_slots(b);
    if (back_ms > CLOCK_BACK_MS)
        lanes_clock_went_back(b, back_ms);
    wheel_advance(&b->wheel, now.wall_ms);
}

/* A kept record becomes an ordinary one in memory, whose target must be known when it is due. */
static void end_hold(struct bridge *b, struct parcel *p)
{
    struct envelope env;
    parcel_unkeep(b, p);
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    target_expect(b, env.stamp.target);
}

static void deliver_due(struct bridge *b)
{
    struct wheel_node *node;
    while ((node = wheel_pop(&b->wheel)) != NULL) {
        struct parcel *p = list_item(node, struct parcel, node);
        if (p->kept)
            end_hold(b, p);
        p->state = PARCEL_FREE; /* in no list */
        parcel_ready(b, p);
    }
    forward_serve(b);
}

/* The levels of all lanes come before requests, so that intake never makes deliveries late. */
static void serve_queues(struct bridge *b)
{
    bool poll = b->now.mono_ms - b->clock.poll_mono_ms >= POLL_EVERY_MS;
    if (poll)
        b->clock.poll_mono_ms = b->now.mono_ms;
    bulk_serve(b);
    hold_serve(b);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < b->config.lanes; i++) {
            int lane = (b->bulk.serve_first + i) % b->config.lanes;
            if (!b->lanes[lane].owned || restore_is_under_way(b, lane) ||
                withhold_awaits_control(b))
                continue;
            int from = pass == 0 ? 1 : SLOT_SCHEDULE, to = pass == 0 ? b->queues_per_lane : 1;
            for (int slot = from; slot < to; slot++) {
                struct queue *q = bridge_queue(b, lane, slot);
                q->active |= poll && q->state == QUEUE_OPEN;
                admission_serve(b, q);
            }
        }
    }
    /* Another lane is first in each turn, so that each lane gets its part of scarce room. */
    b->bulk.serve_first = (b->bulk.serve_first + 1) % b->config.lanes;
}

static int64_t wait_ms(const struct bridge *b)
{
    if (b->clock.turn_incomplete)
        return 0;
    int64_t wait = BRIDGE_WAIT_MAX_MS;
    int64_t wheel_wall_ms = wheel_next_ms(&b->wheel);
    if (wheel_wall_ms != INT64_MAX && wheel_wall_ms - b->now.wall_ms < wait)
        wait = wheel_wall_ms - b->now.wall_ms;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        int64_t queue_ms = admission_wait_ms(b, &b->queues[i]);
        if (queue_ms < wait)
            wait = queue_ms;
    }
    int64_t txn_ms = txn_wait_ms(b);
    if (txn_ms < wait)
        wait = txn_ms;
    return wait < 0 ? 0 : wait;
}

int64_t bridge_turn(struct bridge *b, struct now now)
{
    clock_update(b, now);
    b->clock.turn_incomplete = false;
    if (b->commit.proving) {
        outcome_serve(b);
        if (b->config.exactly_once) /* the transaction cannot end without its events */
            forward_settle(b);
        slowness_serve(b);
        commit_prove_ownership(b);
        outcome_watch_silence(b);
        return b->clock.turn_incomplete ? 0 : BRIDGE_WAIT_MAX_MS;
    }
    deliver_due(b);
    outcome_serve(b);
    outlets_serve(b);
    targets_serve(b);
    serve_queues(b);
    wheel_advance(&b->wheel, now.wall_ms);
    deliver_due(b);
    withhold_serve(b);
    restore_serve(b);
    seal_serve(b);
    unmatched_serve(b);
    cancel_table_serve(b);
    slowness_serve(b);
    commit_serve(b);
    outcome_watch_silence(b);
    progress_trim(b);
    counter_set(&b->stats->buffered_bytes, (uint64_t)b->pools.buffered_bytes);
    counter_set(&b->stats->kept_bytes, (uint64_t)b->hold.bytes);
    return wait_ms(b);
}

void bridge_commit(struct bridge *b, struct now now)
{
    b->now = now;
    commit_now(b);
    outcome_watch_silence(b);
}

size_t bridge_settle(struct bridge *b, struct now now)
{
    b->now = now;
    outcome_serve(b);
    bool owes = forward_settle(b);
    bool is_out = commit_settle(b);
    return b->in_flight - b->revoked + is_out + owes;
}

void bridge_wake(struct bridge *b, struct queue_id id)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (q->state == QUEUE_OPEN)
        q->active = true;
}

size_t bridge_in_flight(const struct bridge *b)
{
    return b->in_flight;
}
