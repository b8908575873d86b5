/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that the client cannot read. The source finds them, the probe finds their end, and the
   step machine decides. An operator skips a batch with a dead letter, which the probe searches for.
 */
#include "bridge/service/worker_parts.h"

enum { SKIP_SEARCH_MS = 3000, MEASURE_AGAIN_MS = 1000 };

/* Passes a question to the probe. Creates the probe at the first question, which most workers never
   have. */
static bool ask(struct worker *w, const struct probe_question *question)
{
    if (w->probe == NULL)
        w->probe = probe_new(w->config.config, w->dead_letter, &w->wakeup);
    return w->probe != NULL && probe_ask(w->probe, question);
}

static void measured(struct worker *w, const struct probe_answer *answer)
{
    const struct range *range = &answer->question.range;
    struct queue_id queue = answer->question.queue;
    if (!source_is_stuck(w->source, queue) ||
        source_position(w->source, queue) != answer->question.at)
        return; /* the lane was lost, or is read at another offset */
    if (!answer->known)
        return; /* measured again later */
    source_measured(w->source, queue);
    if (range->end > range->from)
        bridge_unreadable(w->bridge, queue, range->from, range->end);
    else
        source_read_again(w->source, queue);
}

static void take_answer(struct worker *w)
{
    struct probe_answer answer;
    if (w->probe == NULL || !probe_take(w->probe, &answer))
        return;
    const struct probe_question *q = &answer.question;
    if (q->end) {
        measured(w, &answer);
        return;
    }
    w->skip_search_offsets[q->queue.index] = q->at;
    if (answer.found)
        bridge_skip_range(w->bridge, q->queue, q->range.from, q->range.end);
}

static bool measure(struct worker *w)
{
    struct queue_id queue;
    if (!source_find_stuck(w->source, &queue))
        return false;
    int64_t at = source_position(w->source, queue);
    struct probe_question question = {
        .end = true,
        .queue = queue,
        .range = {.topic = w->topics[queue.slot], .partition = queue.lane, .from = at},
        .at = at};
    return ask(w, &question);
}

/* Searches for the dead letter of one blocked queue, each of them in turn. */
static void search_skips(struct worker *w)
{
    int n = w->config.lanes * w->slots;
    for (int i = 0; i < n; i++) {
        int index = (w->skip_search_next + i) % n;
        struct queue_id queue = {index, index / w->slots, index % w->slots};
        struct probe_question question = {.queue = queue, .at = w->skip_search_offsets[index]};
        struct range *range = &question.range;
        if (!bridge_blocked_range(w->bridge, queue, &range->from, &range->end)) {
            w->skip_search_offsets[index] = -1;
            continue;
        }
        range->topic = w->topics[queue.slot];
        range->partition = queue.lane;
        if (ask(w, &question))
            w->skip_search_next = index + 1;
        return;
    }
}

void worker_serve_unreadable(struct worker *w, struct now now)
{
    if (w->source == NULL)
        return;
    take_answer(w);
    if (now.mono_ms - w->measured_mono_ms >= MEASURE_AGAIN_MS && measure(w))
        w->measured_mono_ms = now.mono_ms;
    if (now.mono_ms - w->skip_searched_mono_ms < SKIP_SEARCH_MS)
        return;
    w->skip_searched_mono_ms = now.mono_ms;
    search_skips(w);
}
