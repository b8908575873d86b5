/* SPDX-License-Identifier: Apache-2.0 */
/* Events: the facts of a parcel, and the parcels that carry their records. */
#include "bridge/core/event.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/event_record.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/progress.h"
#include "bridge/core/ready.h"
#include "bridge/core/transaction.h"
#include "bridge/core/unmatched.h"

enum { CERTAIN_MS = 1000 }; /* clocks of the processes differ by less */

int event_init(struct bridge *b)
{
    list_init(&b->events.ready);
    list_init(&b->events.unproven);
    b->events.wanted = b->config.events;
    for (int lane = 0; lane < b->config.lanes; lane++)
        force_marks_forget(&b->lanes[lane].force);
    return recent_init(&b->events.recent);
}

void event_deinit(struct bridge *b)
{
    recent_deinit(&b->events.recent);
}

/* Returns whether each event has a separate parcel. */
static bool are_apart(const struct bridge *b)
{
    return b->config.exactly_once || b->config.events_lossy;
}

void event_note(const struct bridge *b, struct parcel *p, enum event_type type)
{
    p->facts.types |= (uint16_t)(b->events.wanted & EVENT_BIT(type));
}

void event_note_cancel(struct bridge *b, struct parcel *p, const struct record *entry)
{
    struct cancel_decoded decoded;
    int err = cancel_record_decode(entry->value, &decoded);
    assert(err == 0 && decoded.type == CANCEL_RECORD_ENTRY);
    const struct cancel_entry *cancel = &decoded.is.entry;
    int lane = p->queue->id.lane;
    const struct eras *eras = &b->lanes[lane].cancels.eras;
    int64_t place = eras_place(eras, cancel->era, cancel->offset);
    force_marks_note(&b->lanes[lane].force, place, cancel->in_force_ms);
    unmatched_note(b, lane, cancel, entry->key);
    if (b->events.wanted == 0)
        return;
    event_note(b, p, cancel->op == CANCEL_OP_REPLACE ? EVENT_REPLACED : EVENT_CANCEL_ACCEPTED);
    p->facts.in_force_wall_ms = cancel->in_force_ms;
    p->facts.proof_seq = b->commit.seq;
    if (!event_is_wanted(b, EVENT_TOO_LATE))
        return;
    struct cancel_print print = cancels_print(&b->cancels.table, cancel->kind, entry->key);
    int64_t late = recent_find(&b->events.recent, lane, print, place, b->now.mono_ms);
    p->facts.late_offset = late < 0 ? late : eras_offset(eras, late);
    if (late >= 0)
        event_note(b, p, EVENT_TOO_LATE);
}

void event_note_retried(const struct bridge *b, struct parcel *p)
{
    if (!event_is_wanted(b, EVENT_DELIVERY_RETRIED))
        return;
    event_note(b, p, EVENT_DELIVERY_RETRIED);
    if (p->facts.retried < EVENT_RETRIES_MAX)
        p->facts.retried++;
    p->tells_first = !are_apart(b);
}

/* Returns whether each owner computes the same due time. The wait of a retry counts from its
   reading, so an earlier owner may have delivered it at an earlier time. Exactly once, only one
   reading counts. */
static bool due_is_fixed(const struct bridge *b, const struct stamp *stamp)
{
    return b->config.exactly_once || !stamp->extras.is_retry;
}

/* A delivery that timed out may have been stored. One that was due before the cancel was in force
   may have been delivered by an earlier owner that did not commit it. */
void event_note_voided(struct bridge *b, struct parcel *p)
{
    if (!event_is_wanted(b, EVENT_CANCELLED))
        return;
    const struct lane *lane = &b->lanes[p->queue->id.lane];
    struct envelope env;
    bool matched;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    event_note(b, p, EVENT_CANCELLED);
    int64_t by = cancels_find(&b->cancels.table, lane->cancels.id, p->print, &matched);
    int64_t in_force_ms = force_marks_bound(&lane->force, by);
    p->facts.by_offset = eras_offset(&lane->cancels.eras, by);
    p->facts.certain = env.stamp.attempt == 0 && due_is_fixed(b, &env.stamp) &&
                       env.stamp.due_ms - CERTAIN_MS > in_force_ms;
}

void event_note_delivered(struct bridge *b, struct parcel *p)
{
    bool aborted = b->txn.state == TXN_BROKEN; /* it happened in no transaction that counts */
    if (!event_is_wanted(b, EVENT_TOO_LATE) || !b->cancels.is_on || aborted)
        return;
    if (!p->hashed)
        cancel_table_hash(b, p);
    if (!p->nameless)
        recent_put(&b->events.recent, p->queue->id.lane, p->print, p->origin_place, b->now.mono_ms);
}

static unsigned owed_with(const struct bridge *b, const struct parcel *p, enum forward_kind kind)
{
    unsigned types = p->facts.types;
    if (kind == FORWARD_TARGET)
        types |= b->events.wanted & EVENT_BIT(EVENT_DELIVERED);
    if (kind == FORWARD_DEAD)
        types |= b->events.wanted &
                 EVENT_BIT(p->dead_letter->refusal.code == CODE_EXPIRED ? EVENT_EXPIRED
                                                                        : EVENT_DEAD_LETTERED);
    return types;
}

unsigned event_owed(const struct bridge *b, const struct parcel *p)
{
    switch ((enum entry_kind)p->entry_kind) {
    case ENTRY_NONE:
        break;
    case ENTRY_CANCEL:
        return p->facts.types;
    case ENTRY_REPLACE: /* its request follows */
    case ENTRY_SEAL:
    case ENTRY_CUT:
    case ENTRY_EVENT:
    case ENTRY_UNMATCHED:
        return 0;
    }
    if (p->settled)
        return p->facts.types;
    if (p->dead_letter != NULL)
        return owed_with(b, p, FORWARD_DEAD);
    bool delivery = p->until_wall_ms - b->now.wall_ms <= b->config.ladder.hold_ms;
    return owed_with(b, p, delivery ? FORWARD_TARGET : FORWARD_LEVEL);
}

unsigned event_owed_with(const struct bridge *b, const struct parcel *p, enum forward_kind kind)
{
    return p->entry_kind > ENTRY_CANCEL ? 0 : owed_with(b, p, kind);
}

/* Returns a parcel that sends one event and marks no offset. Its record is not read again. */
static struct parcel *carrier(struct bridge *b, const struct parcel *p, enum event_type type,
                              int attempt)
{
    if (!parcel_available(b))
        return NULL;
    struct record *record = event_record(b, p, type, attempt);
    if (record == NULL)
        return NULL;
    struct parcel *e = parcel_new(b, p->queue, record);
    b->pools.buffered_bytes -= parcel_memory(e);
    e->headers_n = 0;
    b->pools.buffered_bytes += parcel_memory(e);
    e->offset = -1;
    e->raw = true;
    e->entry_kind = ENTRY_EVENT;
    e->event = (uint8_t)type;
    e->facts.proof_seq = p->facts.proof_seq;
    return e;
}

/* An event for each try that failed. The last try is that of the envelope. */
static bool make_retried(struct bridge *b, const struct parcel *p, bool but_first,
                         struct list *list)
{
    int attempts = event_attempts(p);
    for (int n = p->facts.retried - 1 - but_first; n >= 0; n--) {
        struct parcel *e = carrier(b, p, EVENT_DELIVERY_RETRIED, attempts - n);
        if (e == NULL)
            return false;
        list_append(list, &e->link);
    }
    return true;
}

static bool make_all(struct bridge *b, const struct parcel *p, unsigned types, int own,
                     struct list *list)
{
    for (int type = 0; type < EVENT_TYPES; type++) {
        if (type == EVENT_DELIVERY_RETRIED && (types & EVENT_BIT(type)) != 0 &&
            !make_retried(b, p, type == own, list))
            return false;
        if (type == EVENT_DELIVERY_RETRIED || type == own || (types & EVENT_BIT(type)) == 0)
            continue;
        struct parcel *e = carrier(b, p, (enum event_type)type, -1);
        if (e == NULL)
            return false;
        list_append(list, &e->link);
    }
    return true;
}

bool event_make(struct bridge *b, const struct parcel *p, unsigned types, struct list *list)
{
    list_init(list);
    if (types == 0 || make_all(b, p, types, p->settled ? (int)event_next(p) : -1, list))
        return true;
    event_discard(b, list);
    return false;
}

void event_discard(struct bridge *b, struct list *list)
{
    for (struct link *l; (l = list_first(list)) != NULL;) {
        list_remove(l);
        parcel_forget(b, list_item(l, struct parcel, link));
    }
}

void event_join(struct bridge *b, struct list *list)
{
    for (struct link *l; (l = list_first(list)) != NULL;) {
        struct parcel *e = list_item(l, struct parcel, link);
        list_remove(l);
        txn_owes(b, e);
        parcel_ready(b, e);
    }
}

enum event_type event_next(const struct parcel *p)
{
    assert(p->facts.types != 0);
    if (!p->settled)
        return EVENT_DELIVERY_RETRIED;
    int type = 0;
    while ((p->facts.types & EVENT_BIT(type)) == 0)
        type++;
    return (enum event_type)type;
}

bool event_load(struct bridge *b, struct parcel *p, enum event_type type)
{
    int attempt = type == EVENT_DELIVERY_RETRIED ? event_attempts(p) - p->facts.retried + 1 : -1;
    if (p->entry == NULL) {
        p->entry = event_record(b, p, type, attempt);
        if (p->entry == NULL)
            return false;
        b->pools.buffered_bytes += record_memory(p->entry, 0);
    }
    p->event = (uint8_t)type;
    return true;
}

bool event_is_proven(const struct bridge *b, const struct parcel *p, enum event_type type)
{
    bool in_force = type == EVENT_CANCEL_ACCEPTED || type == EVENT_REPLACED;
    if (!in_force || b->config.exactly_once || b->commit.answered_seq > p->facts.proof_seq)
        return true;
    return false;
}

void event_await_proof(struct bridge *b, struct parcel *p)
{
    parcel_detach(b, p);
    p->state = PARCEL_READY;
    list_append(&b->events.unproven, &p->link);
}

void event_serve_proofs(struct bridge *b)
{
    for (struct link *l = list_first(&b->events.unproven), *next; l != NULL; l = next) {
        next = list_after(&b->events.unproven, l);
        struct parcel *p = list_item(l, struct parcel, link);
        if (b->commit.answered_seq > p->facts.proof_seq)
            parcel_ready(b, p);
    }
    if (event_awaits_proof(b) && !b->commit.is_out)
        progress_touch(b, false);
}

/* The record does not wait for events that may be lost. So they are dropped while their partition
   is unavailable, and for a lane that was lost. */
static void send_apart(struct bridge *b, struct parcel *p)
{
    struct list list;
    unsigned types = p->facts.types;
    bool down = p->ownership != OWNED || outlet_is_silent(b, p->queue->id.lane, FORWARD_EVENT);
    if (!down && event_make(b, p, types, &list)) {
        event_join(b, &list);
        return;
    }
    for (; types != 0; types &= types - 1)
        counter_add(&b->stats->events_lost, 1);
}

static void settle(struct bridge *b, struct parcel *p)
{
    p->settled = true;
    assert(p->entry_kind == ENTRY_NONE || p->entry_kind == ENTRY_CANCEL);
    b->events.owing++;
    p->state = PARCEL_FREE; /* in no list */
    parcel_ready(b, p);
}

bool event_follow(struct bridge *b, struct parcel *p)
{
    if (!b->config.exactly_once)
        p->facts.types = (uint16_t)owed_with(b, p, (enum forward_kind)p->kind);
    if (p->facts.types == 0 || b->config.exactly_once)
        return false;
    if (are_apart(b)) {
        send_apart(b, p);
        return false;
    }
    if (p->ownership != OWNED) { /* its lane was lost, so the record and its events come again */
        parcel_forget(b, p);
        return true;
    }
    settle(b, p);
    return true;
}

bool event_void(struct bridge *b, struct parcel *p)
{
    if (p->facts.types == 0)
        return false;
    if (!b->config.exactly_once && are_apart(b)) {
        send_apart(b, p);
        return false;
    }
    parcel_detach(b, p);
    settle(b, p);
    return true;
}

bool event_stored(struct bridge *b, struct parcel *p)
{
    counter_add(&b->stats->events[p->event], 1);
    if (event_is_record(p)) {
        parcel_forget(b, p);
        return false;
    }
    bool again = p->event == EVENT_DELIVERY_RETRIED && --p->facts.retried > 0;
    p->facts.types &= (uint16_t) ~(again ? 0 : EVENT_BIT(p->event));
    p->tells_first &= again;
    bool last =
        p->facts.types == 0 || b->config.exactly_once; /* the others have separate parcels */
    if (p->settled && last)
        return true;
    if (p->ownership != OWNED) {
        parcel_forget(b, p);
        return false;
    }
    struct record *sent = p->entry;
    b->pools.buffered_bytes -= record_memory(sent, 0);
    p->entry = NULL;
    b->port.release(b->port.ctx, sent);
    p->state = PARCEL_FREE; /* in no list */
    parcel_ready(b, p);
    return false;
}

bool event_is_lost(struct bridge *b, struct parcel *p)
{
    if (!b->config.events_lossy || !event_is_record(p))
        return false;
    counter_add(&b->stats->events_lost, 1);
    parcel_forget(b, p);
    return true;
}

void event_forget_transaction(struct bridge *b)
{
    if (event_is_wanted(b, EVENT_TOO_LATE))
        recent_forget(&b->events.recent);
    for (struct link *l; (l = list_first(&b->events.ready)) != NULL;)
        parcel_forget(b, list_item(l, struct parcel, link));
}

bool event_stops_lane(const struct bridge *b, int lane)
{
    return b->events.wanted != 0 && outlet_is_flooded(b, lane, FORWARD_EVENT);
}
