/* SPDX-License-Identifier: Apache-2.0 */
/* Progress: windows that are to be committed, that were committed, and logs that may be deleted. */
#include "bridge/core/progress.h"
#include "bridge/core/bridge.h"
#include "bridge/core/queue.h"
#include "bridge/core/state.h"

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

static void collect_witnesses(const struct bridge *b, const struct queue *q, struct progress *p)
{
    const struct lane_cancels *l = &b->lanes[q->id.lane].cancels;
    p->witnesses_len = 0;
    if (!b->cancels.is_on || !queue_is_schedule(q))
        return;
    p->cancels_end = l->log_end;
    size_t len = same_log_encode(&l->same_log, bytes_of(p->text, p->text_len), p->witnesses);
    bool fits = b->config.commit_text_max == 0 || len <= b->config.commit_text_max;
    p->witnesses_len = fits ? len : 0;
}

size_t progress_collect(struct bridge *b)
{
    size_t n = 0;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (!queue_has_progress(q) || q->changes == q->changes_kept)
            continue;
        struct progress *p = &b->commit.progress[n++];
        p->queue = q->id;
        p->base = q->window.base;
        p->text_len = window_encode_within(&q->window, b->config.commit_text_max, p->text);
        collect_witnesses(b, q, p);
        q->changes_sent = q->changes;
        q->base_sent = q->window.base;
    }
    return n;
}

void progress_kept(struct bridge *b)
{
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (!queue_has_progress(q) || q->changes_sent == q->changes_kept)
            continue;
        q->changes_kept = q->changes_sent;
        q->base_kept = q->base_sent;
    }
}

bool progress_is_any(const struct bridge *b)
{
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        if (queue_has_progress(&b->queues[i]))
            return true;
    }
    return false;
}

void progress_trim(struct bridge *b)
{
    if (b->now.mono_ms - b->commit.trim_mono_ms < TRIM_EVERY_MS)
        return;
    b->commit.trim_mono_ms = b->now.mono_ms;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        bool suspect = q->silences > 0; /* otherwise records of another log would be deleted */
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
