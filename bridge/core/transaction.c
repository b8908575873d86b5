/* SPDX-License-Identifier: Apache-2.0 */
/* Exactly once: what is forwarded, and the progress that this makes, are one transaction.

     OPEN        takes records; ends when nothing more is due, when it is old or large
     ENDING      takes none; its last reports are awaited, and its progress is sent meanwhile
     COMMITTING  the port was asked; then OPEN again
     BROKEN      nothing of it holds: the port gives up its producer, and makes another

   Reports mark windows at once, as in the other mode; what they say is true when the transaction is
   committed. If it breaks, all lanes are lost and read again from what is committed, with what was
   learned of single records (notes). Only a record that has a transaction of its own, because its
   target is suspect or refused it in company, can fail without that: nothing else was in it. */
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

static void begin_anew(struct bridge *b)
{
    b->txn = (struct txn){0};
    targets_forget_transaction(b);
}

static bool is_full(const struct txn *t)
{
    return t->n >= TXN_RECORDS_MAX || t->bytes >= TXN_BYTES_MAX;
}

/* A verdict comes first in the list. */
static bool hops_have_time(const struct bridge *b)
{
    const struct link *first = list_first(&b->ready[READY_HOPS]);
    return b->now.mono_ms - b->hops_since_ms < TXN_HOPS_MS &&
           b->held_bytes < b->config.memory_bytes / 8 &&
           list_item(first, const struct parcel, link)->verdict == NULL;
}

/* Hops or deliveries, in turns if there are always both. What became of one that failed alone is a
   hop, and comes before what may fail next. */
static enum ready next_takes(const struct bridge *b)
{
    if (list_is_empty(&b->ready[READY_HOPS]))
        return READY_DELIVERIES;
    if (b->solo_failed)
        return READY_HOPS;
    bool other = b->txn_took == READY_HOPS && !list_is_empty(&b->ready[READY_DELIVERIES]);
    return other || hops_have_time(b) ? READY_DELIVERIES : READY_HOPS;
}

/* Each partition of a transaction costs the broker milliseconds, one after another, and what is due
   would wait for those of hops, which have time: so they have transactions of their own. */
bool txn_is_for(const struct bridge *b, enum ready kind)
{
    if (!b->config.exactly_once)
        return true;
    return kind == (b->txn.n > 0 ? b->txn.takes : next_takes(b));
}

bool txn_takes(struct bridge *b, bool alone)
{
    struct txn *t = &b->txn;
    if (!b->config.exactly_once)
        return true;
    if (t->state != TXN_OPEN || t->torn || t->solo != NULL || is_full(t))
        return false;
    t->wants_end |= alone && t->n > 0;
    return !t->wants_end;
}

void txn_took(struct bridge *b, struct parcel *p, bool alone)
{
    struct txn *t = &b->txn;
    if (!b->config.exactly_once)
        return;
    b->taken[t->n] = (uint32_t)(p - b->parcels);
    if (t->n++ == 0) {
        t->since_ms = b->now.mono_ms;
        t->takes = b->txn_took = p->kind == FORWARD_TARGET ? READY_DELIVERIES : READY_HOPS;
    }
    t->bytes += p->record->cost_bytes;
    if (alone)
        t->solo = p;
}

static void commit(struct bridge *b)
{
    b->txn.state = TXN_COMMITTING;
    if (!progress_commit(b))
        b->txn.state = TXN_OPEN; /* nothing in it, and no progress either */
}

static int64_t over_at_ms(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    if (!list_is_empty(&b->ready[t->takes]))
        return t->since_ms + TXN_AGE_MAX_MS;
    return t->since_ms + (t->takes == READY_HOPS ? 0 : TXN_AGE_MS); /* hops had company already */
}

static bool is_over(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    return t->solo != NULL || t->wants_end || t->torn || is_full(t) || b->proving ||
           b->now.mono_ms >= over_at_ms(b);
}

/* As if all that flies were acknowledged: if it is not, nothing of the transaction holds, and all
   is read again. Not for one alone, which may fail without that. */
static void announce(struct bridge *b)
{
    for (size_t i = 0; i < b->txn.n; i++) {
        struct parcel *p = &b->parcels[b->taken[i]];
        if (p->state == PARCEL_FLYING && !p->orphan)
            parcel_foresee(p);
    }
    (void)progress_announce(b);
}

void txn_end(struct bridge *b)
{
    struct txn *t = &b->txn;
    if (t->state == TXN_OPEN && t->n > 0) {
        t->state = TXN_ENDING;
        t->ending_ms = b->now.mono_ms;
        if (t->solo == NULL && !t->torn && b->flying > b->orphans)
            announce(b);
    }
    if (t->state == TXN_ENDING && !t->torn && b->flying == b->orphans)
        commit(b);
}

/* Others in it were answered, or it is one record to a suspect, and now nobody is: then those
   targets that are awaited hold everybody, and not the brokers, which may be slow. */
static void watch_silence(struct bridge *b)
{
    static const char why[] = "a target acknowledged nothing for three seconds";
    struct txn *t = &b->txn;
    int64_t since_ms = b->acked_ms > t->ending_ms ? b->acked_ms : t->ending_ms;
    if (t->state != TXN_ENDING || t->torn || b->now.mono_ms - since_ms < TXN_SILENT_MS)
        return;
    bool probe =
        t->solo != NULL && t->solo->target != NULL && t->solo->target->state == TARGET_PROBING;
    if ((probe || t->answered) && targets_hold(b, why))
        bridge_aborted(b, BLAME_NOBODY, why);
}

void txn_serve(struct bridge *b, bool progress_is_due)
{
    struct txn *t = &b->txn;
    if (t->state == TXN_ENDING || (t->state == TXN_OPEN && t->n > 0 && is_over(b))) {
        txn_end(b);
        watch_silence(b);
    } else if (t->state == TXN_OPEN && t->n == 0 && progress_is_due) {
        commit(b);
    }
}

bool txn_is_out(const struct bridge *b)
{
    return b->txn.state == TXN_ENDING || b->txn.state == TXN_COMMITTING;
}

int64_t txn_wait_ms(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    if (!b->config.exactly_once || t->state != TXN_OPEN)
        return BRIDGE_WAIT_MAX_MS;
    if (t->n > 0)
        return over_at_ms(b) - b->now.mono_ms;
    if (list_is_empty(&b->ready[READY_HOPS]))
        return BRIDGE_WAIT_MAX_MS;
    int64_t left_ms = b->hops_since_ms + TXN_HOPS_MS - b->now.mono_ms;
    return left_ms > 0 ? left_ms : BRIDGE_WAIT_MAX_MS; /* else the port has just taken none */
}

/* What is done now is not read again, and what is not ours any more is somebody else's to learn. */
static void forget_notes(struct bridge *b)
{
    for (int i = 0; b->notes_n > 0 && i < NOTES_MAX; i++) {
        const struct queue *q = b->notes[i].queue;
        if (q == NULL || (q->state != QUEUE_OFF && !window_is_done(&q->window, b->notes[i].offset)))
            continue;
        b->notes[i] = (struct note){0};
        b->notes_n--;
    }
}

void txn_committed(struct bridge *b)
{
    forget_notes(b);
    begin_anew(b);
    b->solo_failed = false;
}

static void give_up(struct bridge *b, bool reread)
{
    begin_anew(b);
    b->txn.state = TXN_BROKEN;
    b->commit_out = false;
    b->commit_seq++; /* no answer to what was asked concerns us */
    counter_add(&b->stats->aborts, 1);
    b->port.abort(b->port.ctx, reread);
}

void txn_lane_lost(struct bridge *b)
{
    if (b->config.exactly_once && (b->txn.n > 0 || txn_is_out(b)) && b->txn.state != TXN_BROKEN)
        give_up(b, false);
}

/* Its report says no: that the transaction is broken, and by what, the port says when all have been
   reported. Until then the one that was alone waits, and is not taken. */
void txn_failed(struct bridge *b, struct parcel *p, struct target *target, enum report report)
{
    struct txn *t = &b->txn;
    t->torn = true;
    t->told |= report != REPORT_NOT_SENT;
    if (t->solo != p) {
        t->unsent = p->queue->id;
        t->unsent_offset = p->offset;
        t->unsent_to = p->to_slot;
        parcel_forget(b, p);
        return;
    }
    t->failed = p;
    t->failed_target = target;
    t->failed_report = report;
    parcel_ready(b, p);
}

static void blame_solo(struct bridge *b, enum blame blame, const char *why)
{
    struct txn *t = &b->txn;
    if (t->failed_report == REPORT_NOT_SENT && blame == BLAME_RECORDS) {
        if (t->failed_target != NULL)
            target_refuses(b, t->failed_target, why);
        t->failed_report = REPORT_REFUSED;
    }
    delivery_failed(b, t->failed, t->failed_report, why);
}

void bridge_aborted(struct bridge *b, enum blame blame, const char *why)
{
    struct txn *t = &b->txn;
    if (t->state == TXN_BROKEN)
        return;
    bridge_tell(b, (struct event){.kind = EVENT_ABORTED, .count = (int64_t)t->n, .reason = why});
    bool alone = t->failed != NULL;
    b->solo_failed |= alone;
    if (alone)
        blame_solo(b, blame, why);
    else if (blame == BLAME_RECORDS && !t->told && t->takes == READY_HOPS && t->n > 0)
        bridge_tell(b, (struct event){.kind = EVENT_FORWARD_FAILED,
                                      .queue = t->unsent,
                                      .offset = t->unsent_offset,
                                      .to_slot = t->unsent_to,
                                      .reason = why});
    else if (blame == BLAME_RECORDS && !t->told)
        targets_suspect(b, why);
    give_up(b, !alone);
}

void bridge_restarted(struct bridge *b)
{
    begin_anew(b);
}

/* Notes: what was learned of a record by a transaction that it broke, for when it is read again. */

void txn_note(struct bridge *b, const struct parcel *p, enum note_flag flag)
{
    struct note *found = NULL;
    for (int i = 0; i < NOTES_MAX && found == NULL; i++) {
        if (b->notes[i].queue == p->queue && b->notes[i].offset == p->offset)
            found = &b->notes[i];
    }
    if (found == NULL) {
        found = &b->notes[b->notes_hand];
        b->notes_hand = (b->notes_hand + 1) % NOTES_MAX;
        b->notes_n += found->queue == NULL;
        *found = (struct note){.queue = p->queue, .offset = p->offset};
    }
    found->flags |= (unsigned)flag;
}

void txn_recall(struct bridge *b, struct parcel *p)
{
    for (int i = 0; b->notes_n > 0 && i < NOTES_MAX; i++) {
        struct note *note = &b->notes[i];
        if (note->queue != p->queue || note->offset != p->offset)
            continue;
        p->alone = (note->flags & NOTE_ALONE) != 0;
        p->without_level = (note->flags & NOTE_WITHOUT_LEVEL) != 0;
        p->too_large = (note->flags & NOTE_TOO_LARGE) != 0;
        return;
    }
}
