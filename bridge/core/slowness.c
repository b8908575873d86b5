/* SPDX-License-Identifier: Apache-2.0 */
/* The judge of slowness: how long targets take, and which of them delay others. */
#include "bridge/core/slowness.h"

enum {
    SLOW_MS = 100,
    SLOW_TIMES = 4,
    FAST_MS = 50,
    FAST_TIMES = 2,
    STAYS_MS = 10000,
    LOOK_MS = 500,
    JUDGE_MS = 200,
    ACK_RECENT_MS = 10000 /* older acknowledgements do not count */
};

/* A moving average: each acknowledgement counts a quarter. After the first look, only records that
   were sent later count. */
void slowness_learn(struct bridge *b, struct target *t, int64_t took_ms)
{
    int64_t took_us = took_ms * 1000;
    bool first =
        t->took_mono_ms == 0 || t->ack_us < 0 || b->now.mono_ms - t->took_mono_ms >= ACK_RECENT_MS;
    if (b->now.mono_ms - took_ms < t->looked_mono_ms)
        return;
    t->ack_us = first ? took_us : t->ack_us + (took_us - t->ack_us) / 4;
}

static void set_slow(struct bridge *b, struct target *t, bool slow)
{
    bridge_notice(b, (struct notice){.kind = slow ? NOTICE_TARGET_SLOW : NOTICE_TARGET_FAST,
                                     .target = bytes_text(t->id.name),
                                     .span_ms = t->ack_us / 1000});
    t->is_slow = slow;
    t->judged_mono_ms = b->now.mono_ms;
    t->looked_mono_ms = 0;
}

static bool is_recent(const struct bridge *b, const struct target *t)
{
    return t->state == TARGET_UP && t->took_mono_ms > 0 && t->ack_us >= 0 &&
           b->now.mono_ms - t->took_mono_ms < ACK_RECENT_MS;
}

/* A short stall makes a target slow for one look. So the first look starts a new average, and a
   second one decides. */
static bool is_slow_again(const struct bridge *b, struct target *t)
{
    int64_t since_ms = b->now.mono_ms - t->looked_mono_ms;
    if (t->looked_mono_ms != 0 && since_ms < ACK_RECENT_MS)
        return since_ms >= LOOK_MS;
    t->looked_mono_ms = b->now.mono_ms;
    t->ack_us = -1;
    return false;
}

/* others: it was compared with another target. If there is none, its times prove little. */
static void judge(struct bridge *b, struct target *t, int64_t fastest_us, bool others)
{
    bool slow = t->ack_us >= SLOW_MS * 1000 && t->ack_us >= SLOW_TIMES * fastest_us;
    bool fast = t->ack_us <= FAST_MS * 1000 || (others && t->ack_us <= FAST_TIMES * fastest_us);
    bool wanted = t->is_slow ? !fast : slow;
    bool stays = t->judged_mono_ms != 0 && b->now.mono_ms - t->judged_mono_ms < STAYS_MS;
    if (!slow)
        t->looked_mono_ms = 0;
    if (wanted == t->is_slow || stays)
        return;
    if (!wanted || is_slow_again(b, t))
        set_slow(b, t, wanted);
}

static void judge_all(struct bridge *b)
{
    int64_t fastest_us = INT64_MAX;
    uint64_t slow_n = 0;
    int recent_n = 0;
    for (size_t i = 0; i < b->targets.n; i++) {
        const struct target *t = &b->targets.all[i];
        if (!is_recent(b, t))
            continue;
        recent_n++;
        fastest_us = t->ack_us < fastest_us ? t->ack_us : fastest_us;
    }
    for (size_t i = 0; i < b->targets.n; i++) {
        if (is_recent(b, &b->targets.all[i]))
            judge(b, &b->targets.all[i], fastest_us, recent_n > 1);
        slow_n += b->targets.all[i].is_slow;
    }
    counter_set(&b->stats->targets_slow, slow_n);
}

void slowness_serve(struct bridge *b)
{
    if (!b->config.exactly_once || b->now.mono_ms - b->targets.slowness_mono_ms < JUDGE_MS)
        return;
    b->targets.slowness_mono_ms = b->now.mono_ms;
    judge_all(b);
}
