/* SPDX-License-Identifier: Apache-2.0 */
/* Progress: what is committed and when, and what may be deleted after that. */
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

/* One queue's progress is to be committed again, though nothing changed. */
void progress_touch(struct bridge *b, bool all)
{
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (!queue_has_progress(q))
            continue;
        queue_changed(q);
        if (!all)
            return;
    }
}

static size_t collect_progress(struct bridge *b)
{
    size_t n = 0;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (!queue_has_progress(q) || q->changes == q->changes_kept)
            continue;
        struct progress *p = &b->progress[n++];
        p->queue = q->id;
        p->base = q->window.base;
        p->text_len = window_encode_within(&q->window, b->config.commit_text_max, p->text);
        q->changes_sent = q->changes;
        q->base_sent = q->window.base;
    }
    return n;
}

bool progress_announce(struct bridge *b)
{
    size_t n = collect_progress(b);
    if (n == 0 && b->txn.n == 0)
        return false;
    b->txn.announced = true;
    b->port.announce(b->port.ctx, b->progress, n);
    return true;
}

static void ask(struct bridge *b)
{
    b->commit_out = true;
    b->asked_ms = b->now.mono_ms;
    b->commit_seq++;
}

static bool commit_transaction(struct bridge *b)
{
    if (!b->txn.announced && !progress_announce(b))
        return false;
    ask(b);
    b->port.finish(b->port.ctx, b->commit_seq);
    return true;
}

bool progress_commit(struct bridge *b)
{
    b->commit_ms = b->now.mono_ms;
    if (b->config.exactly_once)
        return commit_transaction(b);
    size_t n = collect_progress(b);
    if (n == 0)
        return false;
    ask(b);
    b->port.commit(b->port.ctx, b->commit_seq, b->progress, n);
    return true;
}

void bridge_commit(struct bridge *b, struct now now)
{
    b->now = now;
    if (b->config.exactly_once)
        txn_serve(b, true);
    else
        (void)progress_commit(b);
}

void bridge_committed(struct bridge *b, uint64_t seq, bool ok)
{
    if (seq < b->commit_seq && !b->config.exactly_once)
        progress_touch(b, true); /* it may have come to lie above what was committed since */
    if (seq != b->commit_seq || !b->commit_out)
        return;
    b->commit_out = false;
    counter_add(ok ? &b->stats->commits : &b->stats->commits_failed, 1);
    if (!ok)
        return;
    kafka_answered(b);
    b->answered_ms = b->asked_ms;
    if (b->config.exactly_once)
        txn_committed(b);
    b->proving &= seq < b->proof_seq;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (!queue_has_progress(q) || q->changes_sent == q->changes_kept)
            continue;
        q->changes_kept = q->changes_sent;
        q->base_kept = q->base_sent;
    }
}

void progress_keep(struct bridge *b)
{
    int64_t since_ms = b->now.mono_ms - b->commit_ms;
    bool due = since_ms >= COMMIT_EVERY_MS;
    if (b->config.exactly_once)
        txn_serve(b, due);
    if (!due || (b->commit_out && (since_ms < COMMIT_LOST_MS || b->config.exactly_once)))
        return;
    if (b->now.mono_ms - b->recommit_ms >= b->config.commit_again_ms) {
        b->recommit_ms = b->now.mono_ms;
        progress_touch(b, true); /* or the broker would expire the offsets of idle queues */
    }
    if (b->flying > 0 && b->now.mono_ms - b->acked_ms >= PROBE_EVERY_MS &&
        b->now.mono_ms - b->probe_ms >= PROBE_EVERY_MS) {
        b->probe_ms = b->now.mono_ms;
        progress_touch(b, false);
    }
    bridge_commit(b, b->now);
}

void progress_trim(struct bridge *b)
{
    if (b->now.mono_ms - b->trim_ms < TRIM_EVERY_MS)
        return;
    b->trim_ms = b->now.mono_ms;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        bool suspect = q->silences > 0; /* records of another log would be deleted */
        if (!queue_has_progress(q) || q->id.slot == SLOT_SCHEDULE || suspect ||
            q->base_kept <= q->base_trimmed)
            continue;
        b->port.trim(b->port.ctx, q->id, q->base_kept);
    }
}

void bridge_trimmed(struct bridge *b, struct queue_id id, int64_t base)
{
    struct queue *q = bridge_queue(b, id.lane, id.slot);
    if (base > q->base_trimmed)
        q->base_trimmed = base;
}
