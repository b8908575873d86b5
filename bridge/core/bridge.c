/* SPDX-License-Identifier: Apache-2.0 */
/* The step machine: lanes that come and go, the turn, the clock, and progress that is committed. */
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

#include <stdlib.h>

enum { PARCEL_BYTES_MIN = 640, PARCELS_MIN = 4096 };

static int pools_init(struct bridge *b)
{
    b->parcels_n = (size_t)(b->config.memory_bytes / PARCEL_BYTES_MIN);
    size_t queues_n = (size_t)b->config.lanes * (size_t)b->queues_per_lane;
    if (b->parcels_n < PARCELS_MIN + queues_n)
        b->parcels_n = PARCELS_MIN + queues_n;
    b->parcels = calloc(b->parcels_n, sizeof *b->parcels); /* touched only as far as needed */
    b->verdicts = calloc(VERDICTS_MAX, sizeof *b->verdicts);
    b->lanes = calloc((size_t)b->config.lanes, sizeof *b->lanes);
    b->queues = calloc(queues_n, sizeof *b->queues);
    b->progress = malloc(queues_n * sizeof *b->progress);
    b->outlets = calloc(queues_n, sizeof *b->outlets);
    b->taken = calloc(b->config.exactly_once ? TXN_RECORDS_MAX : 1, sizeof *b->taken);
    if (!b->parcels || !b->verdicts || !b->lanes || !b->queues || !b->progress || !b->outlets ||
        !b->taken)
        return ERR_NO_MEMORY;
    list_init(&b->parcels_free);
    list_init(&b->verdicts_free);
    for (int i = 0; i < VERDICTS_MAX; i++)
        list_append(&b->verdicts_free, &b->verdicts[i].link);
    for (int i = 0; i < READY_N; i++)
        list_init(&b->ready[i]);
    outlets_doubt(b);
    return targets_init(b);
}

static int64_t level_of_slot(const struct bridge *b, int slot)
{
    if (slot == SLOT_SCHEDULE)
        return 0;
    int level = slot - 1;
    const struct ladder *ladder = &b->config.ladder;
    return level < ladder->n ? ladder->level_ms[level] : b->config.retired_ms[level - ladder->n];
}

static void queues_init(struct bridge *b)
{
    for (int lane = 0; lane < b->config.lanes; lane++) {
        for (int slot = 0; slot < b->queues_per_lane; slot++) {
            struct queue *q = bridge_queue(b, lane, slot);
            q->id = (struct queue_id){lane * b->queues_per_lane + slot, lane, slot};
            q->level_ms = level_of_slot(b, slot);
            q->mark.offset = -1;
            list_init(&q->orphans);
            window_init(&q->window, WINDOW_UNSET);
        }
    }
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
    b->span = window_span_of(b->config.commit_text_max);
    b->port = *port;
    b->stats = stats;
    b->now = b->turn = now;
    b->acked_ms = b->back_ms = b->commit_ms = b->recommit_ms = b->probe_ms = b->trim_ms =
        b->poll_ms = now.mono_ms;
    b->queues_per_lane = 1 + config->ladder.n + config->retired_n;
    size_t span_ms = (size_t)(plan_lookahead_ms(&config->ladder) + config->ladder.hold_ms + 1000);
    if (pools_init(b) != 0 || wheel_init(&b->wheel, span_ms, now.wall_ms) != 0) {
        bridge_free(b);
        return NULL;
    }
    queues_init(b);
    return b;
}

void bridge_free(struct bridge *b)
{
    for (int lane = 0; b->lanes != NULL && lane < b->config.lanes; lane++) {
        if (b->lanes[lane].owned)
            bridge_lane_lost(b, lane);
    }
    for (size_t i = 0; i < b->parcels_high; i++) {
        if (b->parcels[i].state != PARCEL_FREE)
            b->port.release(b->port.ctx, b->parcels[i].record);
    }
    targets_deinit(b);
    wheel_deinit(&b->wheel);
    free(b->outlets);
    free(b->taken);
    free(b->progress);
    free(b->queues);
    free(b->lanes);
    free(b->verdicts);
    free(b->parcels);
    free(b);
}

void bridge_reconfigure(struct bridge *b, const struct bridge_live *live)
{
    b->config.rules = live->rules;
    b->config.max_attempts = live->max_attempts;
    memcpy(b->config.target_labels, live->target_labels, sizeof live->target_labels);
    targets_relabel(b);
    b->config.record_max_bytes = live->record_max_bytes;
}

int bridge_queues_per_lane(const struct bridge *b)
{
    return b->queues_per_lane;
}

void bridge_wake(struct bridge *b, struct queue_id id)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (q->state == QUEUE_OPEN)
        q->active = true;
}

static void count_lanes(struct bridge *b, int64_t change)
{
    counter_set(&b->stats->lanes, (uint64_t)((int64_t)counter_read(&b->stats->lanes) + change));
}

/* A committed place never goes back in one log. Where it did, or is missing, the topic may be
   another one of the same name. */
static bool is_same_log(const struct queue *q, const struct start *start)
{
    return !start->fresh && start->offset >= q->base_kept;
}

int bridge_lane_gained(struct bridge *b, int lane, const struct start *starts, struct now now)
{
    assert(!b->lanes[lane].owned);
    b->now = now;
    b->lanes[lane].owned = true;
    b->commit_seq++; /* an answer to an older commit says nothing about these windows */
    b->commit_out = false;
    count_lanes(b, 1);
    int unusable = 0;
    for (int slot = 0; slot < b->queues_per_lane; slot++) {
        struct queue *q = bridge_queue(b, lane, slot);
        const struct window before =
            q->window; /* what an earlier life knew, and perhaps not committed */
        bool same = is_same_log(q, &starts[slot]), was_missing = q->missing;
        q->missing = starts[slot].missing;
        if (was_missing != q->missing) /* a topic that is back may be the same one */
            q->gone = q->missing;
        if (starts[slot].offset == WINDOW_UNSET)
            window_init(&q->window, WINDOW_UNSET);
        else if (window_decode(&q->window, starts[slot].offset, starts[slot].text) != 0)
            unusable++;
        if (!same)
            queue_forget_log(q);
        queue_open(b, q);
        if (q->missing && !was_missing)
            queue_tell_missing(b, q, &before);
        if (q->gone)
            queue_estrange(q);
        else if (same && !b->config.exactly_once && window_learn(&q->window, &before))
            queue_changed(q);
    }
    return unusable;
}

/* What flies outlives its lane: its report may still say that it is done. */
static void make_orphan(struct bridge *b, struct parcel *p)
{
    p->orphan = ORPHAN;
    p->queue->parcels--;
    list_append(&p->queue->orphans, &p->link);
    b->orphans++;
}

static void forget_parcels(struct bridge *b, int lane)
{
    for (size_t i = 0; i < b->parcels_high; i++) {
        struct parcel *p = &b->parcels[i];
        if (p->state == PARCEL_FREE || p->orphan || p->queue->id.lane != lane)
            continue;
        if (p->state == PARCEL_FLYING)
            make_orphan(b, p);
        else
            parcel_forget(b, p);
    }
}

void bridge_lane_lost(struct bridge *b, int lane)
{
    if (!b->lanes[lane].owned)
        return;
    txn_lane_lost(b);
    b->lanes[lane].owned = false;
    count_lanes(b, -1);
    forget_parcels(b, lane);
    for (int slot = 0; slot < b->queues_per_lane; slot++)
        queue_close(b, bridge_queue(b, lane, slot));
}

void bridge_lanes_settled(struct bridge *b)
{
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (b->lanes[q->id.lane].owned)
            continue;
        window_init(&q->window, WINDOW_UNSET);
        q->missing = false;
        queue_forget_log(q);
    }
}

/* Late is allowed, early never: after a large step back what is held would wait for the clock to
   come round, so it is forgotten and read again, into the levels that now fit. */
static void clock_went_back(struct bridge *b, int64_t by_ms)
{
    bridge_tell(b, (struct event){.kind = EVENT_CLOCK_BACK, .span_ms = by_ms});
    if (b->config.exactly_once && (b->flying > b->orphans || b->txn.failed != NULL)) {
        b->txn.failed = NULL; /* it is forgotten with all others */
        bridge_aborted(b, BLAME_NOBODY, "the clock went back"); /* it would be sent twice */
        return;
    }
    for (int lane = 0; lane < b->config.lanes; lane++) {
        if (!b->lanes[lane].owned)
            continue;
        forget_parcels(b, lane);
        for (int slot = 0; slot < b->queues_per_lane; slot++)
            queue_reread(b, bridge_queue(b, lane, slot));
    }
}

static bool any_progress(const struct bridge *b)
{
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        if (queue_has_progress(&b->queues[i]))
            return true;
    }
    return false;
}

/* We may have been fenced while we stood still, and not know yet. What was asked before says
 * nothing. */
static void doubt_ownership(struct bridge *b, int64_t still_ms)
{
    bridge_tell(b, (struct event){.kind = EVENT_STALLED_TURN, .span_ms = still_ms});
    b->proving = true;
    b->proof_seq = b->commit_seq + 1;
    if (b->txn.announced && !b->commit_out) /* its offsets went before we stood still */
        b->proof_seq++;
    if (b->config.exactly_once)
        return;
    b->commit_seq++;
    b->commit_out = false;
}

static void tell_time(struct bridge *b, struct now now)
{
    int64_t passed_ms = now.mono_ms - b->turn.mono_ms;
    int64_t back_ms = b->turn.wall_ms + passed_ms - now.wall_ms;
    b->now = b->turn = now;
    if (b->answered_ms != 0)
        spans_add(&b->stats->commit, now.mono_ms - b->answered_ms);
    b->answered_ms = 0;
    if (passed_ms > b->config.session_ms / 2 && any_progress(b))
        doubt_ownership(b, passed_ms);
    if (back_ms > CLOCK_BACK_MS)
        clock_went_back(b, back_ms);
    wheel_advance(&b->wheel, now.wall_ms);
}

static void deliver_due(struct bridge *b)
{
    struct wheel_node *node;
    while ((node = wheel_pop(&b->wheel)) != NULL) {
        struct parcel *p = list_item(node, struct parcel, node);
        p->state = PARCEL_FREE; /* in no list */
        parcel_ready(b, p);
    }
    delivery_serve(b);
}

/* Levels first, all lanes, then requests: intake never makes deliveries late. */
static void serve_queues(struct bridge *b)
{
    bool poll = b->now.mono_ms - b->poll_ms >= POLL_EVERY_MS;
    if (poll)
        b->poll_ms = b->now.mono_ms;
    bulk_serve(b);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < b->config.lanes; i++) {
            int lane = (b->serve_first + i) % b->config.lanes;
            if (!b->lanes[lane].owned)
                continue;
            int from = pass == 0 ? 1 : SLOT_SCHEDULE, to = pass == 0 ? b->queues_per_lane : 1;
            for (int slot = from; slot < to; slot++) {
                struct queue *q = bridge_queue(b, lane, slot);
                q->active |= poll && q->state == QUEUE_OPEN;
                queue_serve(b, q);
            }
        }
    }
    b->serve_first = (b->serve_first + 1) % b->config.lanes; /* what is scarce is for each */
}

/* Only a commit that succeeds says that the lanes are still ours. */
static void prove_ownership(struct bridge *b)
{
    b->port.reports(b->port.ctx);
    if (!any_progress(b))
        b->proving = false;
    else if (!b->commit_out)
        progress_touch(b, false);
    progress_keep(b);
}

static int64_t wait_ms(const struct bridge *b)
{
    if (b->more)
        return 0;
    int64_t wait = BRIDGE_WAIT_MAX_MS;
    int64_t wheel_ms = wheel_next_ms(&b->wheel);
    if (wheel_ms != INT64_MAX && wheel_ms - b->now.wall_ms < wait)
        wait = wheel_ms - b->now.wall_ms;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        int64_t queue_ms = queue_wait_ms(b, &b->queues[i]);
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
    tell_time(b, now);
    b->more = false;
    if (b->proving) {
        prove_ownership(b);
        return BRIDGE_WAIT_MAX_MS;
    }
    deliver_due(b);
    b->port.reports(b->port.ctx);
    targets_serve(b);
    serve_queues(b);
    wheel_advance(&b->wheel, now.wall_ms);
    deliver_due(b);
    progress_keep(b);
    progress_trim(b);
    counter_set(&b->stats->held_bytes, (uint64_t)b->held_bytes);
    return wait_ms(b);
}

size_t bridge_settle(struct bridge *b, struct now now)
{
    b->now = now;
    b->port.reports(b->port.ctx);
    if (b->config.exactly_once)
        txn_end(b);
    else
        progress_keep(b);
    return b->flying - b->orphans + txn_is_out(b);
}

size_t bridge_flying(const struct bridge *b)
{
    return b->flying;
}

static void check_parcels(const struct bridge *b)
{
    size_t flying = 0, orphans = 0, parked = 0, waiting = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < b->parcels_high; i++) {
        const struct parcel *p = &b->parcels[i];
        if (p->state == PARCEL_FREE)
            continue;
        flying += p->state == PARCEL_FLYING;
        waiting += p->state == PARCEL_WAITING;
        parked += p->state == PARCEL_PARKED;
        orphans += p->orphan != OWN;
        bytes += record_memory(p->record, p->headers_n);
        assert(!p->orphan || p->state == PARCEL_FLYING);
        assert(p->orphan || b->lanes[p->queue->id.lane].owned);
        bool foreseen = b->txn.announced || b->txn.state == TXN_BROKEN;
        assert(p->orphan || p->offset < p->queue->window.base || /* the log's start passed it */
               (foreseen && p->state == PARCEL_FLYING) ||
               !window_is_done(&p->queue->window, p->offset));
    }
    assert(flying == b->flying && orphans == b->orphans && parked == b->parked);
    assert(waiting == b->wheel.count && bytes == b->held_bytes);
}

void bridge_check(const struct bridge *b)
{
    wheel_check(&b->wheel);
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++)
        queue_check(b, &b->queues[i]);
    check_parcels(b);
}
