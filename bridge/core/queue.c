/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: records of one input partition are screened, looked at, and admitted when their time is
 * near. */
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

#include "levels/wire_size.h"

#include <inttypes.h>
#include <stdio.h>

void queue_changed(struct queue *q)
{
    q->changes++;
}

/* A place in a topic that is gone would be one in the new topic of its name. */
bool queue_has_progress(const struct queue *q)
{
    return q->state != QUEUE_OFF && !q->gone && q->window.base != WINDOW_UNSET;
}

static void set_state(struct bridge *b, struct queue *q, enum queue_state state)
{
    uint64_t paused = counter_read(&b->stats->paused);
    paused -= q->state == QUEUE_PAUSED;
    paused += state == QUEUE_PAUSED;
    counter_set(&b->stats->paused, paused);
    q->state = state;
    b->in_line -= q->in_line;
    q->in_line = false;
}

/* A log that is known to be another one stays held: what is committed is a place in the old one. */
void queue_open(struct bridge *b, struct queue *q)
{
    set_state(b, q, QUEUE_OPEN);
    q->active = true;
    q->sought = false;
    q->gap_at = -1;
    q->silent_since_ms = 0;
    q->release_max_ms = INT64_MIN;
    q->retrying = 0;
    q->bad_end = q->bad_readings = 0;
    q->gives_up = q->letter_written = false;
    q->base_kept = q->base_trimmed = q->window.base;
    q->changes = q->changes_sent = q->changes_kept = 0;
    if (q->gone)
        queue_hold(b, q);
}

void queue_close(struct bridge *b, struct queue *q)
{
    head_drop(b, q);
    set_state(b, q, QUEUE_OFF);
    q->active = false;
}

void queue_estrange(struct queue *q)
{
    for (struct link *l = list_first(&q->orphans); l != NULL; l = list_after(&q->orphans, l))
        list_item(l, struct parcel, link)->orphan = STRANGER;
}

void queue_forget_log(struct queue *q)
{
    q->gone = q->missing;
    q->mark.offset = -1;
    queue_estrange(q);
}

/* Start reading again at the first offset that was not admitted. */
void queue_read_on(struct bridge *b, struct queue *q)
{
    head_drop(b, q);
    set_state(b, q, QUEUE_OPEN);
    q->active = true;
    q->sought = true;
    q->gap_at = -1;
    b->port.seek(b->port.ctx, q->id, q->window.next);
}

void queue_stand_in_line(struct bridge *b, struct queue *q)
{
    head_drop(b, q);
    set_state(b, q, QUEUE_PAUSED);
    q->in_line = true;
    b->in_line++;
    b->port.pause(b->port.ctx, q->id);
}

void queue_reread(struct bridge *b, struct queue *q)
{
    bool held = q->state == QUEUE_HELD && !unreadable_forget(q);
    if (q->state == QUEUE_OFF || held || q->window.base == WINDOW_UNSET)
        return;
    window_rewind(&q->window);
    q->release_max_ms = INT64_MIN;
    queue_read_on(b, q);
}

void queue_hold(struct bridge *b, struct queue *q)
{
    head_drop(b, q);
    set_state(b, q, QUEUE_HELD);
    q->head_release_ms = b->now.wall_ms; /* since then nothing leaves it */
}

static void hold(struct bridge *b, struct queue *q, enum event_kind why, int64_t offset)
{
    queue_hold(b, q);
    bridge_tell(b, (struct event){.kind = why, .queue = q->id, .offset = offset});
}

void queue_replaced(struct bridge *b, struct queue *q, int64_t offset, const char *how)
{
    queue_hold(b, q);
    q->gone = true;
    bridge_tell(
        b, (struct event){.kind = EVENT_REPLACED, .queue = q->id, .offset = offset, .reason = how});
}

/* What was lost is known as far as the log's end was. */
void queue_tell_missing(struct bridge *b, const struct queue *q, const struct window *lost)
{
    int64_t end = b->port.end(b->port.ctx, q->id);
    int64_t waited = end > lost->base ? window_pending(lost, end) : 0;
    bridge_tell(b, (struct event){.kind = EVENT_MISSING, .queue = q->id, .count = waited});
}

void bridge_topic_missing(struct bridge *b, struct queue_id id)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (q->state == QUEUE_OFF || q->missing)
        return;
    queue_hold(b, q);
    q->gone = q->missing = true;
    queue_tell_missing(b, q, &q->window);
}

bool queue_has_large_head(const struct bridge *b, const struct queue *q)
{
    int64_t large = b->config.large_bytes;
    return large != 0 && record_memory(q->head, q->head_headers_n) > large;
}

/* One record for each queue is always allowed, so that each always gets on; of large ones, one of
   all queues. Requests leave a quarter of the budget to what already waits. */
static bool has_budget(const struct bridge *b, const struct queue *q)
{
    int64_t limit = b->config.memory_bytes;
    if (q->parcels == 0)
        return !queue_has_large_head(b, q) || b->held_bytes <= limit;
    if (queue_is_schedule(q))
        limit -= limit / 4;
    return b->held_bytes + record_memory(q->head, q->head_headers_n) <= limit;
}

/* The window holds more than a commit's text may, where brokers take short texts only. */
bool queue_fits(const struct bridge *b, const struct queue *q, int64_t offset)
{
    const struct window *w = &q->window;
    return window_fits(w, offset) && (w->base == w->next || offset - w->base < b->span);
}

static bool has_room(struct bridge *b, struct queue *q)
{
    bool room = queue_fits(b, q, q->head->offset) && parcel_available(b) && has_budget(b, q);
    if (!room && !q->blocked)
        counter_add(&b->stats->window_full, 1);
    q->blocked = !room;
    return room;
}

/* The record is already in flight, sent in an earlier life of this lane: its report decides. */
bool queue_adopt_orphan(struct bridge *b, struct queue *q, int64_t offset)
{
    if (b->config.exactly_once || !queue_fits(b, q, offset))
        return false;
    for (struct link *l = list_first(&q->orphans); l != NULL; l = list_after(&q->orphans, l)) {
        struct parcel *p = list_item(l, struct parcel, link);
        bool same = q->head != NULL ? head_is_of(q, p) : p->orphan != STRANGER;
        if (p->offset != offset || !same)
            continue;
        list_remove(l);
        p->orphan = OWN;
        b->orphans--;
        q->parcels++;
        window_admit(&q->window, p->offset);
        return true;
    }
    return false;
}

static struct record *take_head(struct queue *q)
{
    struct record *record = q->head;
    q->head = NULL;
    window_admit(&q->window, record->offset);
    return record;
}

/* False: too many of the lane are on their way to the dead-letter topic, or no memory now; the head
   stays. */
static bool refuse(struct bridge *b, struct queue *q, const struct refusal *why)
{
    if (!verdict_available(b, q)) {
        q->blocked = true;
        return false;
    }
    struct bytes value = q->head->value;
    uint64_t checksum = record_checksum(q->head);
    enum letter letter = parcel_letter(b, q->head);
    if (letter != LETTER_WHOLE)
        q->head->value = bytes_null(); /* a copy of 100 MB would make all lanes late */
    struct record *kept = b->port.keep(b->port.ctx, q->head);
    if (kept == NULL) {
        q->head->value = value;
        return false;
    }
    q->head = kept;
    q->head_headers_n = (uint32_t)kept->headers_n;
    struct parcel *p = parcel_new(b, q, take_head(q));
    p->raw = true;
    p->checksum = checksum;
    parcel_condemn(b, p, why);
    p->letter = (uint8_t)letter;
    parcel_ready(b, p);
    return true;
}

/* As request_parse says, and what time and size say. */
static enum code judge_request(const struct bridge *b, const struct queue *q, struct stamp *stamp,
                               struct refusal *why)
{
    const struct record *request = q->head;
    enum code code =
        request_parse(&b->config.rules, (uint32_t)q->id.lane, request, b->now.wall_ms, stamp, why);
    if (code != CODE_OK)
        return code;
    if (b->now.wall_ms > stamp->expires_ms) {
        snprintf(why->reason, sizeof why->reason,
                 "dlb-expires-at (%" PRId64 " ms) had passed when the request was read (%" PRId64
                 " ms)",
                 stamp->expires_ms, b->now.wall_ms);
        return why->code = CODE_EXPIRED;
    }
    size_t size = wire_size(request);
    if (parcel_fits(b, size, WIRE_ADDED_IN_ITS_LIFE))
        return CODE_OK;
    snprintf(why->reason, sizeof why->reason, PARCEL_TOO_LARGE, size, b->config.record_max_bytes);
    return why->code = CODE_TOO_LARGE;
}

/* False: no memory now; the head stays. */
static bool admit_request(struct bridge *b, struct queue *q)
{
    struct stamp stamp;
    struct refusal why;
    enum code code = judge_request(b, q, &stamp, &why);
    if (code != CODE_OK) {
        bool refused = refuse(b, q, &why);
        counter_add(&b->stats->requests, refused);
        counter_add(&b->stats->refused, refused);
        return refused;
    }
    struct record *record =
        b->port.make(b->port.ctx, q->head->key, envelope_enclosed_size(&stamp, q->head));
    if (record == NULL)
        return false;
    envelope_enclose(&stamp, q->head, (void *)record->value.data);
    record->offset = q->head->offset;
    if (stamp.due_ms - b->now.wall_ms <= b->config.ladder.hold_ms)
        target_expect(b, stamp.target);
    struct record *request = take_head(q);
    struct parcel *p = parcel_new(b, q, record);
    b->port.release(b->port.ctx, request);
    p->until_ms = stamp.due_ms;
    counter_add(&b->stats->requests, 1);
    parcel_ready(b, p);
    return true;
}

static void watch_order(struct bridge *b, struct queue *q)
{
    const struct ladder *ladder = &b->config.ladder;
    if (q->release_max_ms != INT64_MIN &&
        q->head_release_ms < q->release_max_ms - ladder->slack_ms - ladder->hold_ms)
        counter_add(&b->stats->breaches, 1);
    if (q->head_release_ms > q->release_max_ms)
        q->release_max_ms = q->head_release_ms;
}

static bool admit_waiting(struct bridge *b, struct queue *q)
{
    if (q->head_fault == ERR_NEWER) {
        hold(b, q, EVENT_NEWER_ENVELOPE, q->head->offset);
        return false;
    }
    if (q->head_fault != 0) {
        struct refusal why = {.code = CODE_NOT_OURS};
        strcpy(why.reason, q->head_fault == ERR_DAMAGED
                               ? "an envelope on a level topic that is damaged"
                               : "a record on a level topic that the bridge did not write");
        return refuse(b, q, &why);
    }
    watch_order(b, q);
    int64_t until_ms = q->head_until_ms, release_ms = q->head_release_ms;
    int64_t overdue_ms = q->head_overdue_ms;
    bool last_stop =
        release_ms == until_ms || until_ms - b->now.wall_ms <= b->config.ladder.hold_ms;
    if (last_stop)
        target_expect(b, q->head_target);
    struct parcel *p = parcel_new(b, q, take_head(q));
    p->until_ms = until_ms;
    p->overdue_ms = overdue_ms;
    q->retrying -= overdue_ms != 0 && q->retrying > 0;
    parcel_wait(b, p, release_ms);
    return true;
}

static bool admit(struct bridge *b, struct queue *q)
{
    if (queue_adopt_orphan(b, q, q->head->offset)) {
        head_drop(b, q);
        return true;
    }
    if (!has_room(b, q)) {
        bulk_refused(b, q);
        return false;
    }
    return queue_is_schedule(q) ? admit_request(b, q) : admit_waiting(b, q);
}

/* While the head waited for room, the report of its earlier life may have come. */
static bool head_is_done(const struct queue *q)
{
    return q->head->offset < q->window.next || window_is_done(&q->window, q->head->offset);
}

/* The head's time is not near: a far one is read again when it is, and costs nothing until then. */
static void rest(struct bridge *b, struct queue *q)
{
    if (q->admit_at_ms - b->now.wall_ms <= PAUSE_FAR_MS)
        return;
    head_drop(b, q);
    q->mark.from_offset = q->window.next;
    set_state(b, q, QUEUE_PAUSED);
    q->paused_at = q->window.next;
    b->port.pause(b->port.ctx, q->id);
}

static void wake_when_near(struct bridge *b, struct queue *q)
{
    if (b->now.wall_ms < q->admit_at_ms - RESUME_AHEAD_MS)
        return;
    queue_read_on(b, q);
    q->silences = 0;
    if (q->window.next == q->paused_at) /* else the head turned out to be done: nothing need come */
        q->silent_since_ms = b->now.mono_ms;
}

static void watch_silence(struct bridge *b, struct queue *q)
{
    int64_t silent_ms = b->now.mono_ms - q->silent_since_ms;
    if (q->silent_since_ms == 0 || silent_ms < SILENCE_MS)
        return;
    if (++q->silences >= SILENCES && head_is_missing(b, q)) {
        queue_replaced(b, q, q->mark.offset, "the log ends before a record that was there");
        return;
    }
    counter_add(&b->stats->watchdog, 1);
    bridge_tell(b, (struct event){.kind = EVENT_WATCHDOG, .queue = q->id, .span_ms = silent_ms});
    queue_read_on(b, q);
    q->silent_since_ms = b->now.mono_ms;
}

void queue_serve(struct bridge *b, struct queue *q)
{
    if (q->state == QUEUE_PAUSED && !q->in_line)
        wake_when_near(b, q);
    if (q->state == QUEUE_HELD)
        unreadable_serve(b, q);
    if (q->state != QUEUE_OPEN)
        return;
    if (queue_is_schedule(q) && outlets_stop_intake(b, q->id.lane))
        return; /* what it has would gather in memory, at the cost of other lanes */
    watch_silence(b, q);
    if (q->state != QUEUE_OPEN)
        return;
    for (int quota = QUEUE_QUOTA; quota > 0; quota--) {
        if (q->head == NULL && !head_find(b, q))
            return;
        if (head_is_done(q)) {
            queue_read_on(b, q);
            return;
        }
        if (b->now.wall_ms < q->admit_at_ms) {
            rest(b, q);
            return;
        }
        if (!admit(b, q))
            return;
    }
    b->more = true;
}

int64_t queue_wait_ms(const struct bridge *b, const struct queue *q)
{
    if (q->state == QUEUE_PAUSED && !q->in_line)
        return q->admit_at_ms - RESUME_AHEAD_MS - b->now.wall_ms;
    if (q->state != QUEUE_OPEN || q->head == NULL || q->blocked || queue_is_schedule(q))
        return BRIDGE_WAIT_MAX_MS;
    return q->admit_at_ms <= b->now.wall_ms ? 0 : q->admit_at_ms - b->now.wall_ms;
}

void queue_start_at(struct queue *q, int64_t start)
{
    struct window *w = &q->window;
    if (w->base == WINDOW_UNSET) {
        window_init(w, start);
        return;
    }
    for (int64_t offset = w->base; offset < start && offset < w->next; offset++)
        window_done(w, offset);
    if (w->next < start) {
        window_admit(w, start - 1);
        window_done(w, start - 1);
    }
}

void bridge_out_of_range(struct bridge *b, struct queue_id id, int64_t start, int64_t end)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (q->state == QUEUE_OFF || q->state == QUEUE_HELD)
        return;
    int64_t next = q->window.next;
    if (q->window.base != WINDOW_UNSET && next > end) {
        hold(b, q, EVENT_BEYOND_END, next);
        q->gone = true;
        return;
    }
    if (q->window.base == WINDOW_UNSET || next < start) {
        if (q->window.base != WINDOW_UNSET) { /* else nobody knows of any that was there */
            counter_add(&b->stats->out_of_range, 1);
            bridge_tell(
                b, (struct event){.kind = EVENT_OUT_OF_RANGE, .queue = id, .count = start - next});
        }
        queue_start_at(q, start);
        queue_changed(q);
    }
    queue_read_on(b, q);
    q->silent_since_ms = q->window.next < end ? b->now.mono_ms : 0;
}

/* Where the level's log ends at least, for a hop that starts now. */
int64_t queue_floor(const struct queue *q)
{
    return queue_has_progress(q) ? q->window.next : 0;
}

void bridge_landed(struct bridge *b, const struct parcel *p, struct queue_id level, int64_t offset)
{
    struct queue *q = bridge_queue(b, level.lane, level.slot);
    if (offset < 0 || offset >= p->floor_offset || p->orphan || !queue_has_progress(q))
        return;
    queue_replaced(b, q, offset, "a new record was stored before the read position");
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
    assert(q->head == NULL || q->head->offset >= q->window.next || head_is_done(q));
    assert(q->changes_kept <= q->changes_sent && q->changes_sent <= q->changes);
}
