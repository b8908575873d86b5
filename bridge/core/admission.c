/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: takes the records of a queue, and admits them when their time is near. */
#include "bridge/core/admission.h"
#include "bridge/core/bridge.h"
#include "bridge/core/bulk.h"
#include "bridge/core/cancel.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/event.h"
#include "bridge/core/head.h"
#include "bridge/core/hold.h"
#include "bridge/core/notes.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"
#include "bridge/core/restore.h"
#include "bridge/core/state.h"
#include "bridge/core/target.h"
#include "bridge/core/unreadable.h"
#include "levels/murmur2.h"
#include "levels/wire_size.h"

#include <inttypes.h>
#include <stdio.h>

/* Each queue may have one record in work beyond the budget, so that it progresses. A large record
   may exceed the budget only while all other records fit. Requests leave a quarter of the budget to
   records that already wait. */
static bool has_budget(const struct bridge *b, const struct queue *q)
{
    int64_t limit = b->config.memory_bytes;
    if (q->parcels == 0)
        return !bulk_has_large_head(b, q) || b->pools.buffered_bytes <= limit;
    if (queue_is_schedule(q))
        limit -= limit / 4;
    return b->pools.buffered_bytes + record_memory(q->head, q->head_headers_n) <= limit;
}

static bool has_room(struct bridge *b, struct queue *q)
{
    bool room = queue_fits(b, q, q->head->offset) && parcel_available(b) && has_budget(b, q);
    if (!room && !q->waits_for_room)
        counter_add(&b->stats->window_full, 1);
    q->waits_for_room = !room;
    return room;
}

static struct record *take_head(struct bridge *b, struct queue *q)
{
    struct record *record = q->head;
    q->head = NULL;
    counter_add(&b->stats->reread, record->offset < q->read_end);
    window_admit(&q->window, record->offset);
    return record;
}

static bool is_internal(const struct bridge *b, struct bytes target)
{
    return topic_is_internal(b->config.rules.allowlist.schedule, target);
}

/* A request while it is judged. */
struct intake {
    struct stamp stamp;
    struct refusal why;
    struct record *entry; /* to be written first; NULL: it voids nothing */
};

/* Returns the parcel of a request whose entry, if it has one, is written first. */
static struct parcel *request_parcel(struct bridge *b, struct queue *q, struct record *record,
                                     struct record *entry)
{
    struct parcel *p = parcel_new(b, q, record);
    notes_recall(b, p);
    if (entry != NULL) {
        cancel_precede(b, p, entry);
        event_note_cancel(b, p, entry);
    }
    return p;
}

/* Turns the head into a dead letter. Returns false if the head stays: memory is short, or the lane
   has too many dead letters. */
static bool refuse(struct bridge *b, struct queue *q, const struct refusal *why,
                   struct record *entry)
{
    if (!dead_letter_available(b, q)) {
        q->waits_for_room = true;
        return false;
    }
    struct bytes value = q->head->value;
    uint64_t checksum = record_checksum(q->head);
    enum dead_letter_content content = dead_letter_content(b, q->head);
    if (content != DEAD_LETTER_FULL)
        q->head->value = bytes_null(); /* a copy of 100 MB would make all lanes late */
    struct record *kept = b->port.keep(b->port.ctx, q->head);
    if (kept == NULL) {
        q->head->value = value;
        return false;
    }
    q->head = kept;
    q->head_headers_n = (uint32_t)kept->headers_n;
    struct parcel *p = request_parcel(b, q, take_head(b, q), entry);
    p->raw = true;
    p->checksum = checksum;
    dead_letter_mark(b, p, why);
    p->content = (uint8_t)content;
    parcel_ready(b, p);
    return true;
}

/* Returns the code of a well-formed request that expired or is too large. */
static enum code judge_request(const struct bridge *b, const struct queue *q, struct intake *in)
{
    const struct stamp *stamp = &in->stamp;
    struct refusal *why = &in->why;
    if (b->now.wall_ms > stamp->expires_ms) {
        snprintf(why->reason, sizeof why->reason,
                 "dlb-expires-at (%" PRId64 " ms) had passed when the request was read (%" PRId64
                 " ms)",
                 stamp->expires_ms, b->now.wall_ms);
        return why->code = CODE_EXPIRED;
    }
    size_t size = wire_size(q->head);
    if (stamp->op == REQUEST_CANCEL || parcel_fits(b, size, WIRE_ADDED_IN_ITS_LIFE))
        return CODE_OK;
    snprintf(why->reason, sizeof why->reason, PARCEL_TOO_LARGE, size, b->config.record_max_bytes);
    return why->code = CODE_TOO_LARGE;
}

/* The cancel is in force at once, and its entry follows. */
static bool admit_cancel(struct bridge *b, struct queue *q, struct record *entry)
{
    struct record *request = take_head(b, q);
    q->head_headers_n = 0;
    struct parcel *p = parcel_new(b, q, entry);
    p->facts.key_len = (int16_t)cancel_key_len(request->key);
    b->port.release(b->port.ctx, request);
    p->raw = true;
    parcel_has_entry(b, p, ENTRY_CANCEL);
    event_note_cancel(b, p, entry);
    parcel_ready(b, p);
    return true;
}

/* Returns whether the head must go to a level (hold.h). It is the canary's, or its due time counts
   from this reading. Another reading would change it. */
static bool needs_level(const struct bridge *b, const struct queue *q, const struct stamp *stamp)
{
    return stamp->policy != 0 || q->head->timestamp_ms < 0 || is_internal(b, stamp->target);
}

static bool admit_schedule(struct bridge *b, struct queue *q, const struct intake *in)
{
    const struct stamp *stamp = &in->stamp;
    struct record *record =
        b->port.make(b->port.ctx, q->head->key, envelope_enclosed_size(stamp, q->head));
    if (record == NULL)
        return false;
    envelope_enclose(stamp, q->head, (void *)record->value.data);
    record->offset = q->head->offset;
    if (stamp->due_ms - b->now.wall_ms <= b->config.ladder.hold_ms)
        target_expect(b, stamp->target);
    bool to_level = needs_level(b, q, stamp);
    struct record *request = take_head(b, q);
    struct parcel *p = request_parcel(b, q, record, in->entry);
    b->port.release(b->port.ctx, request); /* stamp points into it */
    p->until_wall_ms = stamp->due_ms;
    p->to_level = to_level;
    event_note(b, p, EVENT_ACCEPTED);
    if (stamp->policy != 0)
        event_note(b, p, EVENT_RETRY_ACCEPTED);
    parcel_ready(b, p);
    return true;
}

/* Admits a request that was judged. Returns false if the head stays, because memory is short. */
static bool admit_judged(struct bridge *b, struct queue *q, struct intake *in, enum code code)
{
    if (code == CODE_OK && in->stamp.op == REQUEST_CANCEL)
        return admit_cancel(b, q, in->entry);
    if (code == CODE_OK)
        return admit_schedule(b, q, in);
    bool refused = refuse(b, q, &in->why, in->entry);
    counter_add(&b->stats->refused, refused);
    return refused;
}

/* Counts an admitted request for a retry by its policy and number. */
static void count_retry(struct bridge *b, const struct stamp *stamp)
{
    int index = stamp->policy - 1;
    if (stamp->policy != 0)
        stats_retry(b->stats, index < TARGET_LABELS ? b->config.retry_labels[index] : LABEL_OTHER,
                    stamp->extras.retry.attempt);
}

/* A request of the same key is probably in the lane that murmur2 computes. */
static bool is_misplaced(const struct bridge *b, const struct queue *q)
{
    return murmur2_partition(q->head->key, b->config.lanes) != q->id.lane;
}

/* A replace is refused for its form only, and then voids nothing. One that expired or is denied
   voids older requests, and becomes a dead letter. */
static bool admit_request(struct bridge *b, struct queue *q)
{
    restore_note_witness(b, q);
    struct intake in = {.entry = NULL};
    enum code code = request_parse(&b->config.rules, (uint32_t)q->id.lane, q->head, b->now.wall_ms,
                                   &in.stamp, &in.why);
    in.stamp.origin_era = eras_of(&b->lanes[q->id.lane].cancels.eras, q->head->offset);
    bool voids = request_voids(code, &in.stamp);
    bool misplaced = voids && is_misplaced(b, q);
    if (code == CODE_OK)
        code = judge_request(b, q, &in);
    if (voids && cancel_apply(b, q, &in.stamp, &in.why) != CODE_OK) {
        code = in.why.code;
        voids = false;
    }
    if (voids && (in.entry = cancel_entry(b, q, &in.stamp)) == NULL)
        return false;
    bool admitted = admit_judged(b, q, &in, code);
    counter_add(&b->stats->requests, admitted);
    counter_add(&b->stats->formats[in.stamp.format], admitted);
    counter_add(&b->stats->cancels_misplaced, admitted && misplaced);
    if (admitted && code == CODE_OK)
        count_retry(b, &in.stamp);
    counter_add(&b->stats->cancels_refused, admitted && code == CODE_CANCELS_FULL);
    if (!admitted && in.entry != NULL)
        b->port.release(b->port.ctx, in.entry);
    return admitted;
}

static void watch_order(struct bridge *b, struct queue *q)
{
    const struct ladder *ladder = &b->config.ladder;
    if (q->release_max_wall_ms != INT64_MIN &&
        q->head_release_wall_ms < q->release_max_wall_ms - ladder->slack_ms - ladder->hold_ms)
        counter_add(&b->stats->order_violations, 1);
    if (q->head_release_wall_ms > q->release_max_wall_ms)
        q->release_max_wall_ms = q->head_release_wall_ms;
}

static bool admit_waiting(struct bridge *b, struct queue *q)
{
    if (q->head_fault == ERR_NEWER) {
        queue_block_for(b, q, NOTICE_NEWER_ENVELOPE, q->head->offset);
        return false;
    }
    if (q->head_fault != 0) {
        struct refusal why = {.code = CODE_NOT_OURS};
        strcpy(why.reason, q->head_fault == ERR_DAMAGED
                               ? "an envelope on a level topic that is damaged"
                               : "a record on a level topic that the bridge did not write");
        return refuse(b, q, &why, NULL);
    }
    watch_order(b, q);
    int64_t until_wall_ms = q->head_until_wall_ms, release_wall_ms = q->head_release_wall_ms;
    int64_t overdue_wall_ms = q->head_overdue_wall_ms;
    bool withheld = q->head_withheld;
    bool last_stop = release_wall_ms == until_wall_ms ||
                     until_wall_ms - b->now.wall_ms <= b->config.ladder.hold_ms;
    if (last_stop)
        target_expect(b, q->head_target);
    bool to_level = is_internal(b, q->head_target);
    struct parcel *p = parcel_new(b, q, take_head(b, q));
    notes_recall(b, p);
    p->to_level = to_level;
    p->until_wall_ms = until_wall_ms;
    p->overdue_wall_ms = overdue_wall_ms;
    p->withheld = withheld;
    q->redelivering -= overdue_wall_ms != 0 && q->redelivering > 0;
    q->withheld -= withheld && q->withheld > 0;
    parcel_wait(b, p, release_wall_ms);
    return true;
}

static bool admit(struct bridge *b, struct queue *q)
{
    if (head_adopt_in_flight(b, q, q->head->offset)) {
        queue_drop_head(b, q);
        return true;
    }
    if (!has_room(b, q)) {
        bulk_refused(b, q);
        return false;
    }
    return queue_is_schedule(q) ? admit_request(b, q) : admit_waiting(b, q);
}

/* Pauses a queue whose head leaves much later. This frees the memory of the head, which is read
   again when its time is near. */
static void pause_if_far(struct bridge *b, struct queue *q)
{
    if (q->admit_wall_ms - b->now.wall_ms <= PAUSE_FAR_MS)
        return;
    queue_pause(b, q);
}

static void wake_when_near(struct bridge *b, struct queue *q)
{
    if (b->now.wall_ms < q->admit_wall_ms - RESUME_AHEAD_MS)
        return;
    queue_read_on(b, q);
    q->silences = 0;
    /* If window.next has moved, the head is done. There may be no other record, so silence proves
       nothing. */
    if (q->window.next == q->paused_offset)
        q->silent_since_mono_ms = b->now.mono_ms;
}

static void watch_silence(struct bridge *b, struct queue *q)
{
    int64_t silent_ms = b->now.mono_ms - q->silent_since_mono_ms;
    if (q->silent_since_mono_ms == 0 || silent_ms < SILENCE_MS)
        return;
    if (++q->silences >= SILENCES && head_is_missing(b, q)) {
        queue_replaced(b, q, q->mark.offset, "the log ends before a record that was there");
        return;
    }
    counter_add(&b->stats->stall_recoveries, 1);
    bridge_notice(
        b, (struct notice){.kind = NOTICE_STALL_RECOVERY, .queue = q->id, .span_ms = silent_ms});
    queue_read_on(b, q);
    q->silent_since_mono_ms = b->now.mono_ms;
}

/* Kept records give way to a head that was not admitted, whatever it waits for. Only for memory do
   those of other queues. */
static void make_room(struct bridge *b, struct queue *q)
{
    if (q->head == NULL) /* blocked, or in line */
        return;
    hold_spill_all(b, q);
    if (!parcel_available(b) || !has_budget(b, q))
        hold_give_memory(b);
}

/* A queue without a base cannot be paused, so it is in no line of bulky queues (bulk.h). Its first
   record gives it a base. Its second record waits for the next turn, which puts it in line. */
static void admit_near(struct bridge *b, struct queue *q)
{
    bool first = q->window.base == WINDOW_UNSET;
    for (int quota = first ? 1 : QUEUE_QUOTA; quota > 0; quota--) {
        if (q->head == NULL && !head_find(b, q))
            return;
        if (queue_head_is_done(q)) {
            queue_read_on(b, q);
            return;
        }
        if (b->now.wall_ms < q->admit_wall_ms) {
            pause_if_far(b, q);
            return;
        }
        if (!admit(b, q)) {
            make_room(b, q);
            return;
        }
    }
    b->clock.turn_incomplete = true;
}

void admission_serve(struct bridge *b, struct queue *q)
{
    if (q->state == QUEUE_PAUSED && !q->in_line)
        wake_when_near(b, q);
    if (q->state == QUEUE_BLOCKED)
        unreadable_serve(b, q);
    if (q->state != QUEUE_OPEN)
        return;
    if (queue_is_schedule(q) && outlets_stop_intake(b, q->id.lane))
        return; /* its records would fill the memory of other lanes */
    if (event_stops_lane(b, q->id.lane))
        return;
    watch_silence(b, q);
    if (q->state != QUEUE_OPEN)
        return;
    admit_near(b, q);
    hold_spill_old(b, q);
}

int64_t admission_wait_ms(const struct bridge *b, const struct queue *q)
{
    if (q->state == QUEUE_PAUSED && !q->in_line)
        return q->admit_wall_ms - RESUME_AHEAD_MS - b->now.wall_ms;
    if (event_stops_lane(b, q->id.lane))
        return BRIDGE_WAIT_MAX_MS;
    if (q->state != QUEUE_OPEN || q->head == NULL || q->waits_for_room || queue_is_schedule(q))
        return BRIDGE_WAIT_MAX_MS;
    return q->admit_wall_ms <= b->now.wall_ms ? 0 : q->admit_wall_ms - b->now.wall_ms;
}
