/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes: decides what happens to a record after its report, and to the lanes after an abort. */
#include "bridge/core/outcome.h"
#include "bridge/core/bridge.h"
#include "bridge/core/cancel.h"
#include "bridge/core/cluster.h"
#include "bridge/core/commit.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/event.h"
#include "bridge/core/notes.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/redelivery.h"
#include "bridge/core/restore.h"
#include "bridge/core/seal.h"
#include "bridge/core/sender.h"
#include "bridge/core/state.h"
#include "bridge/core/target.h"
#include "bridge/core/target_table.h"
#include "bridge/core/transaction.h"

/* Returns the time for which no report of the transaction that ends has arrived. */
static int64_t silent_ms(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    int64_t since_mono_ms =
        t->answered_mono_ms > t->closed_mono_ms ? t->answered_mono_ms : t->closed_mono_ms;
    if (b->cluster.muted_mono_ms > since_mono_ms)
        since_mono_ms = b->cluster.muted_mono_ms;
    return b->now.mono_ms - since_mono_ms;
}

/* Returns whether Kafka was away for a part of the time in which the record was in flight. The
   target is then not the cause of a timeout, even if Kafka answers again by now. */
static bool kafka_was_away(const struct bridge *b, const struct parcel *p)
{
    if (b->config.exactly_once) /* all records in flight belong to the transaction */
        return !b->txn.answered || (silent_ms(b) >= TXN_SILENT_MS && !cluster_is_heard(b));
    return b->now.mono_ms - b->cluster.acked_mono_ms > AWAY_MS ||
           p->since_mono_ms < b->cluster.back_mono_ms;
}

/* A record of the topic of cancels was acknowledged. */
static void note_stored(struct bridge *b, struct parcel *p)
{
    if (p->entry_kind == ENTRY_SEAL)
        seal_stored(b, p);
    else if (p->entry_kind == ENTRY_CUT)
        restore_cut_stored(b, p);
    else
        cancel_stored(b, p);
}

static void count_delivery(struct bridge *b, const struct parcel *p, const struct target *target)
{
    assert(target != NULL);
    counter_add(&b->stats->deliveries, 1);
    counter_add(&b->stats->slots[p->queue->id.slot].deliveries, 1);
    if (p->delayed_ms > 0)
        spans_add(p->withheld ? &b->stats->withheld_delay : &b->stats->target_delay, p->delayed_ms);
    counter_add(&target_stats(b, target->label)->deliveries, 1);
}

/* target: of a delivery; NULL: any other record. */
static void succeeded(struct bridge *b, struct parcel *p, const struct target *target)
{
    struct slot_stats *slot = &b->stats->slots[p->queue->id.slot];
    cluster_answered(b);
    b->txn.answered = true;
    b->txn.answered_mono_ms = b->now.mono_ms;
    switch ((enum forward_kind)p->kind) {
    case FORWARD_LEVEL:
        counter_add(&b->stats->hops, 1);
        counter_add(&slot->hops, 1);
        bridge_queue(b, p->queue->id.lane, p->to_slot)->redelivering += p->overdue_wall_ms != 0;
        bridge_queue(b, p->queue->id.lane, p->to_slot)->withheld += p->withheld;
        break;
    case FORWARD_TARGET:
        count_delivery(b, p, target);
        event_note_delivered(b, p);
        break;
    case FORWARD_CANCEL:
        note_stored(b, p);
        return;
    case FORWARD_EVENT:
        if (event_stored(b, p))
            parcel_done(b, p);
        return;
    case FORWARD_DEAD:
        counter_add(&b->stats->dead[p->dead_letter->refusal.code], 1);
        counter_add(&target_stats(b, p->dead_letter->label)->dead[p->dead_letter->refusal.code], 1);
        counter_add(&slot->dead, 1);
        break;
    }
    if (!event_follow(b, p))
        parcel_done(b, p);
}

static void notice_own_topic_failed(struct bridge *b, const struct parcel *p, const char *why)
{
    bridge_notice(b, (struct notice){.kind = NOTICE_FORWARD_FAILED,
                                     .queue = p->queue->id,
                                     .offset = p->offset,
                                     .to_slot = p->to_slot,
                                     .reason = why});
}

/* Hops and dead letters are tried indefinitely, unless the record is too large. */
static void own_topic_failed(struct bridge *b, struct parcel *p, enum report report,
                             const char *why)
{
    if (p->entry_kind == ENTRY_SEAL) {
        seal_failed(b, p);
        return;
    }
    if (report == REPORT_TOO_LARGE && p->kind == FORWARD_LEVEL) {
        dead_letter_too_large_for_level(b, p);
        return;
    }
    if (report == REPORT_TOO_LARGE && p->kind == FORWARD_DEAD &&
        p->content != DEAD_LETTER_REASON_ONLY) {
        if (p->alone)
            p->content++;
        p->alone = true; /* a broker judges batches, not records */
        parcel_ready(b, p);
        return;
    }
    notice_own_topic_failed(b, p, why);
    if (p->kind == FORWARD_EVENT && event_is_lost(b, p))
        return;
    redelivery_resend(b, p);
}

static enum delivery_error delivery_error_of(enum report report)
{
    switch (report) {
    case REPORT_TIMED_OUT:
        return DELIVERY_TIMED_OUT;
    case REPORT_UNFIT:
        return DELIVERY_UNFIT;
    case REPORT_REFUSED:
    case REPORT_OK: /* not failures of the target */
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
            notes_add(b, p, NOTE_TOO_LARGE); /* needed until the dead letter is committed */
        dead_letter_too_large(b, p);
    } else if (report == REPORT_NOT_SENT) {
        redelivery_resend(b, p);
    } else {
        redelivery_attempt_failed(b, p, (struct failure){delivery_error_of(report), why});
    }
}

/* Decides what happens to a record that failed and is no longer in flight. */
static void record_failed(struct bridge *b, struct parcel *p, enum report report, const char *why)
{
    if (p->kind == FORWARD_TARGET)
        target_failed(b, p, report, why);
    else
        own_topic_failed(b, p, report, why);
}

/* Remembers the failure of a record that breaks its transaction, for its next reading. */
static void note_failure(struct bridge *b, const struct parcel *p, enum report report,
                         const char *why)
{
    bool too_large = report == REPORT_TOO_LARGE;
    if (p->kind == FORWARD_LEVEL && too_large)
        notes_add(b, p, NOTE_WITHOUT_LEVEL);
    else if (too_large && p->kind != FORWARD_CANCEL && p->kind != FORWARD_EVENT)
        notes_add(b, p, NOTE_ALONE);
    else if (p->kind != FORWARD_TARGET && report != REPORT_NOT_SENT)
        notice_own_topic_failed(b, p, why);
}

static void fail_transaction(struct bridge *b, struct parcel *p, struct target *target,
                             enum report report, const char *why)
{
    note_failure(b, p, report, why);
    /* If there are records without a key, these are tried alone first. */
    if (target != NULL && report == REPORT_UNFIT && !target->keyless_in_transaction)
        notes_add(b, p, NOTE_ALONE);
    txn_failed(b, p, target, report);
    if (p->kind == FORWARD_EVENT && report != REPORT_NOT_SENT) {
        b->txn.event_failed = true;
        outlet_refused(b, p, why);
    } else if (p->kind != FORWARD_TARGET && report == REPORT_REFUSED) {
        outlet_look_again(b, p);
    }
    if (b->txn.single != p) {
        parcel_forget(b, p);
        return;
    }
    p->alone = true; /* waits for aborted */
    parcel_ready(b, p);
}

/* Exactly-once: a partition without a leader may be the cause of a timeout, and of reports NOT_SENT
   in the same transaction. Its state is looked up before the remaining producer sends to it. */
static void doubt_unanswered(struct bridge *b, const struct parcel *p, enum report report)
{
    b->txn.timed_out |= report == REPORT_TIMED_OUT && p->ownership == OWNED;
    bool taken_along = report == REPORT_NOT_SENT && b->txn.timed_out && p->ownership == OWNED;
    if (!b->config.exactly_once || (report != REPORT_TIMED_OUT && !taken_along))
        return;
    if (p->kind == FORWARD_TARGET)
        target_doubt(b, p->target);
    else
        outlet_doubt(b, p);
}

void bridge_reported(struct bridge *b, struct parcel *p, enum report report, const char *why)
{
    assert(p->state == PARCEL_IN_FLIGHT);
    b->in_flight--;
    bool away = report == REPORT_TIMED_OUT && kafka_was_away(b, p);
    doubt_unanswered(b, p, report);
    if (away && b->txn.single != p) /* a single record still counts against its target */
        report = REPORT_NOT_SENT;
    struct target *target = p->target;
    if (p->kind != FORWARD_TARGET && report == REPORT_OK)
        outlet_acked(b, p);
    bool alone = b->config.exactly_once ? b->txn.single == p : p->alone;
    if (target != NULL)
        target_reported(b, target, p, &(struct answer){report, alone, why});
    else
        outlet_learn_size(b, p, report);
    if (away)
        report = REPORT_NOT_SENT;
    bool is_void = /* its transaction was aborted, it belongs to another log, or is read again */
        (p->ownership != OWNED &&
         (b->config.exactly_once || p->kind == FORWARD_CANCEL || p->entry_kind == ENTRY_CANCEL)) ||
        p->ownership == FOREIGN;
    if (report == REPORT_OK && !is_void) {
        succeeded(b, p, target);
        return;
    }
    if (p->ownership != OWNED) { /* read again by the owner of the lane */
        parcel_forget(b, p);
        return;
    }
    p->state = PARCEL_FREE; /* in no list */
    if (b->config.exactly_once)
        fail_transaction(b, p, target, report, why);
    else
        record_failed(b, p, report, why);
}

void bridge_delivery_stored(struct bridge *b, struct parcel *p, int32_t partition, int64_t offset)
{
    if (!event_is_wanted(b, EVENT_DELIVERED))
        return;
    p->facts.stored = true;
    p->facts.partition = partition;
    p->facts.stored_offset = offset;
}

static void begin_transaction(struct bridge *b)
{
    txn_begin(b);
    targets_forget_transaction(b);
}

static void give_up(struct bridge *b, bool reread)
{
    begin_transaction(b);
    event_forget_transaction(b);
    b->txn.state = TXN_BROKEN;
    b->txn.reread = reread;
    commit_invalidate(b);
    counter_add(&b->stats->aborts, 1);
    b->clock.turn_incomplete = true; /* its client is purged or replaced, and lanes are lost */
}

void outcome_lane_lost(struct bridge *b)
{
    if (b->config.exactly_once && (b->txn.n > 0 || txn_is_out(b))) /* a broken one is empty */
        give_up(b, false);
}

static void fail_single(struct bridge *b, enum blame blame, const char *why)
{
    struct txn *t = &b->txn;
    if (t->failed_report == REPORT_NOT_SENT && blame == BLAME_RECORDS) {
        if (t->failed_target != NULL)
            target_refuses(b, t->failed_target, why);
        t->failed_report = REPORT_REFUSED;
    }
    record_failed(b, t->failed_parcel, t->failed_report, why);
}

/* All records are reported, and the transaction cannot be committed. */
static void aborted(struct bridge *b, enum blame blame, const char *why)
{
    struct txn *t = &b->txn;
    if (t->state == TXN_BROKEN)
        return;
    bridge_notice(b,
                  (struct notice){.kind = NOTICE_ABORTED, .count = (int64_t)t->n, .reason = why});
    bool alone = t->failed_parcel != NULL && !t->event_failed;
    b->txn.single_failed |= alone;
    if (alone)
        fail_single(b, blame, why);
    else if (blame == BLAME_RECORDS && !t->reason_known && t->takes == READY_HOPS && t->n > 0)
        bridge_notice(b, (struct notice){.kind = NOTICE_FORWARD_FAILED,
                                         .queue = t->unsent,
                                         .offset = t->unsent_offset,
                                         .to_slot = t->unsent_to,
                                         .reason = why});
    else if (blame == BLAME_RECORDS && !t->reason_known)
        targets_suspect(b, why);
    give_up(b, !alone);
}

static void act_on(struct bridge *b, enum sender_news news)
{
    switch (news) {
    case SENDER_NO_NEWS:
        break;
    case SENDER_COMMITTED:
        bridge_committed(b, b->commit.seq, true);
        break;
    case SENDER_ABORTED: {
        char why[TXN_WHY_MAX]; /* of the transaction, which ends */
        memcpy(why, b->txn.why, sizeof why);
        aborted(b, b->txn.blame, why[0] == '\0' ? "purged" : why);
        break;
    }
    case SENDER_DOUBTS:
        outlets_doubt(b);
        targets_look_up_again(b);
        break;
    case SENDER_CONTINUES:
        begin_transaction(b);
        b->clock.turn_incomplete = true; /* lanes may be gained */
        break;
    }
}

void bridge_client_fact(struct bridge *b, const struct client_fact *fact)
{
    act_on(b, sender_fact(b, fact));
}

void outcome_serve(struct bridge *b)
{
    b->port.reports(b->port.ctx);
    for (enum sender_news news; (news = sender_serve(b)) != SENDER_NO_NEWS;)
        act_on(b, news);
}

bool outcome_break(struct bridge *b, const char *why)
{
    bool sends = txn_in_flight(b) > 0 || b->txn.failed_parcel != NULL;
    if (!b->config.exactly_once || !sends)
        return false;
    b->txn.failed_parcel = NULL; /* forgotten with all other records */
    aborted(b, BLAME_CLUSTER, why);
    return true;
}

/* Aborts a transaction whose last reports do not arrive, if its targets are the cause and not slow
   brokers. They are the cause if other records of it were acknowledged, or if it is a probe, and if
   brokers have answered look-ups meanwhile. After an outage, they answer these before they
   acknowledge records. */
void outcome_watch_silence(struct bridge *b)
{
    static const char why[] = "a target acknowledged nothing for three seconds";
    struct txn *t = &b->txn;
    if (t->state != TXN_CLOSED || b->commit.is_out || silent_ms(b) < TXN_LISTEN_MS)
        return;
    if (b->now.mono_ms - t->listened_mono_ms >= TXN_LISTEN_MS) {
        t->listened_mono_ms = b->now.mono_ms;
        targets_listen(b);
    }
    if (silent_ms(b) < TXN_SILENT_MS || !cluster_is_heard(b))
        return;
    bool probe = t->single != NULL && t->single->target != NULL &&
                 t->single->target->state == TARGET_PROBING;
    if ((probe || t->answered) && targets_take_down_silent(b, why))
        aborted(b, BLAME_CLUSTER, why);
}
