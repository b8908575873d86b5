/* SPDX-License-Identifier: Apache-2.0 */
/* The restore of a lane, step by step:

     LOADING_LOG_END   queries the end of the topic of cancels
     LOADING_LOG       reads the topic of cancels up to this end
     LOADING_ENDS      queries the ends of the schedule topic
     LOADING_WITNESS   if the group has no offset, reads the request of the newest entry
     LOADING_BARRIER   if the schedule topic was recreated, writes a barrier
     LOADING_REQUESTS  reads the requests that are not done, up to the last stable offset
     LOADING_CONTROL   waits for the paused and limited targets, and continues with LOADING_ENDS

   Then the lane opens, and the schedule topic is read again from its committed base. The ends of
   the schedule topic are queried after the topic of cancels was read. So the request of each entry
   that was read lies below its end, unless the topic was recreated. They are queried again after a
   wait for the paused targets. So a cancel that was written in this wait is in force before the
   first delivery. */
#include "bridge/core/restore.h"
#include "bridge/core/bridge.h"
#include "bridge/core/bulk.h"
#include "bridge/core/cancel.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/seal.h"
#include "bridge/core/state.h"
#include "bridge/core/transaction.h"
#include "bridge/core/unmatched.h"
#include "bridge/core/withhold.h"

static void count_restoring(struct bridge *b, int64_t change)
{
    struct counter *n = &b->stats->lanes_restoring;
    counter_set(n, (uint64_t)((int64_t)counter_read(n) + change));
}

static void query(struct bridge *b, int lane, enum loading loading)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    l->loading = loading;
    l->queried_mono_ms = b->now.mono_ms;
    b->port.query_ends(b->port.ctx, lane);
}

static void load(struct bridge *b, enum loading loading, const struct load *load)
{
    struct lane_cancels *l = &b->lanes[load->lane].cancels;
    l->loading = loading;
    l->load = *load;
    l->load_next = l->watched_next = load->from;
    l->moved_mono_ms = b->now.mono_ms;
    b->port.load(b->port.ctx, load);
}

void restore_begin(struct bridge *b, int lane, const struct start *start)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (!b->cancels.is_on)
        return;
    seal_restart(b, lane);
    if (l->barrier_in_doubt) /* the entries before it are in no table any more */
        cancel_table_close(b, lane);
    l->barrier_in_doubt = false;
    if (l->id >= 0 && l->complete && start->kept)
        return;
    unmatched_forget(b, lane);
    if (l->id < 0)
        cancel_table_open(b, lane, start->offset > 0 ? start->offset : 0);
    for (int slot = 0; slot < b->queues_per_lane; slot++)
        l->passed[slot] = -1; /* a topic may be another one, with a smaller base */
    l->fresh = start->fresh || start->offset == WINDOW_UNSET;
    l->start_offset = start->offset;
    l->complete = false;
    l->loading_mono_ms = b->now.mono_ms;
    count_restoring(b, 1);
    if (bridge_queue(b, lane, SLOT_SCHEDULE)->state == QUEUE_OPEN)
        queue_stand_in_line(b, bridge_queue(b, lane, SLOT_SCHEDULE)); /* its load reads it */
    query(b, lane, LOADING_LOG_END);
}

/* The cancels of an open lane are in force up to its position, also if it is read again. */
static void note_position(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    int64_t next = bridge_queue(b, lane, SLOT_SCHEDULE)->window.next;
    if (l->loading == LOADING_NONE && next > l->requests_next)
        l->requests_next = next;
}

/* Keeps the table: if the lane comes back, only the rest is read. */
void restore_end(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (!b->cancels.is_on)
        return;
    note_position(b, lane);
    if (l->loading != LOADING_NONE)
        count_restoring(b, -1);
    if (l->loading == LOADING_LOG)
        l->log_next = l->load_next;
    l->barrier_in_doubt |= l->loading == LOADING_BARRIER;
    l->loading = LOADING_NONE;
    seal_restart(b, lane);
}

/* Lets reading begin at the committed base. The restore has read further, in another place. */
static void open_lane(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
    l->loading = LOADING_NONE;
    l->complete = true;
    count_restoring(b, -1);
    spans_add(&b->stats->restore, b->now.mono_ms - l->loading_mono_ms);
    seal_restart(b, lane);
    if (q->in_line && q->window.base == WINDOW_UNSET) {
        queue_start_at(q, l->requests_start);
        queue_changed(q);
    }
    bulk_lane_opened(b, q);
    bridge_notice(b, (struct notice){.kind = NOTICE_LANE_RESTORED,
                                     .queue = restore_log(lane),
                                     .count = (int64_t)b->cancels.table.lanes[l->id].n,
                                     .span_ms = b->now.mono_ms - l->loading_mono_ms});
}

/* All cancels up to the last known end are in force. */
static void requests_read(struct bridge *b, int lane)
{
    if (withhold_awaits_control(b))
        b->lanes[lane].cancels.loading = LOADING_CONTROL;
    else
        open_lane(b, lane);
}

static void read_requests(struct bridge *b, int lane, int64_t stable_end)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    int64_t base = bridge_queue(b, lane, SLOT_SCHEDULE)->window.base;
    struct load requests = {LOAD_REQUESTS, lane, base, stable_end};
    if (requests.from < l->requests_start)
        requests.from = l->requests_start;
    if (requests.from < l->requests_next)
        requests.from = l->requests_next;
    l->requests_end = stable_end;
    if (requests.from >= stable_end) {
        requests_read(b, lane);
        return;
    }
    load(b, LOADING_REQUESTS, &requests);
}

static void write_barrier(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    uint8_t out[CANCEL_BARRIER_SIZE];
    size_t size = cancel_barrier_encode(l->number, out);
    l->loading = LOADING_BARRIER;
    l->queried_mono_ms = b->now.mono_ms;
    l->seal_out = cancel_note(b, lane, ENTRY_BARRIER, bytes_of(out, size)) != NULL;
}

/* The entries are of a schedule topic that is gone. They would void requests of the new one. */
static void bar_entries(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    int64_t next = seals_next(&l->seals), log_next = l->log_next;
    bridge_notice(b, (struct notice){.kind = NOTICE_CANCELS_VOID,
                                     .queue = restore_log(lane),
                                     .count = (int64_t)b->cancels.table.lanes[l->id].n});
    l->number = l->number > next ? l->number : next;
    int64_t number = l->number;
    cancel_table_close(b, lane);
    cancel_table_open(b, lane, 0);
    l->log_next = log_next;
    l->number = number;
    write_barrier(b, lane);
}

/* Returns whether the schedule topic was recreated: the newest entry is of a request at or above
   its end. The committed base plus a window is no bound, since a commit may fail for long. */
static void recognize_schedule(struct bridge *b, int lane, const struct log_ends *schedule)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    int64_t offset = l->witness.offset;
    bool doubted = l->fresh || l->start_offset > schedule->end;
    l->requests_start = schedule->start;
    l->requests_end = schedule->stable_end;
    if (offset >= schedule->end) {
        bar_entries(b, lane);
    } else if (doubted && offset >= schedule->start) {
        l->witness.seen = false;
        load(b, LOADING_WITNESS, &(struct load){LOAD_REQUESTS, lane, offset, offset + 1});
    } else { /* a log that starts above it by retention is the same log */
        read_requests(b, lane, schedule->stable_end);
    }
}

static void read_log(struct bridge *b, int lane, const struct log_ends *log)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    l->log_start = log->start;
    l->log_end = log->end;
    if (l->log_next > log->end) { /* the topic of cancels was recreated */
        cancel_table_close(b, lane);
        cancel_table_open(b, lane, l->start_offset > 0 ? l->start_offset : 0);
    }
    struct load entries = {LOAD_CANCELS, lane, l->log_next, log->end};
    if (entries.from < log->start)
        entries.from = log->start;
    if (entries.from < log->end)
        load(b, LOADING_LOG, &entries);
    else
        query(b, lane, LOADING_ENDS);
}

void bridge_ends(struct bridge *b, int lane, const struct log_ends *ends, bool whole)
{
    switch (b->lanes[lane].cancels.loading) {
    case LOADING_LOG_END:
        read_log(b, lane, &ends[b->queues_per_lane]);
        break;
    case LOADING_ENDS:
        recognize_schedule(b, lane, &ends[SLOT_SCHEDULE]);
        break;
    case LOADING_NONE:
        if (b->lanes[lane].owned)
            seal_ends(b, lane, ends, whole);
        break;
    case LOADING_LOG: /* a late answer */
    case LOADING_WITNESS:
    case LOADING_BARRIER:
    case LOADING_REQUESTS:
    case LOADING_CONTROL:
    case LOADING_BLOCKED:
        break;
    }
}

void bridge_load_ended(struct bridge *b, int lane, int64_t next)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (l->loading == LOADING_LOG) {
        l->log_next = next;
        query(b, lane, LOADING_ENDS);
    } else if (l->loading == LOADING_WITNESS && !l->witness.seen) {
        bar_entries(b, lane);
    } else if (l->loading == LOADING_WITNESS) {
        read_requests(b, lane, l->requests_end);
    } else if (l->loading == LOADING_REQUESTS) {
        l->requests_next = l->requests_end;
        bulk_watch_load(b, lane);
        requests_read(b, lane);
    }
}

/* A transaction with the barrier may still be aborted. Then the lane is restored again. */
void restore_barrier_stored(struct bridge *b, struct parcel *p)
{
    int lane = p->queue->id.lane;
    struct lane_cancels *l = &b->lanes[lane].cancels;
    bool counts = seals_bar(&l->seals, l->number++);
    assert(counts);
    l->seal_out = false;
    l->barrier_in_doubt = txn_voids_lost_work(b);
    b->cancels.barriers_in_doubt |= l->barrier_in_doubt;
    parcel_forget(b, p);
    read_requests(b, lane, l->requests_end);
}

void restore_committed(struct bridge *b)
{
    if (!b->cancels.barriers_in_doubt)
        return;
    b->cancels.barriers_in_doubt = false;
    for (int lane = 0; lane < b->config.lanes; lane++)
        b->lanes[lane].cancels.barrier_in_doubt = false;
}

void restore_forgot_parcels(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (!b->cancels.is_on)
        return;
    note_position(b, lane);
    l->seal_out = false;
    if (l->loading == LOADING_BARRIER)
        write_barrier(b, lane);
}

void restore_serve(struct bridge *b)
{
    for (int lane = 0; b->cancels.is_on && lane < b->config.lanes; lane++) {
        struct lane_cancels *l = &b->lanes[lane].cancels;
        bool late = b->now.mono_ms - l->queried_mono_ms >= ENDS_LOST_MS;
        if (late && (l->loading == LOADING_LOG_END || l->loading == LOADING_ENDS))
            query(b, lane, l->loading);
        else if (late && l->loading == LOADING_BARRIER && !l->seal_out)
            write_barrier(b, lane);
        else if (l->loading == LOADING_CONTROL && !withhold_awaits_control(b))
            query(b, lane, LOADING_ENDS);
    }
}

bool bridge_lane_is_loading(const struct bridge *b, int lane, int64_t *at, int64_t *end)
{
    const struct lane_cancels *l = &b->lanes[lane].cancels;
    *at = l->load_next;
    *end = l->load.end;
    return l->loading != LOADING_NONE;
}
