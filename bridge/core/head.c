/* SPDX-License-Identifier: Apache-2.0 */
/* Heads: finds the next record of a queue, checks it, and reads gaps before it again. */
#include "bridge/core/head.h"
#include "bridge/core/queue.h"
#include "bridge/core/state.h"

enum { GAP_READINGS = 3 }; /* two equal readings may be wrong next to a real gap */

/* Returns true if the gap before a record may be wrong, and reads it again. The client may have
   lost records, for example in a pause that crossed a fetch. A gap is real when GAP_READINGS
   readings in a row end at the same record. The first record after a seek may be from before it, so
   its gap does not count as a reading. Ends of transactions are usual gaps: those of producers on
   the schedule topic, and ours on levels. */
static bool is_doubtful_gap(struct bridge *b, struct queue *q, const struct record *record)
{
    int64_t next = q->window.next;
    bool usual = !q->seek_pending && (queue_is_schedule(q) || b->config.exactly_once);
    if (q->gap_offset == next && q->gap_end_offset == record->offset)
        q->gap_readings++;
    else
        q->gap_readings = q->seek_pending ? 0 : 1;
    if (record->offset == next || usual || q->gap_readings == GAP_READINGS) {
        q->gap_offset = -1;
        q->seek_pending = false;
        return false;
    }
    q->gap_offset = next;
    q->gap_end_offset = record->offset;
    q->seek_pending = true;
    b->port.seek(b->port.ctx, q->id, next);
    return true;
}

/* Returns whether the record of the mark was not read again yet. */
static bool is_marked(const struct queue *q)
{
    const struct window *w = &q->window;
    int64_t offset = q->mark.offset;
    return offset >= 0 && w->base != WINDOW_UNSET && offset >= w->next &&
           !(window_fits(w, offset) && window_is_done(w, offset));
}

/* Returns the contradiction between a record and the mark, or NULL. A log never reuses an offset,
   and never loses a record from its middle. So a contradiction proves that it is another log. */
static const char *contradiction(const struct queue *q, const struct record *record)
{
    if (!is_marked(q) || record->offset < q->mark.from_offset)
        return NULL;
    if (record->offset < q->mark.offset)
        return "a record is where none was";
    if (record->offset > q->mark.offset)
        return "a record that was there is missing";
    struct mark again = queue_mark_of(record);
    bool same =
        again.timestamp_wall_ms == q->mark.timestamp_wall_ms && again.checksum == q->mark.checksum;
    return same ? NULL : "another record is at the offset of one that was read";
}

bool head_is_missing(const struct bridge *b, const struct queue *q)
{
    int64_t end = b->port.drained(b->port.ctx, q->id);
    return is_marked(q) && end >= 0 && end <= q->mark.offset;
}

/* Makes a record the head, and finds out when it is to be admitted. */
static void screen(struct bridge *b, struct queue *q, struct record *record)
{
    q->head = record;
    q->head_fault = 0;
    q->head_headers_n = (uint32_t)record->headers_n;
    q->admit_wall_ms = INT64_MIN;
    if (queue_is_schedule(q))
        return;
    struct envelope env;
    q->head_fault = envelope_open(record->value, &env);
    if (q->head_fault != 0)
        return;
    int64_t until_wall_ms = stamp_until_ms(&env.stamp);
    q->head_until_wall_ms = until_wall_ms;
    q->head_headers_n = env.headers_n;
    q->head_overdue_wall_ms = stamp_overdue_ms(&env.stamp);
    q->head_withheld = stamp_is_withheld(&env.stamp);
    q->head_target = env.stamp.target;
    q->head_release_wall_ms =
        plan_release_ms(&b->config.ladder, q->level_ms, record->timestamp_ms, until_wall_ms);
    q->admit_wall_ms = q->head_release_wall_ms - plan_lookahead_ms(&b->config.ladder);
}

/* Takes records until one is neither done nor behind a doubtful gap. */
bool head_find(struct bridge *b, struct queue *q)
{
    while (q->active) {
        struct record *record = b->port.take(b->port.ctx, q->id);
        if (record == NULL) {
            q->active = false;
            return false;
        }
        q->silent_since_mono_ms = 0;
        q->silences = 0;
        struct window *w = &q->window;
        if (w->base == WINDOW_UNSET) {
            window_init(w, record->offset);
            queue_changed(q); /* commits this base, for a later assignment of the lane */
        }
        if (record->offset < w->next || is_doubtful_gap(b, q, record)) {
            b->port.release(b->port.ctx, record);
            continue;
        }
        const char *how = contradiction(q, record);
        if (how != NULL) {
            b->port.release(b->port.ctx, record);
            queue_replaced(b, q, q->mark.offset, how);
            return false;
        }
        if (record->offset > w->next && window_fits(w, record->offset)) {
            counter_add(&b->stats->missing_offsets, (uint64_t)(record->offset - w->next));
            if (!queue_is_schedule(q) && !b->config.exactly_once)
                bridge_notice(b, (struct notice){.kind = NOTICE_GAP,
                                                 .queue = q->id,
                                                 .count = record->offset - w->next});
        }
        if (window_fits(w, record->offset) && window_is_done(w, record->offset)) {
            counter_add(&b->stats->already_done, 1);
            window_admit(w, record->offset);
            queue_changed(q);
            b->port.release(b->port.ctx, record);
            continue;
        }
        screen(b, q, record);
        return true;
    }
    return false;
}

/* Returns whether the head is the record of a parcel. The offset proves nothing, because the topic
   may be another one of the same name. A request became an envelope. The envelope of a waiting
   record may have been written again for another try. A refused record may have lost its value, but
   its checksum remains. */
static bool head_is_of(const struct queue *q, const struct parcel *p)
{
    const struct record *head = q->head, *sent = p->record;
    struct envelope of_head, of_sent;
    if (!bytes_equal(head->key, sent->key))
        return false;
    if (p->raw)
        return head->timestamp_ms == sent->timestamp_ms && record_checksum(head) == p->checksum;
    int err = envelope_open(sent->value, &of_sent);
    assert(err == 0); /* the bridge wrote it */
    const struct stamp *stamp = &of_sent.stamp;
    if (queue_is_schedule(q))
        return (head->timestamp_ms < 0 || head->timestamp_ms == stamp->timestamp_ms) &&
               bytes_equal(head->value, of_sent.value);
    return envelope_open(head->value, &of_head) == 0 &&
           of_head.stamp.origin_lane == stamp->origin_lane &&
           of_head.stamp.origin_offset == stamp->origin_offset &&
           of_head.stamp.timestamp_ms == stamp->timestamp_ms &&
           bytes_equal(of_head.value, of_sent.value);
}

/* Looks for the record among those in flight since an earlier assignment. Its report then decides.
 */
bool head_adopt_in_flight(struct bridge *b, struct queue *q, int64_t offset)
{
    if (b->config.exactly_once || !queue_fits(b, q, offset))
        return false;
    for (struct link *l = list_first(&q->revoked); l != NULL; l = list_after(&q->revoked, l)) {
        struct parcel *p = list_item(l, struct parcel, link);
        if (p->kind == FORWARD_CANCEL) /* its cancel is read again, and writes another entry */
            continue;
        bool same = q->head != NULL ? head_is_of(q, p) : p->ownership != FOREIGN;
        if (p->offset != offset || !same)
            continue;
        list_remove(l);
        p->ownership = OWNED;
        p->hashed = false; /* its place was that of an earlier table */
        b->revoked--;
        q->parcels++;
        window_admit(&q->window, p->offset);
        return true;
    }
    return false;
}
