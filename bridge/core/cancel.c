/* SPDX-License-Identifier: Apache-2.0 */
/* Cancels: their entries, and the records that they void. */
#include "bridge/core/cancel.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/event.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"
#include "bridge/core/state.h"

#include <stdio.h>

static enum code refuse_cancel(const struct bridge *b, enum cancel_room room, struct refusal *why)
{
    switch (room) {
    case CANCEL_LOG_IS_FULL:
        snprintf(why->reason, sizeof why->reason,
                 "the topic of cancels has too many records in this partition: allow Delete on it, "
                 "and continue the levels that are blocked");
        break;
    case CANCEL_OUT_OF_REACH:
        snprintf(why->reason, sizeof why->reason,
                 "too many requests stand between this cancel and the oldest one in force of its "
                 "partition: send it again when that has ended");
        break;
    case CANCEL_SHARE_IS_FULL:
    case CANCEL_ROOM:
        snprintf(why->reason, sizeof why->reason,
                 "no room for one more cancel in this partition, which may have %zu in force: "
                 "raise cancel_memory",
                 b->cancels.share);
    }
    return why->code = CODE_CANCELS_FULL;
}

enum code cancel_apply(struct bridge *b, struct queue *q, const struct stamp *stamp,
                       struct refusal *why)
{
    enum cancel_kind kind;
    struct bytes name = cancel_name(q->head->key, stamp->id, &kind);
    struct cancel_print print = cancels_print(&b->cancels.table, kind, name);
    struct lane_cancels *l = &b->lanes[q->id.lane].cancels;
    int64_t place = eras_note(&l->eras, stamp->origin_era, q->head->offset);
    enum cancel_room room = cancel_table_put(b, q->id.lane, print, place);
    return room == CANCEL_ROOM ? CODE_OK : refuse_cancel(b, room, why);
}

struct record *cancel_entry(struct bridge *b, const struct queue *q, const struct stamp *stamp)
{
    struct cancel_entry entry = {.op = stamp->op == REQUEST_REPLACE ? CANCEL_OP_REPLACE
                                                                    : CANCEL_OP_CANCEL,
                                 .era = stamp->origin_era,
                                 .offset = q->head->offset,
                                 .timestamp_ms = stamp->timestamp_ms,
                                 .in_force_ms = b->now.wall_ms};
    struct bytes name = cancel_name(q->head->key, stamp->id, &entry.kind);
    int len = cancel_key_len(q->head->key);
    size_t key_n = len < 0 ? 0 : (size_t)len;
    struct record *record = b->port.make(b->port.ctx, name, CANCEL_ENTRY_SIZE + key_n);
    if (record == NULL)
        return NULL;
    uint8_t *value = (uint8_t *)record->value.data;
    cancel_entry_encode(&entry, value);
    memcpy(value + CANCEL_ENTRY_SIZE, q->head->key.data, key_n);
    record->value.len = CANCEL_ENTRY_SIZE;
    record->offset = q->head->offset;
    return record;
}

int cancel_key_len(struct bytes key)
{
    return key.len > EVENT_TEXT_MAX ? -1 : (int)key.len;
}

void cancel_precede(struct bridge *b, struct parcel *p, struct record *entry)
{
    parcel_has_entry(b, p, ENTRY_REPLACE);
    p->entry = entry;
    b->pools.buffered_bytes += record_memory(entry, 0);
}

struct parcel *cancel_note(struct bridge *b, int lane, enum entry_kind kind, struct bytes value)
{
    struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
    struct record *record =
        parcel_available(b) ? b->port.make(b->port.ctx, bytes_text("seal"), value.len) : NULL;
    if (record == NULL)
        return NULL;
    memcpy((void *)record->value.data, value.data, value.len);
    record->offset = -1;
    struct parcel *p = parcel_new(b, q, record);
    b->pools.buffered_bytes -= parcel_memory(p);
    p->headers_n = 0;
    b->pools.buffered_bytes += parcel_memory(p);
    p->raw = true;
    p->entry_kind = (uint8_t)kind;
    parcel_ready(b, p);
    return p;
}

bool cancel_completes(const struct parcel *p)
{
    return p->entry_kind == ENTRY_NONE || p->entry_kind == ENTRY_CANCEL;
}

void cancel_stored(struct bridge *b, struct parcel *p)
{
    b->lanes[p->queue->id.lane].cancels.log_end++;
    if (p->entry_kind == ENTRY_CANCEL) {
        counter_add(&b->stats->cancels, 1);
        if (!event_follow(b, p))
            parcel_done(b, p);
        return;
    }
    counter_add(&b->stats->replaces, 1);
    parcel_drop_entry(b, p);
    p->state = PARCEL_FREE; /* in no list */
    parcel_ready(b, p);
}

/* No report follows that would begin another turn, and a queue may wait for the room. */
void cancel_drop(struct bridge *b, struct parcel *p)
{
    b->clock.turn_incomplete = true;
    bridge_notice(b, parcel_notice(b, p, NOTICE_CANCELLED));
    counter_add(&b->stats->cancelled, 1);
    counter_add(&b->stats->slots[p->queue->id.slot].cancelled, 1);
    event_note_voided(b, p);
    if (!event_void(b, p))
        parcel_void(b, p);
}
