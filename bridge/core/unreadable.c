/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of offsets that the client cannot read. Such a range blocks its queue, which continues
   after the range was skipped. */
#include "bridge/core/unreadable.h"
#include "bridge/core/bridge.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/head.h"
#include "bridge/core/hold.h"
#include "bridge/core/notes.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"
#include "bridge/core/state.h"

#include <inttypes.h>
#include <stdio.h>

static void notice_range(struct bridge *b, const struct queue *q, enum notice_kind kind)
{
    bridge_notice(
        b, (struct notice){
               .kind = kind, .queue = q->id, .offset = q->bad_from, .end_offset = q->bad_end});
}

/* Returns whether enough readings agree. The client may have been short of memory, or its answer
   damaged in the network. */
static bool is_certain(struct queue *q, int64_t from, int64_t end)
{
    bool same = q->bad_from == from && q->bad_end == end;
    q->bad_readings = same ? q->bad_readings + 1 : 1;
    q->bad_from = from;
    q->bad_end = end;
    return q->bad_readings >= BAD_READINGS;
}

void bridge_unreadable(struct bridge *b, struct queue_id id, int64_t from, int64_t end)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (q->state == QUEUE_OFF || q->state == QUEUE_BLOCKED)
        return;
    if (q->window.base == WINDOW_UNSET) {
        window_init(&q->window, from);
        queue_changed(q);
    }
    if (from < q->window.next)
        from = q->window.next;
    if (q->head != NULL || end <= from || !is_certain(q, from, end)) {
        queue_read_on(b, q);
        return;
    }
    queue_block(b, q);
    q->skip_requested = b->config.skip_unreadable;
    notice_range(b, q, NOTICE_UNREADABLE);
}

bool bridge_blocked_range(const struct bridge *b, struct queue_id id, int64_t *from, int64_t *end)
{
    const struct queue *q = bridge_queue(b, id.lane, id.slot);
    *from = q->bad_from;
    *end = q->bad_end;
    return queue_is_blocked_at_range(q);
}

void bridge_skip_range(struct bridge *b, struct queue_id id, int64_t from, int64_t end)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (queue_is_blocked_at_range(q) && q->bad_from == from && q->bad_end == end)
        q->skip_requested = q->range_dead_lettered = true;
}

/* Makes a dead letter that names the range. Returns false if memory is short, or the lane has too
   many dead letters. */
static bool dead_letter_range(struct bridge *b, struct queue *q)
{
    if (head_adopt_in_flight(b, q, q->bad_from))
        return true;
    if (!parcel_available(b) || !dead_letter_available(b, q))
        return false;
    struct record *record = b->port.make(b->port.ctx, bytes_null(), 0);
    if (record == NULL)
        return false;
    record->offset = q->bad_from;
    record->value = bytes_null();
    q->head_headers_n = 0;
    window_admit(&q->window, q->bad_from);
    struct parcel *p = parcel_new(b, q, record);
    notes_recall(b, p);
    p->raw = true;
    p->end = q->bad_end;
    p->content = DEAD_LETTER_REASON_ONLY;
    struct refusal why = {.code = CODE_UNREADABLE};
    snprintf(why.reason, sizeof why.reason,
             "the batch of offsets %" PRId64 " to %" PRId64
             " cannot be read: it is damaged, or its records are too large when they are unpacked",
             q->bad_from, q->bad_end - 1);
    dead_letter_mark(b, p, &why);
    parcel_ready(b, p);
    return true;
}

/* After an aborted transaction, a record before the range is neither done nor in work. It is read
   again. */
static bool is_first(const struct queue *q)
{
    return q->parcels == 0 && q->window.base == q->window.next;
}

/* Skips the range when all records before it are done. Then the window is empty, so a range of any
   length fits. */
void unreadable_serve(struct bridge *b, struct queue *q)
{
    if (!queue_is_blocked_at_range(q) || !q->skip_requested)
        return;
    hold_spill_all(b, q);
    if (!is_first(q))
        return;
    if (q->range_dead_lettered && q->window.next < q->bad_end) {
        queue_start_at(q, q->bad_end);
        queue_changed(q);
    }
    if (q->window.next < q->bad_end) {
        if (q->bad_from < q->window.next)
            q->bad_from = q->window.next;
        (void)dead_letter_range(b, q);
        return;
    }
    notice_range(b, q, NOTICE_RANGE_SKIPPED);
    q->bad_end = q->bad_readings = 0;
    q->skip_requested = q->range_dead_lettered = false;
    queue_read_on(b, q);
}
