/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the state of one input partition. It is opened, read, paused, blocked and closed. */
#include "bridge/core/queue.h"
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void queue_changed(struct queue *q)
{
    q->changes++;
}

/* Returns whether the queue has an offset to commit. An offset of a deleted topic must not be
   committed for a new topic of the same name. */
bool queue_has_progress(const struct queue *q)
{
    return q->state != QUEUE_OFF && !q->log_mismatch && q->window.base != WINDOW_UNSET;
}

static void set_state(struct bridge *b, struct queue *q, enum queue_state state)
{
    uint64_t paused = counter_read(&b->stats->paused);
    paused -= q->state == QUEUE_PAUSED;
    paused += state == QUEUE_PAUSED;
    counter_set(&b->stats->paused, paused);
    q->state = state;
    b->bulk.in_line -= q->in_line;
    q->in_line = false;
}

uint64_t record_checksum(const struct record *record)
{
    XXH64_hash_t key = XXH3_64bits(record->key.data, record->key.len);
    return XXH3_64bits_withSeed(record->value.data, record->value.len, key);
}

struct mark queue_mark_of(const struct record *record)
{
    return (struct mark){
        .offset = record->offset,
        .from_offset = record->offset,
        .timestamp_wall_ms = record->timestamp_ms,
        .checksum = record_checksum(record),
    };
}

void queue_drop_head(struct bridge *b, struct queue *q)
{
    if (q->head != NULL && q->head->offset >= q->window.next)
        q->mark = queue_mark_of(q->head);
    if (q->head != NULL)
        b->port.release(b->port.ctx, q->head);
    q->head = NULL;
    q->waits_for_room = false;
}

/* A queue whose topic was recreated stays blocked, because its committed offset belongs to the old
   log. */
void queue_open(struct bridge *b, struct queue *q)
{
    set_state(b, q, QUEUE_OPEN);
    q->active = true;
    q->seek_pending = false;
    q->gap_offset = -1;
    q->silent_since_mono_ms = 0;
    q->release_max_wall_ms = INT64_MIN;
    q->redelivering = q->withheld = 0;
    q->bad_end = q->bad_readings = 0;
    q->skip_requested = q->range_dead_lettered = false;
    q->base_kept = q->base_trimmed = q->window.base;
    q->changes = q->changes_sent = q->changes_kept = 0;
    q->rate_s = 0;
    q->rate_offset = WINDOW_UNSET;
    b->hold.is_stale = true;
    q->read_end = window_read_end(&q->window);
    if (q->log_mismatch)
        queue_block(b, q);
}

void queue_close(struct bridge *b, struct queue *q)
{
    queue_drop_head(b, q);
    set_state(b, q, QUEUE_OFF);
    q->active = false;
}

void queue_disown_in_flight(struct queue *q)
{
    for (struct link *l = list_first(&q->revoked); l != NULL; l = list_after(&q->revoked, l))
        list_item(l, struct parcel, link)->ownership = FOREIGN;
}

void queue_forget_log(struct queue *q)
{
    q->log_mismatch = q->missing;
    q->mark.offset = -1;
    queue_disown_in_flight(q);
}

void queue_read_on(struct bridge *b, struct queue *q)
{
    queue_drop_head(b, q);
    set_state(b, q, QUEUE_OPEN);
    q->active = true;
    q->seek_pending = true;
    q->gap_offset = -1;
    b->port.seek(b->port.ctx, q->id, q->window.next);
}

void queue_stand_in_line(struct bridge *b, struct queue *q)
{
    queue_drop_head(b, q);
    set_state(b, q, QUEUE_PAUSED);
    q->in_line = true;
    b->bulk.in_line++;
    b->port.pause(b->port.ctx, q->id);
}

void queue_pause(struct bridge *b, struct queue *q)
{
    queue_drop_head(b, q);
    q->mark.from_offset = q->window.next;
    set_state(b, q, QUEUE_PAUSED);
    q->paused_offset = q->window.next;
    b->port.pause(b->port.ctx, q->id);
}

bool queue_is_blocked_at_range(const struct queue *q)
{
    return q->state == QUEUE_BLOCKED && q->bad_readings >= BAD_READINGS;
}

/* When all records are read again, records before the range come first, and then the range. */
bool queue_forget_range(struct queue *q)
{
    if (!queue_is_blocked_at_range(q))
        return false;
    q->bad_end = q->bad_readings = 0;
    q->skip_requested = q->range_dead_lettered = false;
    return true;
}

void queue_reread(struct bridge *b, struct queue *q)
{
    bool stays_blocked = q->state == QUEUE_BLOCKED && !queue_forget_range(q);
    if (q->state == QUEUE_OFF || stays_blocked || q->window.base == WINDOW_UNSET)
        return;
    if (q->read_end < q->window.next)
        q->read_end = q->window.next;
    window_rewind(&q->window);
    q->rate_offset = WINDOW_UNSET;
    b->hold.is_stale = true;
    q->release_max_wall_ms = INT64_MIN;
    queue_read_on(b, q);
}

void queue_block(struct bridge *b, struct queue *q)
{
    queue_drop_head(b, q);
    set_state(b, q, QUEUE_BLOCKED);
    q->head_release_wall_ms = b->now.wall_ms; /* time since which no record leaves */
}

void queue_block_for(struct bridge *b, struct queue *q, enum notice_kind why, int64_t offset)
{
    queue_block(b, q);
    bridge_notice(b, (struct notice){.kind = why, .queue = q->id, .offset = offset});
}

void queue_replaced(struct bridge *b, struct queue *q, int64_t offset, const char *how)
{
    queue_block(b, q);
    q->log_mismatch = true;
    bridge_notice(b, (struct notice){
                         .kind = NOTICE_REPLACED, .queue = q->id, .offset = offset, .reason = how});
}

/* Counts the loss up to the last known end of the log. */
void queue_notice_missing(struct bridge *b, const struct queue *q, const struct window *lost)
{
    int64_t end = b->port.end(b->port.ctx, q->id);
    int64_t waited = end > lost->base ? window_pending(lost, end) : 0;
    bridge_notice(b, (struct notice){.kind = NOTICE_MISSING, .queue = q->id, .count = waited});
}

void bridge_topic_missing(struct bridge *b, struct queue_id id)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (q->state == QUEUE_OFF || q->missing)
        return;
    queue_block(b, q);
    q->log_mismatch = q->missing = true;
    queue_notice_missing(b, q, &q->window);
}

/* A window may hold more offsets than the text of a commit, if brokers accept short texts only. */
bool queue_fits(const struct bridge *b, const struct queue *q, int64_t offset)
{
    const struct window *w = &q->window;
    return window_fits(w, offset) && (w->base == w->next || offset - w->base < b->span);
}

void queue_start_at(struct queue *q, int64_t start)
{
    struct window *w = &q->window;
    if (w->base == WINDOW_UNSET) {
        window_init(w, start);
        return;
    }
    q->was_passed |= w->base < start && q->parcels > 0;
    q->rate_offset = WINDOW_UNSET;
    for (int64_t offset = w->base; offset < start && offset < w->next; offset++)
        window_done(w, offset);
    if (w->next < start) {
        window_admit(w, start - 1);
        window_done(w, start - 1);
    }
}

/* A late report of an earlier assignment may not fit the window. Then the range is read again. */
void queue_pass_range(struct queue *q, int64_t end)
{
    const struct window *w = &q->window;
    if (w->base != WINDOW_UNSET && (w->next >= end || window_fits(w, end - 1)))
        queue_start_at(q, end);
}

void bridge_out_of_range(struct bridge *b, struct queue_id id, int64_t start, int64_t end)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    bool restores = queue_is_schedule(q) && b->lanes[id.lane].cancels.loading != LOADING_NONE;
    if (q->state == QUEUE_OFF || q->state == QUEUE_BLOCKED || restores)
        return; /* the seek of a lane that opens finds it again */
    int64_t next = q->window.next;
    if (q->window.base != WINDOW_UNSET && next > end) {
        queue_block_for(b, q, NOTICE_BEYOND_END, next);
        q->log_mismatch = true;
        return;
    }
    if (q->window.base == WINDOW_UNSET || next < start) {
        if (q->window.base != WINDOW_UNSET) { /* otherwise no lost record is known */
            counter_add(&b->stats->lost_positions, 1);
            bridge_notice(b, (struct notice){
                                 .kind = NOTICE_OUT_OF_RANGE, .queue = id, .count = start - next});
        }
        queue_start_at(q, start);
        queue_changed(q);
    }
    queue_read_on(b, q);
    q->silent_since_mono_ms = q->window.next < end ? b->now.mono_ms : 0;
}

int64_t queue_floor(const struct queue *q)
{
    return queue_has_progress(q) ? q->window.next : 0;
}

void bridge_hop_stored(struct bridge *b, const struct parcel *p, struct queue_id level,
                       int64_t offset)
{
    struct queue *q = bridge_queue(b, level.lane, level.slot);
    if (offset < 0 || offset >= p->floor_offset || p->ownership != OWNED || !queue_has_progress(q))
        return;
    queue_replaced(b, q, offset, "a new record was stored before the read position");
}

bool queue_head_is_done(const struct queue *q)
{
    return q->head->offset < q->window.next || window_is_done(&q->window, q->head->offset);
}

void queue_check(const struct bridge *b, const struct queue *q)
{
    (void)b;
    if (q->state == QUEUE_OFF) {
        assert(q->head == NULL && !q->active && q->parcels == 0);
        return;
    }
    window_check(&q->window);
    assert(q->head == NULL || q->state == QUEUE_OPEN);
    assert(!q->in_line || q->state == QUEUE_PAUSED);
    assert(q->head == NULL || q->head->offset >= q->window.next || queue_head_is_done(q));
    assert(q->changes_kept <= q->changes_sent && q->changes_sent <= q->changes);
}
