/* SPDX-License-Identifier: Apache-2.0 */
/* Delivery: what is ready is forwarded (to a level, a target or the dead-letter topic), and reports
   decide what becomes of it: done, sent again, back to a level for another try, or condemned. */
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"
#include "levels/counted.h"

#include "levels/wire_size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const int64_t retry_after_ms[] = {5000,   10000,  30000,  60000,
                                         120000, 300000, 600000, 1800000};
/* A target's name for %.*s, as much as a reason has room for. */
#define SHOWN(target) (target).len > 120 ? 120 : (int)(target).len, (const char *)(target).data
enum { RETRIES = sizeof retry_after_ms / sizeof retry_after_ms[0] };

/* A delivery that a target did not take. */
struct failure {
    enum delivery_error error;
    const char *why;
};

/* Returns the time of a delivery or a dead letter. A request that was written during this turn is
   younger than the turn's clock. The clock may have stepped back since the turn began. */
static int64_t moment_ms(const struct bridge *b)
{
    int64_t wall_ms = b->port.wall_ms(b->port.ctx);
    return wall_ms > b->now.wall_ms ? wall_ms : b->now.wall_ms;
}

static int send(struct bridge *b, struct parcel *p, struct forward *f, bool alone)
{
    if (!txn_takes(b, alone))
        return ERR_FULL;
    f->parcel = p;
    f->from = p->queue->id;
    f->offset = p->offset;
    f->record = p->record;
    int err = b->port.forward(b->port.ctx, f);
    if (err != 0)
        return err;
    parcel_detach(b, p);
    p->state = PARCEL_FLYING;
    p->kind = (uint8_t)f->kind;
    p->to_slot = (uint8_t)f->slot;
    p->since_ms = b->now.mono_ms;
    if (b->flying++ == 0)
        b->acked_ms = b->now.mono_ms;
    if (f->kind != FORWARD_TARGET)
        outlet_sent(b, p);
    txn_took(b, p, alone);
    return 0;
}

/* Exactly once: one that may break its transaction has one of its own. */
static bool may_be_too_large(const struct bridge *b, const struct parcel *p, enum forward_kind kind)
{
    return b->large_bytes[kind] > 0 && p->record->cost_bytes >= b->large_bytes[kind];
}

/* One that fits after all says that the topics were mended. */
static void learn_size(struct bridge *b, const struct parcel *p, enum report report)
{
    if (p->letter != LETTER_WHOLE)
        return;
    size_t *large_bytes = &b->large_bytes[p->kind];
    bool larger = may_be_too_large(b, p, (enum forward_kind)p->kind);
    if (report == REPORT_TOO_LARGE && !larger)
        *large_bytes = p->record->cost_bytes;
    else if (report == REPORT_OK && larger)
        *large_bytes = 0;
}

/* Its lane waits, and no other. */
static bool outlet_is_shut(struct bridge *b, struct parcel *p, enum forward_kind kind, int slot)
{
    if (outlet_takes(b, p, kind, slot))
        return false;
    bool soon = b->asking_outlet != NULL;
    parcel_wait(b, p, b->now.wall_ms + (soon ? OUTLET_WAIT_MS : RESEND_MS));
    return true;
}

static int send_dead(struct bridge *b, struct parcel *p)
{
    if (outlet_is_shut(b, p, FORWARD_DEAD, 0))
        return 0;
    struct envelope env;
    bool opened = !p->raw && envelope_open(p->record->value, &env) == 0;
    assert(opened || p->raw);
    bool alone = p->alone || (p->letter == LETTER_WHOLE && may_be_too_large(b, p, FORWARD_DEAD));
    struct forward f = {.kind = FORWARD_DEAD,
                        .timestamp_ms = moment_ms(b),
                        .env = opened ? &env : NULL,
                        .refusal = &p->verdict->refusal,
                        .letter = (enum letter)p->letter,
                        .alone = alone};
    return send(b, p, &f, alone);
}

static void condemn(struct bridge *b, struct parcel *p, enum code code, const char *reason)
{
    if (!verdict_available(b, p->queue) || !parcel_keep(b, p)) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return;
    }
    struct refusal why = {.code = code};
    snprintf(why.reason, sizeof why.reason, "%s", reason);
    parcel_condemn(b, p, &why);
    parcel_ready(b, p);
}

__attribute__((format(printf, 4, 5))) static void
condemn_text(struct bridge *b, struct parcel *p, enum code code, const char *format, ...)
{
    char reason[REASON_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    condemn(b, p, code, reason);
}

static void condemn_too_large(struct bridge *b, struct parcel *p)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    condemn_text(b, p, CODE_TOO_LARGE,
                 "its %zu bytes of key, value and headers do not fit the max.message.bytes of %.*s",
                 p->record->cost_bytes, SHOWN(env.stamp.target));
}

/* Only check knows whether the topic lags behind what apply sets, or the record is beyond it. */
static void condemn_too_large_for_level(struct bridge *b, struct parcel *p)
{
    condemn_text(b, p, CODE_TOO_LARGE,
                 "its %zu bytes, envelope included, do not fit the max.message.bytes of its level "
                 "topic: 'delaybridge check' says whether 'topics apply' can raise it",
                 p->record->key.len + p->record->value.len);
}

static int send_level(struct bridge *b, struct parcel *p, int64_t remaining_ms)
{
    if (p->without_level) {
        condemn_too_large_for_level(b, p);
        return 0;
    }
    int level = plan_level(&b->config.ladder, remaining_ms);
    assert(level != PLAN_HOLD);
    const struct queue *to = bridge_queue(b, p->queue->id.lane, 1 + level);
    if (to->missing) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return 0;
    }
    if (outlet_is_shut(b, p, FORWARD_LEVEL, 1 + level))
        return 0;
    p->floor_offset = queue_floor(to);
    struct forward f = {.kind = FORWARD_LEVEL, .timestamp_ms = b->now.wall_ms, .slot = 1 + level};
    return send(b, p, &f, may_be_too_large(b, p, FORWARD_LEVEL));
}

/* The target answers for the time until the next try, and the bridge for the time since then. */
static void count_lateness(struct bridge *b, struct parcel *p, const struct forward *f)
{
    const struct stamp *stamp = &f->env->stamp;
    int64_t from_ms = stamp->due_ms > stamp->timestamp_ms ? stamp->due_ms : stamp->timestamp_ms;
    p->delayed_ms = stamp->next_try_ms > from_ms ? stamp->next_try_ms - from_ms : 0;
    stats_lateness(b->stats, p->queue->id.slot, f->timestamp_ms - from_ms - p->delayed_ms);
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
    count_lateness(b, p, f);
    return 0;
}

/* Write the envelope again with its next try and the reason for it: it waits in a level. */
static void put_back(struct bridge *b, struct parcel *p, struct envelope *env)
{
    struct record *record = b->port.make(b->port.ctx, p->record->key, envelope_size(env));
    if (record == NULL) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return;
    }
    envelope_encode(env, (void *)record->value.data);
    p->until_ms =
        env->stamp.due_ms > env->stamp.next_try_ms ? env->stamp.due_ms : env->stamp.next_try_ms;
    p->overdue_ms = stamp_overdue_ms(&env->stamp);
    parcel_replace(b, p, record);
    parcel_ready(b, p);
}

/* Keep the error in the envelope, for people. Its phrase must outlive the encoding. */
static void note_error(struct envelope *env, struct failure failure, enum deferral deferral)
{
    env->stamp.extras.error_code = (uint16_t)failure.error;
    env->stamp.extras.error = bytes_text(failure.why);
    env->stamp.extras.deferral = (uint8_t)deferral;
}

static void tell_failed(struct bridge *b, const struct parcel *p, const struct failure *failure,
                        const struct stamp *stamp)
{
    struct event event = parcel_event(b, p, EVENT_DELIVERY_FAILED);
    event.error = failure->error;
    event.reason = failure->why;
    event.attempt = stamp->attempt;
    event.next_try_ms = stamp->next_try_ms;
    bridge_tell(b, event);
}

static void attempt_failed(struct bridge *b, struct parcel *p, struct failure failure)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    int attempts = ++env.stamp.attempt;
    note_error(&env, failure, DEFERRAL_NONE);
    struct target_stats *stats = target_stats(b, target_label(b, env.stamp.target));
    counter_add(&stats->failures[failure.error], 1);
    if (attempts < b->config.max_attempts) {
        counter_add(&b->stats->retries, 1);
        env.stamp.next_try_ms =
            b->now.wall_ms + retry_after_ms[attempts <= RETRIES ? attempts - 1 : RETRIES - 1];
        tell_failed(b, p, &failure, &env.stamp);
        put_back(b, p, &env);
        return;
    }
    char tries[COUNTED_MAX];
    condemn_text(b, p, CODE_TARGET_FAILED, "%.*s took nothing in %s: %.85s",
                 SHOWN(env.stamp.target), counted(attempts, "attempt", tries), failure.why);
}

static int deliver(struct bridge *b, struct parcel *p)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    struct forward f = {.kind = FORWARD_TARGET, .timestamp_ms = moment_ms(b), .env = &env};
    if (f.timestamp_ms > env.stamp.expires_ms) {
        condemn_text(b, p, CODE_EXPIRED,
                     "dlb-expires-at (%" PRId64
                     " ms) had passed when it could be delivered to %.*s (%" PRId64 " ms)",
                     env.stamp.expires_ms, SHOWN(env.stamp.target), f.timestamp_ms);
        return 0;
    }
    if (!targets_allow(&b->config.rules.targets, env.stamp.target)) {
        condemn_text(b, p, CODE_TARGET_DENIED, "target %.*s is not allowed by targets any more",
                     SHOWN(env.stamp.target));
        return 0;
    }
    if (p->too_large) {
        condemn_too_large(b, p);
        return 0;
    }
    struct target *t = target_get(b, env.stamp.target);
    if (t != NULL && target_is_too_small(b, t, p)) {
        condemn_too_large(b, p);
        return 0;
    }
    p->keyless = bytes_is_null(env.stamp.key_overridden ? env.stamp.key : p->record->key);
    if (t != NULL && p->keyless && target_refuses_keyless(b, t)) {
        attempt_failed(b, p,
                       (struct failure){DELIVERY_UNFIT, "the topic refuses records without a key"});
        return 0;
    }
    switch (t == NULL ? GATE_WAIT : target_gate(b, t)) {
    case GATE_OPEN:
        return send_target(b, p, t, &f);
    case GATE_PARK:
        target_park(b, t, p);
        return 0;
    case GATE_DEFER:
        counter_add(&b->stats->deferrals, 1);
        counter_add(&target_stats(b, t->label)->deferrals, 1);
        env.stamp.next_try_ms = b->now.wall_ms + SHUT_MS;
        note_error(&env, (struct failure){t->error, t->why}, DEFERRAL_FAILED);
        put_back(b, p, &env);
        return 0;
    case GATE_FAIL:
        attempt_failed(b, p, (struct failure){t->error, t->why});
        return 0;
    case GATE_WAIT:
        parcel_wait(b, p, b->now.wall_ms + BRIDGE_WAIT_MAX_MS);
        return 0;
    }
    return 0;
}

/* Time may have made another kind of it while it waited: then it has its turn among those. */
static int forward(struct bridge *b, struct parcel *p, enum ready kind)
{
    if (p->verdict != NULL)
        return send_dead(b, p);
    if (!parcel_fits(b, wire_size(p->record), WIRE_ADDED_LATER)) { /* it waited since it fitted */
        condemn_text(b, p, CODE_TOO_LARGE, PARCEL_TOO_LARGE, wire_size(p->record),
                     b->config.record_max_bytes);
        return 0;
    }
    int64_t remaining_ms = p->until_ms - b->now.wall_ms;
    bool hop = remaining_ms > b->config.ladder.hold_ms;
    if (hop != (kind == READY_HOPS) || (!hop && remaining_ms > 0)) {
        parcel_ready(b, p);
        b->more = true;
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

/* Deliveries before hops. But what became of the last one that failed alone is committed before the
   next one may fail: or the end of many would be learned, and lost again, for ever. */
void delivery_serve(struct bridge *b)
{
    if (b->txn.failed != NULL) /* it is among them, and not judged yet */
        return;
    send_ready(b, b->solo_failed ? READY_HOPS : READY_DELIVERIES);
    send_ready(b, b->solo_failed ? READY_DELIVERIES : READY_HOPS);
}

void kafka_answered(struct bridge *b)
{
    if (b->now.mono_ms - b->acked_ms > AWAY_MS)
        b->back_ms = b->now.mono_ms;
    b->acked_ms = b->now.mono_ms;
}

/* Nobody was answered for a part of its flight, up to now or until Kafka came back: whichever
   answer came first then, the target is not to blame. */
static bool kafka_was_away(const struct bridge *b, const struct parcel *p)
{
    if (b->config.exactly_once) /* its last ones are awaited, and nobody else is asked meanwhile */
        return !b->txn.answered;
    return b->now.mono_ms - b->acked_ms > AWAY_MS || p->since_ms < b->back_ms;
}

/* target: that it was delivered to, or NULL */
static void succeeded(struct bridge *b, struct parcel *p, const struct target *target)
{
    struct slot_stats *slot = &b->stats->slots[p->queue->id.slot];
    kafka_answered(b);
    b->txn.answered = true;
    switch ((enum forward_kind)p->kind) {
    case FORWARD_LEVEL:
        counter_add(&b->stats->hops, 1);
        counter_add(&slot->hops, 1);
        bridge_queue(b, p->queue->id.lane, p->to_slot)->retrying += p->overdue_ms != 0;
        break;
    case FORWARD_TARGET:
        counter_add(&b->stats->deliveries, 1);
        counter_add(&slot->deliveries, 1);
        assert(target != NULL);
        if (p->delayed_ms > 0)
            spans_add(&b->stats->target_delay, p->delayed_ms);
        counter_add(&target_stats(b, target->label)->deliveries, 1);
        break;
    case FORWARD_DEAD:
        counter_add(&b->stats->dead[p->verdict->refusal.code], 1);
        counter_add(&target_stats(b, p->verdict->label)->dead[p->verdict->refusal.code], 1);
        counter_add(&slot->dead, 1);
        break;
    }
    parcel_done(b, p);
}

static void resend(struct bridge *b, struct parcel *p)
{
    counter_add(&b->stats->resends, 1);
    parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
}

static void tell_own_topic_failed(struct bridge *b, const struct parcel *p, const char *why)
{
    bridge_tell(b, (struct event){.kind = EVENT_FORWARD_FAILED,
                                  .queue = p->queue->id,
                                  .offset = p->offset,
                                  .to_slot = p->to_slot,
                                  .reason = why});
}

/* Hops and dead letters are tried for ever; only their size can never mend itself. */
static void own_topic_failed(struct bridge *b, struct parcel *p, enum report report,
                             const char *why)
{
    if (report == REPORT_TOO_LARGE && p->kind == FORWARD_LEVEL) {
        condemn_too_large_for_level(b, p);
        return;
    }
    if (report == REPORT_TOO_LARGE && p->letter != LETTER_BARE) {
        if (p->alone)
            p->letter++;
        p->alone = true; /* a broker judges batches, not records */
        parcel_ready(b, p);
        return;
    }
    tell_own_topic_failed(b, p, why);
    resend(b, p);
}

static enum delivery_error delivery_error_of(enum report report)
{
    switch (report) {
    case REPORT_TIMED_OUT:
        return DELIVERY_TIMED_OUT;
    case REPORT_UNFIT:
        return DELIVERY_UNFIT;
    case REPORT_REFUSED:
    case REPORT_OK: /* the others are no failure of the target */
    case REPORT_TOO_LARGE:
    case REPORT_NOT_SENT:
        break;
    }
    return DELIVERY_REFUSED;
}

static void target_failed(struct bridge *b, struct parcel *p, enum report report, const char *why)
{
    if ((report == REPORT_TOO_LARGE || report == REPORT_UNFIT) && !p->alone) {
        p->alone = true; /* a broker judges batches, not records */
        parcel_ready(b, p);
        return;
    }
    if (report == REPORT_TOO_LARGE) {
        if (b->config.exactly_once)
            txn_note(b, p, NOTE_TOO_LARGE); /* until its dead letter is committed */
        condemn_too_large(b, p);
    } else if (report == REPORT_NOT_SENT) {
        resend(b, p);
    } else {
        attempt_failed(b, p, (struct failure){delivery_error_of(report), why});
    }
}

/* What failed is no longer in flight: what becomes of it. */
void delivery_failed(struct bridge *b, struct parcel *p, enum report report, const char *why)
{
    if (p->kind == FORWARD_TARGET)
        target_failed(b, p, report, why);
    else
        own_topic_failed(b, p, report, why);
}

/* It breaks its transaction; what is learned of it holds for its next reading. */
static void note_failure(struct bridge *b, const struct parcel *p, enum report report,
                         const char *why)
{
    bool too_large = report == REPORT_TOO_LARGE;
    if (p->kind == FORWARD_LEVEL && too_large)
        txn_note(b, p, NOTE_WITHOUT_LEVEL);
    else if (too_large)
        txn_note(b, p, NOTE_ALONE);
    else if (p->kind != FORWARD_TARGET && report != REPORT_NOT_SENT)
        tell_own_topic_failed(b, p, why);
}

static void fail_transaction(struct bridge *b, struct parcel *p, struct target *target,
                             enum report report, const char *why)
{
    note_failure(b, p, report, why);
    /* With records without a key in it, these are tried alone first. */
    if (target != NULL && report == REPORT_UNFIT && !target->keyless_in_transaction)
        txn_note(b, p, NOTE_ALONE);
    if (b->txn.solo == p)
        p->alone = true;
    txn_failed(b, p, target, report);
}

/* Exactly once: what was not acknowledged in time, and what its transaction took along, may be held
   by a partition without a leader. The brokers are asked before the last producer meets it. */
static void doubt_unanswered(struct bridge *b, const struct parcel *p, enum report report)
{
    b->txn.timed_out |= report == REPORT_TIMED_OUT && !p->orphan;
    bool taken_along = report == REPORT_NOT_SENT && b->txn.timed_out && !p->orphan;
    if (!b->config.exactly_once || (report != REPORT_TIMED_OUT && !taken_along))
        return;
    if (p->kind == FORWARD_TARGET)
        target_doubt(b, p->target);
    else
        outlet_doubt(b, p);
}

void bridge_reported(struct bridge *b, struct parcel *p, enum report report, const char *why)
{
    assert(p->state == PARCEL_FLYING);
    b->flying--;
    bool away = report == REPORT_TIMED_OUT && kafka_was_away(b, p);
    doubt_unanswered(b, p, report);
    if (away && b->txn.solo != p) /* a suspect is left alone again, whoever is to blame */
        report = REPORT_NOT_SENT;
    struct target *target = p->target;
    if (p->kind != FORWARD_TARGET)
        outlet_reported(b, p, report);
    if (target != NULL)
        target_reported(b, target, p, report, why);
    else
        learn_size(b, p, report);
    if (away)
        report = REPORT_NOT_SENT;
    bool void_anyhow = /* its transaction was given up, or its log is gone */
        (p->orphan && b->config.exactly_once) || p->orphan == STRANGER;
    if (report == REPORT_OK && !void_anyhow) {
        succeeded(b, p, target);
        return;
    }
    if (p->orphan) { /* it will be read again */
        parcel_forget(b, p);
        return;
    }
    p->state = PARCEL_FREE; /* in no list */
    if (b->config.exactly_once)
        fail_transaction(b, p, target, report, why);
    else
        delivery_failed(b, p, report, why);
}
