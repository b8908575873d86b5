/* SPDX-License-Identifier: Apache-2.0 */
/* Commits: when progress is committed, in both delivery modes. */
#include "bridge/core/commit.h"
#include "bridge/core/bridge.h"
#include "bridge/core/cancel.h"
#include "bridge/core/cluster.h"
#include "bridge/core/notes.h"
#include "bridge/core/parcel.h"
#include "bridge/core/progress.h"
#include "bridge/core/restore.h"
#include "bridge/core/seal.h"
#include "bridge/core/sender.h"
#include "bridge/core/state.h"
#include "bridge/core/target.h"
#include "bridge/core/transaction.h"

void commit_invalidate(struct bridge *b)
{
    b->commit.seq++;
    b->commit.is_out = false;
}

/* Begins a commit, and returns its number. */
static uint64_t next_commit(struct bridge *b)
{
    b->commit.is_out = true;
    b->commit.started_mono_ms = b->now.mono_ms;
    return ++b->commit.seq;
}

/* Exactly-once: announces the progress of the transaction. Returns false if there is neither
   progress nor a record. Records without progress are possible: their topic may be missing. */
static bool announce(struct bridge *b)
{
    size_t n = progress_collect(b);
    if (n == 0 && b->txn.n == 0)
        return false;
    b->commit.proof_mono_ms = n > 0 ? b->now.mono_ms : INT64_MIN;
    sender_announce(b, n);
    return true;
}

static void commit_transaction(struct bridge *b)
{
    b->commit.last_mono_ms = b->now.mono_ms;
    if (b->txn.offsets == OFFSETS_NONE && !announce(b)) {
        b->txn.state = TXN_OPEN; /* neither record nor progress */
        return;
    }
    if (b->txn.state != TXN_OPEN && b->txn.state != TXN_CLOSED) /* the client is broken */
        return;
    b->txn.state = TXN_CLOSED;
    (void)next_commit(b);
    sender_finish(b);
}

/* Announces progress as if all records in flight were acknowledged, which saves a round trip. If
   one fails, the transaction is aborted and all lanes are read again. A single record may fail
   without that, so its progress is not announced early. */
static void announce_early(struct bridge *b)
{
    for (size_t i = 0; i < b->txn.n; i++) {
        struct parcel *p = &b->pools.parcels[b->txn.taken[i]];
        if (p->state != PARCEL_IN_FLIGHT || !cancel_completes(p))
            continue;
        assert(p->ownership == OWNED); /* a lane that is lost ends the transaction */
        parcel_foresee(p);
    }
    (void)announce(b);
}

static void end_transaction(struct bridge *b)
{
    struct txn *t = &b->txn;
    if (!list_is_empty(&b->events.ready)) /* they belong to it */
        return;
    if (t->state == TXN_OPEN && t->n > 0) {
        t->state = TXN_CLOSED;
        t->closed_mono_ms = b->now.mono_ms;
        if (t->single == NULL && txn_in_flight(b) > 0)
            announce_early(b);
    }
    if (t->state == TXN_CLOSED && !b->commit.is_out && txn_in_flight(b) == 0)
        commit_transaction(b);
}

static void serve_transaction(struct bridge *b, bool progress_is_due)
{
    const struct txn *t = &b->txn;
    if (t->state == TXN_CLOSED || (t->state == TXN_OPEN && t->n > 0 && txn_is_over(b)))
        end_transaction(b);
    else if (t->state == TXN_OPEN && t->n == 0 && progress_is_due)
        commit_transaction(b);
}

void commit_now(struct bridge *b)
{
    if (b->config.exactly_once) {
        serve_transaction(b, true);
        return;
    }
    b->commit.last_mono_ms = b->now.mono_ms;
    size_t n = progress_collect(b);
    if (n > 0) {
        b->commit.proof_mono_ms = b->now.mono_ms;
        b->port.commit(b->port.ctx, next_commit(b), b->commit.progress, n);
    }
}

static void transaction_committed(struct bridge *b)
{
    notes_forget(b);
    txn_begin(b);
    targets_forget_transaction(b);
    b->txn.single_failed = false;
}

void bridge_committed(struct bridge *b, uint64_t seq, bool ok)
{
    if (seq < b->commit.seq && !b->config.exactly_once)
        progress_touch(b, true); /* this older commit may have overwritten newer offsets */
    if (seq != b->commit.seq || !b->commit.is_out)
        return;
    b->commit.is_out = false;
    counter_add(ok ? &b->stats->commits : &b->stats->commits_failed, 1);
    if (!ok)
        return;
    cluster_answered(b);
    b->commit.timed_mono_ms = b->commit.started_mono_ms;
    b->commit.answer_ms = b->now.mono_ms - b->commit.started_mono_ms;
    b->commit.answered_seq = seq;
    if (b->config.exactly_once)
        transaction_committed(b);
    restore_committed(b);
    seal_proved(b, b->commit.proof_mono_ms);
    b->commit.proving &= seq < b->commit.proof_seq;
    progress_kept(b);
}

/* Returns the ms between two commits. In at-least-once mode, a kill duplicates all records
   forwarded since the last commit. So commits are more frequent while the coordinator answers
   fast. */
static int64_t commit_every_ms(const struct bridge *b)
{
    int64_t every_ms = b->commit.answer_ms * COMMIT_SHARE;
    if (b->config.exactly_once || every_ms > COMMIT_EVERY_MS)
        return COMMIT_EVERY_MS;
    return every_ms < COMMIT_SOON_MS ? COMMIT_SOON_MS : every_ms;
}

void commit_serve(struct bridge *b)
{
    int64_t since_ms = b->now.mono_ms - b->commit.last_mono_ms;
    bool due = since_ms >= commit_every_ms(b);
    if (b->config.exactly_once)
        serve_transaction(b, due);
    if (!due || (b->commit.is_out && (since_ms < COMMIT_LOST_MS || b->config.exactly_once)))
        return;
    if (b->now.mono_ms - b->commit.recommit_mono_ms >= b->config.commit_again_ms) {
        b->commit.recommit_mono_ms = b->now.mono_ms;
        progress_touch(b, true); /* the broker would expire the offsets of idle queues */
    }
    if (b->in_flight > 0 && b->now.mono_ms - b->cluster.acked_mono_ms >= PROBE_EVERY_MS &&
        b->now.mono_ms - b->commit.probe_mono_ms >= PROBE_EVERY_MS) {
        b->commit.probe_mono_ms = b->now.mono_ms;
        progress_touch(b, false);
    }
    commit_now(b);
}

bool commit_settle(struct bridge *b)
{
    if (b->config.exactly_once)
        end_transaction(b);
    else if (list_is_empty(&b->events.unproven))
        commit_serve(b);
    else if (!b->commit.is_out) /* their events wait for the answer, and the lanes for them */
        commit_now(b);
    return txn_is_out(b);
}

/* The process may have been fenced while it stalled. A commit from before the stall proves nothing.
 */
void commit_doubt_ownership(struct bridge *b, int64_t stalled_ms)
{
    bridge_notice(b, (struct notice){.kind = NOTICE_STALLED_TURN, .span_ms = stalled_ms});
    b->commit.proving = true;
    b->commit.proof_seq = b->commit.seq + 1;
    /* Offsets that were sent before the stall prove nothing. */
    if (b->txn.offsets != OFFSETS_NONE && !b->commit.is_out)
        b->commit.proof_seq++;
    if (!b->config.exactly_once)
        commit_invalidate(b);
}

/* Only a successful commit proves that the lanes are still ours. */
void commit_prove_ownership(struct bridge *b)
{
    if (!progress_is_any(b))
        b->commit.proving = false;
    else if (!b->commit.is_out)
        progress_touch(b, false);
    commit_serve(b);
}
