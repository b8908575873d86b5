/* SPDX-License-Identifier: Apache-2.0 */
/* Forwarding: a ready record goes to a level, to its target, or to the dead-letter topic. */
#include "bridge/core/forward.h"
#include "bridge/core/bridge.h"
#include "bridge/core/cancel.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/event.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"
#include "bridge/core/redelivery.h"
#include "bridge/core/sender.h"
#include "bridge/core/state.h"
#include "bridge/core/target.h"
#include "bridge/core/target_limits.h"
#include "bridge/core/target_table.h"
#include "bridge/core/transaction.h"
#include "bridge/core/withhold.h"
#include "levels/wire_size.h"

#include <inttypes.h>

/* Returns the timestamp of a delivery or a dead letter. It is read now, because a request that was
   written during this turn is younger than the turn. The clock may have stepped back, so the result
   is at least the time of the turn. */
static int64_t moment_wall_ms(const struct bridge *b)
{
    int64_t at_wall_ms = b->port.wall_ms(b->port.ctx);
    return at_wall_ms > b->now.wall_ms ? at_wall_ms : b->now.wall_ms;
}

/* Gives the record to the port. */
static int dispatch(struct bridge *b, struct parcel *p, struct forward *f, bool alone)
{
    f->parcel = p;
    f->from = p->queue->id;
    f->offset = p->offset;
    f->record = p->entry != NULL ? p->entry : p->record;
    int err = sender_enter(b);
    f->client = b->sender.current;
    if (err == 0)
        err = b->port.forward(b->port.ctx, f);
    if (err != 0)
        return err;
    parcel_detach(b, p);
    parcel_leave_outlet(b, p);
    p->state = PARCEL_IN_FLIGHT;
    p->kind = (uint8_t)f->kind;
    p->to_slot = (int16_t)f->slot;
    p->since_mono_ms = b->now.mono_ms;
    if (b->in_flight++ == 0)
        b->cluster.acked_mono_ms = b->now.mono_ms;
    if (f->kind != FORWARD_TARGET)
        outlet_sent(b, p);
    txn_took(b, p, alone);
    return 0;
}

/* Exactly-once: the events of the record are ready before it is sent, so that its transaction
   cannot end without them. */
static int send(struct bridge *b, struct parcel *p, struct forward *f, bool alone)
{
    struct list events;
    if (!txn_takes(b, alone))
        return ERR_FULL;
    unsigned types = b->config.exactly_once ? event_owed_with(b, p, f->kind) : 0;
    if (!event_make(b, p, types, &events))
        return ERR_FULL;
    int err = txn_fits(b, p, &events) ? dispatch(b, p, f, alone) : ERR_FULL;
    if (err == 0)
        event_join(b, &events);
    else
        event_discard(b, &events);
    return err;
}

/* Returns true if the outlet takes no record now. The record then waits, which delays its lane
   only. */
static bool outlet_is_down(struct bridge *b, struct parcel *p, enum forward_kind kind, int slot)
{
    if (outlet_takes(b, p, kind, slot))
        return false;
    bool soon = b->outlets.looking_up != NULL;
    parcel_wait(b, p, b->now.wall_ms + (soon ? OUTLET_WAIT_MS : RESEND_MS));
    return true;
}

static int send_dead(struct bridge *b, struct parcel *p)
{
    if (outlet_is_down(b, p, FORWARD_DEAD, 0))
        return 0;
    struct envelope env;
    int err = p->raw ? 0 : envelope_open(p->record->value, &env);
    assert(err == 0);
    bool alone =
        p->alone || (p->content == DEAD_LETTER_FULL && outlet_is_suspect(b, p, FORWARD_DEAD));
    struct forward f = {.kind = FORWARD_DEAD,
                        .timestamp_wall_ms = moment_wall_ms(b),
                        .env = p->raw ? NULL : &env,
                        .refusal = &p->dead_letter->refusal,
                        .content = (enum dead_letter_content)p->content,
                        .alone = alone};
    return send(b, p, &f, alone);
}

static int send_entry(struct bridge *b, struct parcel *p)
{
    if (outlet_is_down(b, p, FORWARD_CANCEL, SLOT_CANCELS))
        return 0;
    struct forward f = {
        .kind = FORWARD_CANCEL, .timestamp_wall_ms = moment_wall_ms(b), .slot = SLOT_CANCELS};
    return send(b, p, &f, false);
}

static int send_event(struct bridge *b, struct parcel *p)
{
    bool bound = p->entry_kind == ENTRY_EVENT; /* to the record of another parcel */
    enum event_type type = event_is_record(p) ? (enum event_type)p->event : event_next(p);
    if (!event_is_proven(b, p, type)) {
        event_await_proof(b, p);
        return 0;
    }
    if (!bound && outlet_is_down(b, p, FORWARD_EVENT, SLOT_EVENTS))
        return 0;
    if (!event_is_record(p) && !event_load(b, p, type)) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return 0;
    }
    struct forward f = {
        .kind = FORWARD_EVENT, .timestamp_wall_ms = moment_wall_ms(b), .slot = SLOT_EVENTS};
    return bound ? dispatch(b, p, &f, false) : send(b, p, &f, false);
}

static int send_level(struct bridge *b, struct parcel *p, int64_t remaining_ms)
{
    if (p->without_level) {
        dead_letter_too_large_for_level(b, p);
        return 0;
    }
    int level = plan_level(&b->config.ladder, remaining_ms);
    assert(level != PLAN_HOLD);
    const struct queue *to = bridge_queue(b, p->queue->id.lane, 1 + level);
    if (to->missing) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return 0;
    }
    if (outlet_is_down(b, p, FORWARD_LEVEL, 1 + level))
        return 0;
    p->floor_offset = queue_floor(to);
    struct forward f = {
        .kind = FORWARD_LEVEL, .timestamp_wall_ms = b->now.wall_ms, .slot = 1 + level};
    return send(b, p, &f, outlet_is_suspect(b, p, FORWARD_LEVEL));
}

/* Call it after target_sent. The target is to blame for the time until the next try, the bridge for
 * the time since then. */
static void count_lateness(struct bridge *b, struct parcel *p, const struct forward *f)
{
    const struct stamp *stamp = &f->env->stamp;
    int64_t late_from_wall_ms = stamp_late_from_ms(stamp);
    p->delayed_ms =
        stamp->next_try_ms > late_from_wall_ms ? stamp->next_try_ms - late_from_wall_ms : 0;
    int64_t late_ms = f->timestamp_wall_ms - late_from_wall_ms - p->delayed_ms;
    stats_lateness(b->stats, p->queue->id.slot, late_ms);
    spans_add(&target_stats(b, p->target->label)->lateness, late_ms);
}

static int send_target(struct bridge *b, struct parcel *p, struct target *t, struct forward *f)
{
    const struct stamp *stamp = &f->env->stamp;
    assert(b->now.wall_ms >= stamp->due_ms); /* late is allowed, early never */
    bool may_break = target_is_suspect(t, p) || target_may_be_unfit(b, t, p, stamp->attempt);
    f->target = &t->id;
    f->alone = p->alone || (b->config.exactly_once && may_break);
    int err = send(b, p, f, f->alone);
    if (err != 0)
        return err;
    target_sent(b, t, p);
    withhold_sent(b, t);
    count_lateness(b, p, f);
    return 0;
}

static int deliver(struct bridge *b, struct parcel *p)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    struct forward f = {
        .kind = FORWARD_TARGET, .timestamp_wall_ms = moment_wall_ms(b), .env = &env};
    if (f.timestamp_wall_ms > env.stamp.expires_ms) {
        dead_letter_record(b, p, CODE_EXPIRED,
                           "dlb-expires-at (%" PRId64
                           " ms) had passed when it could be delivered to %.*s (%" PRId64 " ms)",
                           env.stamp.expires_ms, SHOWN(env.stamp.target), f.timestamp_wall_ms);
        return 0;
    }
    if (!allowlist_allows(&b->config.rules.allowlist, env.stamp.target)) {
        dead_letter_record(b, p, CODE_TARGET_DENIED,
                           "target %.*s is not allowed by targets any more",
                           SHOWN(env.stamp.target));
        return 0;
    }
    if (p->too_large) {
        dead_letter_too_large(b, p);
        return 0;
    }
    struct target *t = target_get(b, env.stamp.target);
    if (t == NULL) { /* all others are in use */
        parcel_wait(b, p, b->now.wall_ms + BRIDGE_WAIT_MAX_MS);
        return 0;
    }
    enum deferral why;
    int64_t until_ms = withhold_until_ms(b, t, &env.stamp, &why);
    if (until_ms != 0) {
        if (redelivery_withhold(b, p, until_ms, why))
            withhold_put_back(b, t, &env.stamp);
        return 0;
    }
    if (target_is_too_small(b, t, p)) {
        dead_letter_too_large(b, p);
        return 0;
    }
    p->keyless = bytes_is_null(env.stamp.key_overridden ? env.stamp.key : p->record->key);
    if (p->keyless && target_refuses_keyless(b, t)) {
        redelivery_attempt_failed(
            b, p, (struct failure){DELIVERY_UNFIT, "the topic refuses records without a key"});
        return 0;
    }
    switch (target_gate(b, t)) {
    case GATE_OPEN:
        return send_target(b, p, t, &f);
    case GATE_PARK:
        target_park(b, t, p);
        return 0;
    case GATE_DEFER:
        redelivery_defer(b, p, t);
        return 0;
    case GATE_FAIL:
        redelivery_attempt_failed(b, p, (struct failure){t->error, t->why});
        return 0;
    case GATE_WAIT:
        break;
    }
    parcel_wait(b, p, b->now.wall_ms + BRIDGE_WAIT_MAX_MS);
    return 0;
}

/* While a record waited, a hop may have become a delivery or the reverse. It then joins the others
   of its kind. */
static int forward(struct bridge *b, struct parcel *p, enum ready kind)
{
    if (p->settled || p->tells_first || p->entry_kind == ENTRY_UNMATCHED)
        return send_event(b, p);
    if (b->config.exactly_once && event_owed(b, p) != 0 &&
        outlet_is_down(b, p, FORWARD_EVENT, SLOT_EVENTS))
        return 0;
    if (p->entry_kind != ENTRY_NONE)
        return send_entry(b, p);
    if (cancel_table_is_used(b, p) && cancel_table_voids(b, p)) {
        withhold_cancelled(b, p);
        cancel_drop(b, p);
        return 0;
    }
    if (p->dead_letter != NULL)
        return send_dead(b, p);
    /* The limit may have been lowered while the record waited. */
    if (!parcel_fits(b, wire_size(p->record), WIRE_ADDED_LATER)) {
        dead_letter_record(b, p, CODE_TOO_LARGE, PARCEL_TOO_LARGE, wire_size(p->record),
                           b->config.record_max_bytes);
        return 0;
    }
    if (kind == READY_HOPS && p->withheld && withhold_is_over(b, p)) {
        redelivery_release(b, p);
        b->clock.turn_incomplete = true;
        return 0;
    }
    int64_t remaining_ms = p->until_wall_ms - b->now.wall_ms;
    bool hop = remaining_ms > b->config.ladder.hold_ms;
    if (hop != (kind == READY_HOPS) || (!hop && remaining_ms > 0)) {
        parcel_ready(b, p);
        b->clock.turn_incomplete = true;
        return 0;
    }
    return hop ? send_level(b, p, remaining_ms) : deliver(b, p);
}

static void send_ready(struct bridge *b, enum ready kind)
{
    for (struct link *l; (l = list_first(&b->ready[kind])) != NULL && txn_is_for(b, kind);) {
        if (forward(b, list_item(l, struct parcel, link), kind) != 0)
            break;
    }
}

/* Sends events that have separate parcels. With exactly-once, they follow a record of the open
   transaction, even one that is to be alone. */
static void send_events(struct bridge *b)
{
    for (struct link *l; (l = list_first(&b->events.ready)) != NULL;) {
        if (b->config.exactly_once && b->txn.state != TXN_OPEN)
            return;
        if (send_event(b, list_item(l, struct parcel, link)) != 0)
            return;
    }
}

/* A record that is sent here may turn out to wait for a proof, too. With exactly-once, the
   transaction cannot be committed without its events. */
bool forward_settle(struct bridge *b)
{
    event_serve_proofs(b);
    send_events(b);
    if (b->config.exactly_once)
        return !list_is_empty(&b->events.ready);
    if (b->events.owing == 0)
        return event_awaits_proof(b);
    for (struct link *l = list_first(&b->ready[READY_DELIVERIES]), *next; l != NULL; l = next) {
        next = list_after(&b->ready[READY_DELIVERIES], l);
        struct parcel *p = list_item(l, struct parcel, link);
        if (p->settled && send_event(b, p) != 0)
            return true;
    }
    return event_awaits_proof(b);
}

/* Deliveries come before hops. After a record failed alone, hops come first, so that its outcome is
   committed. Otherwise the next failure would void this outcome, and both would be repeated
   indefinitely. */
void forward_serve(struct bridge *b)
{
    if (b->txn.failed_parcel != NULL) /* it is ready too, but its outcome is not decided yet */
        return;
    event_serve_proofs(b);
    send_events(b);
    send_ready(b, b->txn.single_failed ? READY_HOPS : READY_DELIVERIES);
    send_ready(b, b->txn.single_failed ? READY_DELIVERIES : READY_HOPS);
    send_events(b);
}
