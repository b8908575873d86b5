/* SPDX-License-Identifier: Apache-2.0 */
/* Seals: the query, the record, and the death of cancels. */
#include "bridge/core/seal.h"
#include "bridge/core/cancel.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/state.h"
#include "bridge/core/unmatched.h"

enum { THINNED_MAX = 6 };

void seal_restart(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    l->queried = l->seal_out = false;
    l->queried_mono_ms = b->now.mono_ms;
    l->sealed_next = 0;
}

/* Each time that seals had no room, half of them were dropped, and the rest must last for twice as
   long. */
static int64_t period_ms(const struct bridge *b, const struct lane_cancels *l)
{
    unsigned thinned = l->seals.thinned < THINNED_MAX ? l->seals.thinned : THINNED_MAX;
    return b->config.seal_ms << thinned;
}

static void trim(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    l->trimmed_mono_ms = b->now.mono_ms;
    if (l->trim_below > l->log_start)
        b->port.trim_cancels(b->port.ctx, lane, l->trim_below);
}

void bridge_cancels_trimmed(struct bridge *b, int lane, int64_t below)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (below > l->log_start)
        l->log_start = below;
}

static void serve_lane(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    const struct window *w = &bridge_queue(b, lane, SLOT_SCHEDULE)->window;
    if (!b->lanes[lane].owned || l->loading != LOADING_NONE)
        return;
    if (b->now.mono_ms - l->trimmed_mono_ms >= period_ms(b, l))
        trim(b, lane);
    if (!l->is_any || l->seal_out || w->base == WINDOW_UNSET ||
        b->now.mono_ms - l->queried_mono_ms < period_ms(b, l))
        return;
    l->queried = true;
    l->queried_mono_ms = b->now.mono_ms;
    /* A lane that is read again may have read less than before. The entry of a cancel that is done
       must not die before the requests that stand before it. */
    l->covered_offset = l->requests_next > w->next ? l->requests_next : w->next;
    b->port.query_ends(b->port.ctx, lane);
}

void seal_serve(struct bridge *b)
{
    for (int lane = 0; b->cancels.is_on && lane < b->config.lanes; lane++)
        serve_lane(b, lane);
}

/* Returns whether every record up to the end of the log was read and is done. A head that waits, in
   memory or in a paused queue, was read and is not. */
static bool is_drained(const struct queue *q, int64_t committed)
{
    return q->state == QUEUE_OPEN && q->head == NULL && q->window.base == q->window.next &&
           q->window.base == committed;
}

/* Returns whether every record of the queue below the start of its log is gone. A record that was
   read before it was deleted is still in memory, or about to be read again. */
static bool is_gone_below(const struct queue *q, int64_t start)
{
    return !queue_is_schedule(q) && (q->window.base == WINDOW_UNSET || q->window.base >= start);
}

/* Returns whether a record in work is below the base, because the start of its log passed it. */
static bool holds_passed(const struct bridge *b, struct queue *q)
{
    bool holds = false;
    for (size_t i = 0; q->was_passed && i < b->pools.parcels_high; i++) {
        const struct parcel *p = &b->pools.parcels[i];
        holds |= p->state != PARCEL_FREE && p->queue == q && p->offset >= 0 &&
                 p->offset < q->window.base;
    }
    q->was_passed &= holds;
    return holds;
}

/* Returns the offset below which all records of a queue are finished, and the group has committed
   that. A level whose log was deleted up to its end has passed. So has a queue that was read to its
   end, since ends of transactions behind its last record are never committed. If the log was cut
   below the committed offset, or is another one, no offset has passed (-1): new records are stored
   below it. */
static int64_t passed_of(const struct bridge *b, struct queue *q, int64_t committed,
                         const struct log_ends *ends)
{
    if (q->log_mismatch || committed > ends->end || holds_passed(b, q))
        return -1;
    int64_t start = ends->start;
    int64_t passed = start > committed && is_gone_below(q, start) ? start : committed;
    int64_t end = is_drained(q, committed) ? b->port.drained(b->port.ctx, q->id) : -1;
    return end > passed ? end : passed;
}

/* Judges by the bases that were committed at the last query. Then cancels die a period later
   than they could, and no late answer matters. */
static void judge(struct bridge *b, int lane, const struct log_ends *ends)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    int64_t passed[SLOTS_MAX] = {0}, dead_below, trim_below;
    for (int slot = 0; slot < b->queues_per_lane; slot++)
        passed[slot] = passed_of(b, bridge_queue(b, lane, slot), l->passed[slot], &ends[slot]);
    int64_t *schedule = &passed[SLOT_SCHEDULE];
    if (*schedule >= 0)
        *schedule = eras_place(&l->eras, eras_of(&l->eras, *schedule), *schedule);
    if (!seals_judge(&l->seals, passed, &dead_below, &trim_below))
        return;
    unmatched_kill(b, lane, dead_below);
    if (trim_below > l->trim_below)
        l->trim_below = trim_below;
    trim(b, lane);
    seals_prune(&l->seals, passed);
}

static void note_committed(struct bridge *b, int lane)
{
    for (int slot = 0; slot < b->queues_per_lane; slot++) {
        const struct queue *q = bridge_queue(b, lane, slot);
        if (queue_has_progress(q))
            b->lanes[lane].cancels.passed[slot] = q->base_kept;
    }
}

static void write_seal(struct bridge *b, int lane, const struct log_ends *ends)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct cancel_seal *seal = &l->seal;
    uint8_t out[CANCEL_SEAL_MAX];
    int64_t next = seals_next(&l->seals), end = ends[SLOT_SCHEDULE].end;
    /* A log that was cut ends below the position. Cancels that are not read yet take the offsets in
       between. */
    int64_t covered = l->covered_offset < end ? l->covered_offset : end;
    *seal = (struct cancel_seal){.number = l->number > next ? l->number : next,
                                 .timestamp_ms = b->now.wall_ms,
                                 .era = eras_of(&l->eras, covered)};
    seal->ends[seal->n++] = (struct seal_end){SEAL_SCHEDULE, covered};
    for (int slot = 1; slot < b->queues_per_lane; slot++)
        seal->ends[seal->n++] = (struct seal_end){b->cancels.parts_ms[slot], ends[slot].end};
    seal->ends[seal->n++] = (struct seal_end){SEAL_CANCELS, ends[b->queues_per_lane].end};
    size_t size = cancel_seal_encode(seal, out);
    l->seal_out = cancel_note(b, lane, ENTRY_SEAL, bytes_of(out, size)) != NULL;
    l->number = seal->number + l->seal_out;
}

void seal_ends(struct bridge *b, int lane, const struct log_ends *ends, bool whole)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (!l->queried)
        return;
    l->queried = false;
    l->log_start = ends[b->queues_per_lane].start;
    l->log_end = ends[b->queues_per_lane].end;
    judge(b, lane, ends);
    note_committed(b, lane);
    if (whole)
        write_seal(b, lane, ends);
}

/* Seals compare places of the schedule topic. */
void seal_add(struct bridge *b, int lane, const struct cancel_seal *seal)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct cancel_seal placed = *seal;
    for (size_t i = 0; i < placed.n; i++) {
        struct seal_end *end = &placed.ends[i];
        if (end->level_ms == SEAL_SCHEDULE)
            end->end = eras_note(&l->eras, seal->era, end->end);
    }
    seals_add(&l->seals, &placed);
}

void seal_stored(struct bridge *b, struct parcel *p)
{
    struct lane_cancels *l = &b->lanes[p->queue->id.lane].cancels;
    int64_t log_end = l->seal.ends[l->seal.n - 1].end;
    seal_add(b, p->queue->id.lane, &l->seal);
    l->log_end++;
    l->seal_out = false;
    l->sealed_next = log_end;
    l->sealed_mono_ms = b->now.mono_ms;
    parcel_forget(b, p);
}

/* The owner of a lane has read or written all records of its topic of cancels. */
void seal_proved(struct bridge *b, int64_t proof_mono_ms)
{
    for (int lane = 0; b->cancels.is_on && lane < b->config.lanes; lane++) {
        struct lane_cancels *l = &b->lanes[lane].cancels;
        if (l->sealed_next > l->log_next && l->sealed_mono_ms < proof_mono_ms)
            l->log_next = l->sealed_next;
    }
}

/* Its ends would be old when it arrives at last. The next query brings new ones. */
void seal_failed(struct bridge *b, struct parcel *p)
{
    b->lanes[p->queue->id.lane].cancels.seal_out = false;
    parcel_forget(b, p);
}
