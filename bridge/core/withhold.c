/* SPDX-License-Identifier: Apache-2.0 */
/* Withheld records: the entries that pause and limit targets, and the decision for a due record. */
#include "bridge/core/withhold.h"
#include "bridge/core/bridge.h"
#include "bridge/core/parcel.h"
#include "bridge/core/state.h"
#include "bridge/core/target_table.h"

#include <assert.h>

int withhold_init(struct bridge *b)
{
    b->control.is_known = !b->config.control;
    b->control.lanes_version = 1;
    return controls_init(&b->control.all);
}

void withhold_deinit(struct bridge *b)
{
    controls_deinit(&b->control.all);
}

int bridge_control_put(struct bridge *b, const struct control *control, struct now now)
{
    return controls_put(&b->control.all, control, now.wall_ms);
}

bool bridge_control_remove(struct bridge *b, struct bytes pattern)
{
    return controls_remove(&b->control.all, pattern);
}

void bridge_control_begin(struct bridge *b)
{
    controls_begin(&b->control.all);
}

void bridge_control_known(struct bridge *b)
{
    b->control.is_known = true;
    controls_end(&b->control.all);
}

void withhold_lanes_changed(struct bridge *b)
{
    b->control.lanes_version++;
}

void withhold_serve(struct bridge *b)
{
    struct control_state *c = &b->control;
    if (c->is_known || counter_read(&b->stats->lanes) == 0)
        return;
    if (c->since_mono_ms == 0)
        c->since_mono_ms = b->now.mono_ms;
    int64_t waited_ms = b->now.mono_ms - c->since_mono_ms;
    if (waited_ms < CONTROL_WAIT_MS)
        return;
    c->is_known = true;
    bridge_notice(b, (struct notice){.kind = NOTICE_CONTROL_UNKNOWN, .span_ms = waited_ms});
}

/* The topic of the canary shows whether the bridge delivers, so no pattern matches it. */
static const struct verdict *verdict_of(struct bridge *b, struct target *t)
{
    const struct controls *all = &b->control.all;
    struct bytes name = bytes_text(t->id.name);
    if (t->verdict_version == all->version && b->now.wall_ms >= t->verdict_wall_ms &&
        b->now.wall_ms < t->verdict.valid_wall_ms)
        return &t->verdict;
    t->verdict_version = all->version;
    t->verdict_wall_ms = b->now.wall_ms;
    t->verdict = topic_is_internal(b->config.rules.allowlist.schedule, name)
                     ? (struct verdict){.valid_wall_ms = CONTROL_ENDLESS}
                     : controls_decide(all, name, b->now.wall_ms);
    return &t->verdict;
}

static struct bucket *bucket_of(struct bridge *b, struct target *t, const struct rate *rate)
{
    double per_ms = rate_share(rate, (int)lanes_owned(b), b->config.lanes);
    if (t->bucket_version != b->control.lanes_version || t->bucket.per_ms != per_ms)
        bucket_start(&t->bucket, per_ms, b->now.wall_ms);
    t->bucket_version = b->control.lanes_version;
    return &t->bucket;
}

/* A record that expires before its slot takes none. */
static int64_t limited_until_ms(struct bridge *b, struct target *t, const struct stamp *stamp)
{
    struct bucket *bucket = bucket_of(b, t, &t->verdict.rate);
    bool has_slot = stamp->extras.deferral == DEFERRAL_LIMITED;
    if (bucket_is_open(bucket, has_slot, b->now.wall_ms))
        return 0;
    if (bucket_next_ms(bucket, b->now.wall_ms) > stamp->expires_ms)
        return stamp->expires_ms + 1;
    return bucket_give_slot(bucket, b->now.wall_ms);
}

int64_t withhold_until_ms(struct bridge *b, struct target *t, const struct stamp *stamp,
                          enum deferral *why)
{
    const struct verdict *verdict = verdict_of(b, t);
    switch (verdict->state) {
    case CONTROL_OPEN:
        return 0;
    case CONTROL_PAUSED:
        *why = DEFERRAL_PAUSED;
        return pause_next_try_ms(verdict, stamp->expires_ms, b->now.wall_ms);
    case CONTROL_LIMITED:
        break;
    }
    *why = DEFERRAL_LIMITED;
    return limited_until_ms(b, t, stamp);
}

bool withhold_is_over(struct bridge *b, const struct parcel *p)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    if (env.stamp.due_ms > b->now.wall_ms) /* after a step back of the clock, or a foreign record */
        return false;
    struct target *t = target_get(b, env.stamp.target);
    if (t == NULL)
        return false;
    const struct verdict *verdict = verdict_of(b, t);
    if (verdict->state != CONTROL_LIMITED)
        return verdict->state == CONTROL_OPEN;
    int64_t next_ms = bucket_next_ms(bucket_of(b, t, &verdict->rate), b->now.wall_ms);
    return next_ms < p->until_wall_ms - b->config.ladder.hold_ms;
}

void withhold_sent(struct target *t)
{
    if (t->verdict.state == CONTROL_LIMITED)
        bucket_take(&t->bucket);
}
