/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a step machine: creation, reconfiguration, checks and end. */
#include "bridge/core/bridge.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/event.h"
#include "bridge/core/hold.h"
#include "bridge/core/lanes.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/sender.h"
#include "bridge/core/state.h"
#include "bridge/core/target_table.h"
#include "bridge/core/transaction.h"
#include "bridge/core/withhold.h"

#include <stdlib.h>

enum { PARCELS_MIN = 4096 };

static int pools_init(struct bridge *b)
{
    b->pools.parcels_n = (size_t)(b->config.memory_bytes / PARCEL_OVERHEAD);
    size_t queues_n = (size_t)b->config.lanes * (size_t)b->queues_per_lane;
    if (b->pools.parcels_n < PARCELS_MIN + queues_n)
        b->pools.parcels_n = PARCELS_MIN + queues_n;
    /* The kernel provides this memory when it is first used. */
    b->pools.parcels = malloc(b->pools.parcels_n * sizeof *b->pools.parcels);
    b->pools.dead_letters = calloc(DEAD_LETTERS_MAX, sizeof *b->pools.dead_letters);
    b->lanes = calloc((size_t)b->config.lanes, sizeof *b->lanes);
    b->queues = calloc(queues_n, sizeof *b->queues);
    b->commit.progress = malloc(queues_n * sizeof *b->commit.progress);
    b->outlets.all =
        calloc((size_t)b->config.lanes * (size_t)outlets_per_lane(b), sizeof *b->outlets.all);
    if (!b->pools.parcels || !b->pools.dead_letters || !b->lanes || !b->queues ||
        !b->commit.progress || !b->outlets.all || txn_init(b) != 0)
        return ERR_NO_MEMORY;
    list_init(&b->pools.parcels_free);
    list_init(&b->pools.dead_letters_free);
    for (int i = 0; i < DEAD_LETTERS_MAX; i++)
        list_append(&b->pools.dead_letters_free, &b->pools.dead_letters[i].link);
    for (int i = 0; i < READY_N; i++)
        list_init(&b->ready[i]);
    outlets_doubt(b);
    return targets_init(b);
}

static void queues_init(struct bridge *b)
{
    for (int lane = 0; lane < b->config.lanes; lane++) {
        for (int slot = 0; slot < b->queues_per_lane; slot++) {
            struct queue *q = bridge_queue(b, lane, slot);
            q->id = (struct queue_id){lane * b->queues_per_lane + slot, lane, slot};
            if (slot != SLOT_SCHEDULE)
                q->level_ms = ladder_slot_ms(&b->config.ladder, b->config.retired_ms, slot);
            q->mark.offset = -1;
            list_init(&q->revoked);
            list_init(&q->kept);
            window_init(&q->window, WINDOW_UNSET);
        }
    }
}

/* Returns the memory of a bridge that holds no records. Its pools may be incomplete. */
static void deallocate(struct bridge *b)
{
    cancel_table_deinit(b);
    event_deinit(b);
    targets_deinit(b);
    withhold_deinit(b);
    wheel_deinit(&b->wheel);
    free(b->outlets.all);
    txn_deinit(b);
    free(b->commit.progress);
    free(b->queues);
    free(b->lanes);
    free(b->pools.dead_letters);
    free(b->pools.parcels);
    free(b);
}

struct bridge *bridge_new(const struct bridge_config *config, const struct port *port,
                          struct stats *stats, struct now now)
{
    struct bridge *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    b->config = *config;
    if (b->config.commit_text_max == 0)
        b->config.commit_text_max = WINDOW_TEXT_MAX;
    if (b->config.commit_again_ms == 0)
        b->config.commit_again_ms = RECOMMIT_EVERY_MS;
    if (b->config.seal_ms == 0)
        b->config.seal_ms = SEAL_EVERY_MS;
    if (b->config.txn_records_max == 0)
        b->config.txn_records_max = TXN_RECORDS_MAX;
    if (b->config.txn_bytes_max == 0)
        b->config.txn_bytes_max = TXN_BYTES_MAX;
    assert(b->config.txn_records_max >= TXN_RECORDS_MIN);
    if (b->config.limited_max == 0)
        b->config.limited_max = LIMITED_MAX;
    b->span = window_span_of(b->config.commit_text_max);
    b->port = *port;
    b->stats = stats;
    b->now = b->clock.turn = now;
    b->cluster.acked_mono_ms = b->cluster.back_mono_ms = b->commit.last_mono_ms =
        b->commit.recommit_mono_ms = b->commit.probe_mono_ms = b->commit.trim_mono_ms =
            b->clock.poll_mono_ms = now.mono_ms;
    b->queues_per_lane = 1 + config->ladder.n + config->retired_n;
    int64_t hold_ms = config->ladder.hold_ms;
    if (config->hold_ms > hold_ms)
        hold_ms = config->hold_ms;
    size_t span_ms = (size_t)(plan_lookahead_ms(&config->ladder) + hold_ms + 1000);
    if (pools_init(b) != 0 || cancel_table_init(b) != 0 || event_init(b) != 0 ||
        withhold_init(b) != 0 || wheel_init(&b->wheel, span_ms, now.wall_ms) != 0) {
        deallocate(b);
        return NULL;
    }
    queues_init(b);
    sender_init(b);
    return b;
}

void bridge_free(struct bridge *b)
{
    for (int lane = 0; lane < b->config.lanes; lane++) {
        if (b->lanes[lane].owned)
            bridge_lane_lost(b, lane);
    }
    for (size_t i = 0; i < b->pools.parcels_high; i++) {
        struct parcel *p = &b->pools.parcels[i];
        if (p->state == PARCEL_FREE)
            continue;
        parcel_drop_entry(b, p);
        b->port.release(b->port.ctx, p->record);
    }
    deallocate(b);
}

void bridge_reconfigure(struct bridge *b, const struct bridge_live *live)
{
    b->config.rules = live->rules;
    b->config.rules.cancels = b->cancels.is_on;
    b->config.max_attempts = live->max_attempts;
    b->config.target_rules = live->target_rules;
    withhold_reconfigured(b);
    memcpy(b->config.target_labels, live->target_labels, sizeof live->target_labels);
    memcpy(b->config.retry_labels, live->retry_labels, sizeof live->retry_labels);
    targets_relabel(b);
    b->config.record_max_bytes = live->record_max_bytes;
    b->events.wanted = live->events;
}

int bridge_queues_per_lane(const struct bridge *b)
{
    return b->queues_per_lane;
}

static void check_parcels(const struct bridge *b)
{
    size_t in_flight = 0, revoked = 0, parked = 0, waiting = 0;
    int64_t bytes = 0, entries = 0, unacked_bytes = 0;
    for (int lane = 0; lane < b->config.lanes; lane++)
        entries -= b->lanes[lane].cancels.entries_out;
    for (size_t i = 0; i < b->pools.parcels_high; i++) {
        const struct parcel *p = &b->pools.parcels[i];
        if (p->state == PARCEL_FREE)
            continue;
        entries += p->entry_kind == ENTRY_CANCEL || p->entry_kind == ENTRY_REPLACE;
        in_flight += p->state == PARCEL_IN_FLIGHT;
        waiting += p->state == PARCEL_WAITING;
        parked += p->state == PARCEL_PARKED;
        revoked += p->ownership != OWNED;
        bytes += record_memory(p->record, p->headers_n);
        bytes += p->entry != NULL ? record_memory(p->entry, 0) : 0;
        unacked_bytes += p->unacked_bytes;
        assert(p->ownership == OWNED || p->state == PARCEL_IN_FLIGHT);
        assert(p->ownership != OWNED || b->lanes[p->queue->id.lane].owned);
        bool marked_early = b->txn.offsets != OFFSETS_NONE || b->txn.state == TXN_BROKEN;
        assert(p->ownership != OWNED ||
               p->offset < p->queue->window.base || /* the start of the log passed it */
               (marked_early && p->state == PARCEL_IN_FLIGHT) ||
               !window_is_done(&p->queue->window, p->offset));
    }
    assert(in_flight == b->in_flight && revoked == b->revoked && parked == b->targets.parked);
    for (int i = 0; i < b->config.lanes * outlets_per_lane(b); i++)
        unacked_bytes -= b->outlets.all[i].unacked_bytes;
    assert(unacked_bytes == 0);
    assert(waiting == b->wheel.count && bytes == b->pools.buffered_bytes && entries == 0);
}

static void check_letters(const struct bridge *b)
{
    const struct list *hops = &b->ready[READY_HOPS];
    bool front = b->front_end != NULL;
    for (const struct link *l = list_first(hops); l != NULL; l = list_after(hops, l)) {
        assert(front || list_item(l, const struct parcel, link)->dead_letter == NULL);
        front &= l != b->front_end;
    }
    assert(!front);
}

void bridge_check(const struct bridge *b)
{
    check_letters(b);
    wheel_check(&b->wheel);
    if (b->cancels.is_on)
        cancels_check(&b->cancels.table);
    limit_table_check(&b->control.limits);
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++)
        queue_check(b, &b->queues[i]);
    check_parcels(b);
    hold_check(b);
    sender_check(b);
}
