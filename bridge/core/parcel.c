/* SPDX-License-Identifier: Apache-2.0 */
/* Parcels: records in work from a fixed pool, with a budget of bytes. */
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/state.h"

bool parcel_available(const struct bridge *b)
{
    return !list_is_empty(&b->pools.parcels_free) || b->pools.parcels_high < b->pools.parcels_n;
}

/* Reuses the parcel that was freed last, so that parcels_high stays near the number in use. Loops
   over the parcels end at parcels_high. */
static struct parcel *pool_take(struct bridge *b)
{
    struct link *link = list_first(&b->pools.parcels_free);
    if (link == NULL)
        return &b->pools.parcels[b->pools.parcels_high++];
    list_remove(link);
    return list_item(link, struct parcel, link);
}

int64_t record_memory(const struct record *record, uint32_t headers_n)
{
    return (int64_t)(record->cost_bytes + record->overhead_bytes) + PARCEL_OVERHEAD +
           (int64_t)headers_n * HEADER_OVERHEAD;
}

int64_t parcel_memory(const struct parcel *p)
{
    return record_memory(p->record, p->headers_n);
}

struct parcel *parcel_new(struct bridge *b, struct queue *q, struct record *record)
{
    assert(parcel_available(b));
    struct parcel *p = pool_take(b);
    *p = (struct parcel){
        .queue = q, .record = record, .offset = record->offset, .headers_n = q->head_headers_n};
    q->parcels++;
    b->pools.buffered_bytes += parcel_memory(p);
    counter_add(&b->stats->buffered_records, 1);
    return p;
}

static void count_kept(struct bridge *b, const struct parcel *p, int n)
{
    b->hold.bytes += n * parcel_memory(p);
    counter_set(&b->stats->kept_records, counter_read(&b->stats->kept_records) + (uint64_t)n);
}

void parcel_keep(struct bridge *b, struct parcel *p)
{
    assert(p->state == PARCEL_WAITING && !p->kept);
    p->kept = true;
    list_append(&p->queue->kept, &p->link);
    count_kept(b, p, 1);
}

void parcel_unkeep(struct bridge *b, struct parcel *p)
{
    if (!p->kept)
        return;
    p->kept = false;
    list_remove(&p->link);
    count_kept(b, p, -1);
}

void parcel_detach(struct bridge *b, struct parcel *p)
{
    switch ((enum parcel_state)p->state) {
    case PARCEL_WAITING:
        parcel_unkeep(b, p);
        wheel_remove(&b->wheel, &p->node);
        break;
    case PARCEL_PARKED:
        b->targets.parked--;
        p->target = NULL;
        list_remove(&p->link);
        break;
    case PARCEL_READY:
        if (b->front_end == &p->link)
            b->front_end = list_before(&b->ready[READY_HOPS], &p->link);
        list_remove(&p->link);
        break;
    case PARCEL_FREE: /* in no list: new, or reported */
    case PARCEL_IN_FLIGHT:
        break;
    }
}

void parcel_replace(struct bridge *b, struct parcel *p, struct record *record)
{
    b->pools.buffered_bytes -= parcel_memory(p);
    b->port.release(b->port.ctx, p->record);
    p->record = record;
    b->pools.buffered_bytes += parcel_memory(p);
}

bool parcel_own(struct bridge *b, struct parcel *p)
{
    int64_t cost = parcel_memory(p);
    struct record *kept = b->port.keep(b->port.ctx, p->record);
    if (kept == NULL)
        return false;
    p->record = kept;
    b->pools.buffered_bytes += parcel_memory(p) - cost;
    return true;
}

void parcel_has_entry(struct bridge *b, struct parcel *p, enum entry_kind kind)
{
    p->entry_kind = (uint8_t)kind;
    b->lanes[p->queue->id.lane].cancels.entries_out++;
}

void parcel_leave_outlet(const struct bridge *b, struct parcel *p)
{
    if (p->unacked_bytes == 0)
        return;
    struct outlet *o = bridge_outlet(b, p->queue->id.lane, (enum forward_kind)p->kind, p->to_slot);
    assert(o->unacked_bytes >= p->unacked_bytes);
    o->unacked_bytes -= p->unacked_bytes;
    p->unacked_bytes = 0;
}

void parcel_drop_entry(struct bridge *b, struct parcel *p)
{
    if (p->entry_kind == ENTRY_CANCEL || p->entry_kind == ENTRY_REPLACE)
        b->lanes[p->queue->id.lane].cancels.entries_out--;
    p->entry_kind = ENTRY_NONE;
    if (p->entry == NULL)
        return;
    b->pools.buffered_bytes -= record_memory(p->entry, 0);
    b->port.release(b->port.ctx, p->entry);
    p->entry = NULL;
}

static void parcel_free(struct bridge *b, struct parcel *p)
{
    parcel_leave_outlet(b, p);
    parcel_drop_entry(b, p);
    b->pools.buffered_bytes -= parcel_memory(p);
    counter_set(&b->stats->buffered_records, counter_read(&b->stats->buffered_records) - 1);
    if (p->dead_letter != NULL) {
        list_append(&b->pools.dead_letters_free, &p->dead_letter->link);
        b->lanes[p->queue->id.lane].dead_letters--;
        b->lanes[p->queue->id.lane].dead_letter_bytes -= parcel_memory(p);
    }
    b->port.release(b->port.ctx, p->record);
    b->events.owing -= p->settled;
    p->settled = false;
    p->record = NULL;
    p->dead_letter = NULL;
    if (p->ownership != OWNED) {
        list_remove(&p->link);
        b->revoked--;
    } else {
        p->queue->parcels--;
    }
    p->state = PARCEL_FREE;
    p->link.prev = &b->pools.parcels_free.head; /* last in, first out */
    p->link.next = b->pools.parcels_free.head.next;
    p->link.next->prev = &p->link;
    b->pools.parcels_free.head.next = &p->link;
}

void parcel_forget(struct bridge *b, struct parcel *p)
{
    parcel_detach(b, p);
    parcel_free(b, p);
}

static void mark_done(struct parcel *p)
{
    window_done(&p->queue->window, p->offset);
    if (p->end > 0)
        queue_pass_range(p->queue, p->end);
}

/* Marks the record in its window even if its lane was lost: the lane may come back. */
void parcel_done(struct bridge *b, struct parcel *p)
{
    mark_done(p);
    if (b->txn.offsets == OFFSETS_NONE) /* otherwise it was marked early, and counted then */
        queue_changed(p->queue);
    parcel_free(b, p);
}

/* Progress that was announced does not have it, so the next one must. */
void parcel_void(struct bridge *b, struct parcel *p)
{
    parcel_detach(b, p);
    mark_done(p);
    queue_changed(p->queue);
    parcel_free(b, p);
}

void parcel_foresee(struct parcel *p)
{
    mark_done(p);
    queue_changed(p->queue);
}

void parcel_wait(struct bridge *b, struct parcel *p, int64_t at_wall_ms)
{
    parcel_detach(b, p);
    p->state = PARCEL_WAITING;
    wheel_add(&b->wheel, &p->node, at_wall_ms);
}

size_t lanes_owned(const struct bridge *b)
{
    size_t owned = counter_read(&b->stats->lanes);
    return owned > 0 ? owned : 1;
}

int64_t lane_share_bytes(const struct bridge *b)
{
    return b->config.memory_bytes / 4 / (int64_t)lanes_owned(b);
}

struct notice parcel_notice(const struct bridge *b, const struct parcel *p, enum notice_kind kind)
{
    struct notice notice = {
        .kind = kind, .queue = p->queue->id, .offset = p->offset, .key = p->record->key};
    struct envelope env;
    if (p->raw && queue_is_schedule(p->queue)) {
        notice.target = request_target(&b->config.rules, p->record);
    } else if (!p->raw) {
        int err = envelope_open(p->record->value, &env);
        assert(err == 0);
        notice.target = env.stamp.target;
        notice.queue = (struct queue_id){-1, (int)env.stamp.origin_lane, SLOT_SCHEDULE};
        notice.offset = env.stamp.origin_offset;
    }
    return notice;
}

bool parcel_fits(const struct bridge *b, size_t wire_size, size_t added)
{
    return b->config.record_max_bytes == 0 || wire_size + added <= b->config.record_max_bytes;
}
