/* SPDX-License-Identifier: Apache-2.0 */
/* Withheld records: the entries that pause and limit targets, and the decision for a due record. */
#include "bridge/core/withhold.h"
#include "bridge/core/bridge.h"
#include "bridge/core/parcel.h"
#include "bridge/core/state.h"
#include "bridge/core/target.h"
#include "bridge/core/target_table.h"

#include <assert.h>

/* Both clocks of struct now are in whole ms, and their ms begin apart. */
enum { CLOCKS_APART_MS = 1 };

int withhold_init(struct bridge *b)
{
    struct control_state *c = &b->control;
    c->is_known = !b->config.control;
    int err = limit_table_init(&c->limits, b->config.limited_max, b->config.hash_seed);
    return controls_init(&c->all) != 0 || err != 0 ? ERR_NO_MEMORY : 0;
}

void withhold_deinit(struct bridge *b)
{
    controls_deinit(&b->control.all);
    limit_table_deinit(&b->control.limits);
}

int bridge_control_put(struct bridge *b, const struct control *control, struct now now)
{
    return controls_put(&b->control.all, control, now.wall_ms);
}

bool bridge_control_has(const struct bridge *b, const struct control *control)
{
    return controls_have(&b->control.all, control);
}

bool bridge_control_has_room(struct bridge *b, struct now now)
{
    return controls_have_room(&b->control.all, now.wall_ms);
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

void withhold_lane_gained(struct bridge *b, const struct lane *lane, bool was_kept)
{
    b->control.lanes_changed |= !was_kept || !lane->was_owned;
}

void withhold_forget_slots(struct bridge *b)
{
    b->control.limits.slots_version++;
}

void withhold_lanes_settled(struct bridge *b)
{
    struct control_state *c = &b->control;
    withhold_forget_slots(b);
    for (int i = 0; i < b->config.lanes; i++) {
        c->lanes_changed |= b->lanes[i].was_owned != b->lanes[i].owned;
        b->lanes[i].was_owned = b->lanes[i].owned;
    }
    c->limits.lanes_version += c->lanes_changed;
    c->lanes_changed = false;
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

void withhold_reconfigured(struct bridge *b)
{
    b->control.all.version++; /* each verdict is found again */
}

static struct verdict decide(const struct bridge *b, struct bytes name)
{
    struct verdict v = controls_decide(&b->control.all, name, b->now.wall_ms);
    const struct target_rule *rule = target_rule(b, name);
    if (v.state == CONTROL_OPEN && rule != NULL && rule->max_rate.records > 0) {
        v.state = CONTROL_LIMITED;
        v.rate = rule->max_rate;
    }
    return v;
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
                     : decide(b, name);
    return &t->verdict;
}

/* Returns NULL if the target has no bucket. */
static struct bucket *bucket_find(const struct bridge *b, const struct target *t)
{
    struct limited *p = limit_table_find(&b->control.limits, bytes_text(t->id.name));
    return p == NULL ? NULL : &p->bucket;
}

/* Returns NULL if too many other targets have one. A limit that was set again starts again.
   Otherwise records would wait behind the slots of records that were sent while there was no
   limit. */
static struct bucket *bucket_of(struct bridge *b, const struct target *t)
{
    struct limit_table *limits = &b->control.limits;
    double per_ms = rate_share(&t->verdict.rate, (int)lanes_owned(b), b->config.lanes);
    struct limited *p = limit_table_get(limits, bytes_text(t->id.name), b->now.mono_ms);
    if (p == NULL)
        return NULL;
    if (p->lanes_version != limits->lanes_version || p->since_wall_ms != t->verdict.since_wall_ms ||
        p->bucket.per_ms != per_ms)
        bucket_start(&p->bucket, per_ms, b->now.mono_ms);
    if (p->slots_version != limits->slots_version)
        bucket_forget_slots(&p->bucket);
    p->slots_version = limits->slots_version;
    p->lanes_version = limits->lanes_version;
    p->since_wall_ms = t->verdict.since_wall_ms;
    return &p->bucket;
}

/* Returns the first ms of the wall clock in which the next slot has come by the monotonic clock. A
   record that is a ms early would go to the end of the line. */
static int64_t slot_wall_ms(const struct bridge *b, const struct bucket *bucket)
{
    return b->now.wall_ms + bucket_wait_ms(bucket, b->now.mono_ms) + CLOCKS_APART_MS;
}

/* Returns when a record comes back, at the latest after its expiry. */
static int64_t back_wall_ms(int64_t at_wall_ms, const struct stamp *stamp)
{
    return at_wall_ms > stamp->expires_ms ? stamp->expires_ms + 1 : at_wall_ms;
}

/* A record that expires before its slot needs none. A target without a bucket is tried again like
   one that is down. */
static int64_t limited_until_ms(struct bridge *b, struct target *t, const struct stamp *stamp)
{
    struct bucket *bucket = bucket_of(b, t);
    bool has_slot = stamp->extras.deferral == DEFERRAL_LIMITED;
    if (bucket == NULL)
        return back_wall_ms(b->now.wall_ms + DOWN_MS, stamp);
    if (bucket_is_open(bucket, has_slot, b->now.mono_ms))
        return 0;
    return back_wall_ms(slot_wall_ms(b, bucket), stamp);
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
    if (bucket_find(b, t) == NULL && !target_is_there(b, t))
        return 0;
    *why = DEFERRAL_LIMITED;
    return limited_until_ms(b, t, stamp);
}

void withhold_put_back(struct bridge *b, struct target *t, const struct stamp *stamp)
{
    if (t->verdict.state != CONTROL_LIMITED)
        return;
    struct bucket *bucket = bucket_find(b, t);
    if (bucket == NULL)
        counter_add(&b->stats->limits_full, 1);
    else if (slot_wall_ms(b, bucket) <= stamp->expires_ms)
        (void)bucket_give_slot(bucket, b->now.mono_ms);
}

/* A record that was put back until its expiry has no slot. The slot of another record may be taken
   back instead, if the slot of this one is void. The tokens still keep the rate. */
void withhold_cancelled(struct bridge *b, const struct parcel *p)
{
    struct envelope env;
    if (!p->withheld || p->until_wall_ms <= b->now.wall_ms)
        return;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    const struct stamp *stamp = &env.stamp;
    if (stamp->extras.deferral != DEFERRAL_LIMITED || p->until_wall_ms > stamp->expires_ms)
        return;
    struct target *t = target_get(b, stamp->target);
    if (t == NULL || verdict_of(b, t)->state != CONTROL_LIMITED)
        return;
    struct bucket *bucket = bucket_find(b, t);
    if (bucket != NULL)
        bucket_return_slot(bucket);
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
    const struct bucket *bucket = bucket_of(b, t);
    return bucket != NULL && slot_wall_ms(b, bucket) < p->until_wall_ms - b->config.ladder.hold_ms;
}

void withhold_sent(struct bridge *b, const struct target *t)
{
    if (t->verdict.state != CONTROL_LIMITED)
        return;
    struct bucket *bucket = bucket_find(b, t);
    assert(bucket != NULL);
    bucket_take(bucket);
}
