/* SPDX-License-Identifier: Apache-2.0 */
/* The restore of a lane, step by step:

     LOADING_LOG_END   queries the end of the topic of cancels
     LOADING_LOG       reads the topic of cancels up to this end
     LOADING_ENDS      queries the ends of the schedule topic
     LOADING_SAME_LOG  reads the record of the newest witness: is it the same schedule topic?
     LOADING_MOVE      if it was cut: commits the place of the cut, to read on there
     LOADING_CUT       if it was cut or replaced: writes that a new era of it begins
     LOADING_REQUESTS  reads the requests that are not done, up to the last stable offset
     LOADING_CONTROL   waits for the paused and limited targets, and continues with LOADING_ENDS

   Then the lane opens, and the schedule topic is read again from its committed base. The ends of
   the schedule topic are queried after the topic of cancels was read. So the request of each entry
   that was read lies below its end, unless the topic was cut or replaced. They are queried again
   after a wait for the paused targets. So a cancel that was written in this wait is in force before
   the first delivery.

   A log that was cut. Let k be the first offset at which the schedule topic has other records than
   before (same_log.h). If a witness below k was found, all records from k on are new, and done bits
   from k on are of lost records. So the window is cut at k, and this is committed first. A process
   that dies then has left a cut that is found again. Once the record of the cut is stored, new
   requests may be done, so no later owner may cut the window. Requests and cancels from k on are of
   a new era (eras.h). So a cancel whose record was lost still voids the requests of its name that
   were read before, and none that are new. An entry or seal that an earlier owner still writes has
   the number of its era. If nothing proves that the log was cut rather than replaced, the window
   stays.

   A copy of the cluster. The origins of waiting records are offsets of another log. If the group
   has no offset, and records wait, a new era begins at the end of the schedule topic. On the same
   log this has no effect, since it keeps the order of all offsets. */
#include "bridge/core/restore.h"
#include "bridge/core/bridge.h"
#include "bridge/core/bulk.h"
#include "bridge/core/cancel.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/seal.h"
#include "bridge/core/state.h"
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
    if (l->cut_in_doubt) /* the entries before it are in no table any more */
        cancel_table_close(b, lane);
    l->cut_in_doubt = false;
    if (l->id >= 0 && l->complete && start->kept)
        return;
    unmatched_forget(b, lane);
    if (l->id < 0) {
        same_log_init(&l->same_log);
        cancel_table_open(b, lane, start->offset > 0 ? start->offset : 0);
    }
    if (b->config.exactly_once) /* another owner may have read on from the committed base */
        same_log_forget(&l->same_log, true);
    same_log_decode(&l->same_log, start->text, start->witnesses);
    for (int slot = 0; slot < b->queues_per_lane; slot++)
        l->passed[slot] = -1; /* a topic may be another one, with a smaller base */
    l->fresh = start->fresh || start->offset == WINDOW_UNSET;
    l->start_offset = start->offset;
    l->complete = false;
    l->short_since_mono_ms = 0;
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
    l->cut_in_doubt |= l->loading == LOADING_CUT;
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

static void write_cut(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct cancel_cut cut = {.era = eras_next(&l->eras), .at = l->same_log.at};
    uint8_t out[CANCEL_CUT_SIZE];
    size_t size = cancel_cut_encode(&cut, out);
    l->loading = LOADING_CUT;
    l->queried_mono_ms = b->now.mono_ms;
    l->seal_out = cancel_note(b, lane, ENTRY_CUT, bytes_of(out, size)) != NULL;
}

/* Reports of lost records would mark new ones. */
static void move_window(struct bridge *b, int lane, int64_t at)
{
    struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
    struct lane_cancels *l = &b->lanes[lane].cancels;
    window_cut(&q->window, at);
    if (q->read_end > at)
        q->read_end = at;
    queue_forget_log(q);
    if (q->state == QUEUE_BLOCKED) /* its position was beyond the end */
        queue_stand_in_line(b, q);
    queue_changed(q);
    l->moved_at_change = q->changes;
    l->loading = LOADING_MOVE;
}

static bool is_moved(const struct bridge *b, int lane)
{
    const struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
    return !queue_has_progress(q) || q->changes_kept >= b->lanes[lane].cancels.moved_at_change;
}

/* The log is not the one whose cancels were read. */
static void begin_era(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    const struct same_log *same = &l->same_log;
    bridge_notice(b, (struct notice){.kind = same->proved ? NOTICE_LOG_CUT : NOTICE_LOG_REPLACED,
                                     .queue = {-1, lane, SLOT_SCHEDULE},
                                     .offset = same->at,
                                     .count = (int64_t)b->cancels.table.lanes[l->id].n});
    same_log_note_last(&l->same_log, &l->eras);
    if (same->proved)
        move_window(b, lane, same->at);
    else
        write_cut(b, lane);
}

/* A broker that has just become the leader may name an end that is too low. */
static bool is_confirmed(const struct bridge *b, struct lane_cancels *l)
{
    if (l->same_log.differs)
        return true;
    if (l->short_since_mono_ms == 0)
        l->short_since_mono_ms = b->now.mono_ms;
    return b->now.mono_ms - l->short_since_mono_ms >= ENDS_LOST_MS;
}

static void recognize_further(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct load look = {.log = LOAD_REQUESTS, .lane = lane};
    if (same_log_wants(&l->same_log, &look.from, &look.end))
        load(b, LOADING_SAME_LOG, &look);
    else if (l->same_log.verdict == LOG_IS_SAME)
        read_requests(b, lane, l->requests_end);
    else if (is_confirmed(b, l))
        begin_era(b, lane);
    else /* queried again after ENDS_LOST_MS */
        l->loading = LOADING_ENDS;
}

/* Returns whether records wait whose origins are perhaps offsets of another log. This is a copy of
   the cluster, or a group whose offsets have expired. */
static bool has_strange_records(const struct bridge *b, int lane, const struct log_ends *ends,
                                bool whole)
{
    const struct lane_cancels *l = &b->lanes[lane].cancels;
    bool waits = !whole; /* or the end of a level is not known */
    for (int slot = 1; slot < b->queues_per_lane; slot++)
        waits |= ends[slot].start < ends[slot].end;
    return l->fresh && l->same_log.n == 0 && waits;
}

static void recognize_schedule(struct bridge *b, int lane, const struct log_ends *ends, bool whole)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    const struct log_ends *schedule = &ends[SLOT_SCHEDULE];
    l->requests_start = schedule->start;
    l->requests_end = schedule->stable_end;
    same_log_sift(&l->same_log, &l->eras);
    const struct log_witness *newest = same_log_newest(&l->same_log);
    if (newest != NULL) /* all records that name its era may be deleted */
        (void)eras_note(&l->eras, newest->era, newest->offset);
    same_log_begin(&l->same_log, schedule->start, schedule->stable_end, l->start_offset);
    if (has_strange_records(b, lane, ends, whole)) {
        l->same_log.at = schedule->stable_end;
        write_cut(b, lane);
        return;
    }
    recognize_further(b, lane);
}

static void read_log(struct bridge *b, int lane, const struct log_ends *log)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    l->log_start = log->start;
    l->log_end = log->end;
    bool is_recreated = l->log_next > log->end;
    bool lacks_records = l->log_next > 0 && l->log_next < log->start; /* perhaps a cut */
    if (is_recreated || lacks_records) {
        same_log_forget(&l->same_log, false); /* they may be from before the cut */
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
        recognize_schedule(b, lane, ends, whole);
        break;
    case LOADING_NONE:
        if (b->lanes[lane].owned)
            seal_ends(b, lane, ends, whole);
        break;
    case LOADING_LOG: /* a late answer */
    case LOADING_SAME_LOG:
    case LOADING_MOVE:
    case LOADING_CUT:
    case LOADING_REQUESTS:
    case LOADING_CONTROL:
    case LOADING_BLOCKED:
        break;
    }
}

/* A log that is shorter than its end at the query was cut since, so the ends are queried again. */
void bridge_load_ended(struct bridge *b, int lane, int64_t next)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    bool is_short = next < l->load.end;
    if (l->loading == LOADING_LOG) {
        l->log_next = next;
        query(b, lane, is_short ? LOADING_LOG_END : LOADING_ENDS);
    } else if (is_short && (l->loading == LOADING_SAME_LOG || l->loading == LOADING_REQUESTS)) {
        query(b, lane, LOADING_ENDS);
    } else if (l->loading == LOADING_SAME_LOG) {
        same_log_read(&l->same_log);
        recognize_further(b, lane);
    } else if (l->loading == LOADING_REQUESTS) {
        l->requests_next = l->requests_end;
        bulk_watch_load(b, lane);
        requests_read(b, lane);
    }
}

void restore_begin_era(struct bridge *b, int lane, uint8_t era, int64_t at)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (!eras_begin(&l->eras, era, at))
        return;
    same_log_sift(&l->same_log, &l->eras);
    if (l->requests_next > at)
        l->requests_next = at;
}

/* A transaction with the cut may still be aborted. Then the lane is restored again. */
void restore_cut_stored(struct bridge *b, struct parcel *p)
{
    int lane = p->queue->id.lane;
    struct lane_cancels *l = &b->lanes[lane].cancels;
    restore_begin_era(b, lane, eras_next(&l->eras), l->same_log.at);
    l->fresh = false;
    l->log_end++;
    l->seal_out = false;
    l->cut_in_doubt = b->config.exactly_once;
    b->cancels.cuts_in_doubt |= l->cut_in_doubt;
    parcel_forget(b, p);
    read_requests(b, lane, l->requests_end);
}

void restore_committed(struct bridge *b)
{
    if (!b->cancels.cuts_in_doubt)
        return;
    b->cancels.cuts_in_doubt = false;
    for (int lane = 0; lane < b->config.lanes; lane++)
        b->lanes[lane].cancels.cut_in_doubt = false;
}

void restore_forgot_parcels(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (!b->cancels.is_on)
        return;
    note_position(b, lane);
    l->seal_out = false;
    if (l->loading == LOADING_CUT)
        write_cut(b, lane);
}

static bool must_write_cut(const struct bridge *b, int lane, bool late)
{
    const struct lane_cancels *l = &b->lanes[lane].cancels;
    if (l->loading == LOADING_CUT) /* again, after a write that failed */
        return late && !l->seal_out;
    return l->loading == LOADING_MOVE && is_moved(b, lane);
}

void restore_serve(struct bridge *b)
{
    for (int lane = 0; b->cancels.is_on && lane < b->config.lanes; lane++) {
        struct lane_cancels *l = &b->lanes[lane].cancels;
        bool late = b->now.mono_ms - l->queried_mono_ms >= ENDS_LOST_MS;
        if (late && (l->loading == LOADING_LOG_END || l->loading == LOADING_ENDS))
            query(b, lane, l->loading);
        else if (must_write_cut(b, lane, late))
            write_cut(b, lane);
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
