/* SPDX-License-Identifier: Apache-2.0 */
/* The survey: writes gauges. Reads all structures, and changes only the lags of the lanes. */
#include "bridge/core/bridge.h"
#include "bridge/core/outlet.h"
#include "bridge/core/restore.h"
#include "bridge/core/state.h"
#include "bridge/core/withhold.h"

enum { OVERDUE_MS = 1000 };

struct standing {
    uint64_t reading, paused, blocked, pending, unread, redelivering, withheld;
    int64_t head_wall_ms;             /* 0: none */
    int64_t redelivering_due_wall_ms; /* 0: none */
};

static void note_earlier(int64_t *first_wall_ms, int64_t at_wall_ms)
{
    if (*first_wall_ms == 0 || at_wall_ms < *first_wall_ms)
        *first_wall_ms = at_wall_ms < 1 ? 1 : at_wall_ms;
}

static void note_head(struct standing *s, int64_t at_wall_ms)
{
    note_earlier(&s->head_wall_ms, at_wall_ms);
}

/* Returns whether the release of the queue's head is known. The head waits, or it is read again
   after a pause, or the queue is blocked. */
static bool has_head(const struct queue *q)
{
    bool silent = q->silent_since_mono_ms != 0 && q->window.next == q->paused_offset;
    bool waits = q->state == QUEUE_PAUSED || silent || (q->head != NULL && q->head_fault == 0);
    return q->state == QUEUE_BLOCKED || (waits && q->id.slot != SLOT_SCHEDULE);
}

static void survey_queue(const struct bridge *b, const struct queue *q, struct standing *s)
{
    if (q->state == QUEUE_OFF)
        return;
    s->reading += q->state == QUEUE_OPEN;
    s->paused += q->state == QUEUE_PAUSED;
    s->blocked += q->state == QUEUE_BLOCKED;
    int64_t end = b->port.end(b->port.ctx, q->id), pending = window_pending(&q->window, end);
    s->pending += (uint64_t)pending;
    if (q->id.slot == SLOT_SCHEDULE && end > q->window.next)
        s->unread += (uint64_t)(pending - window_pending(&q->window, q->window.next));
    s->redelivering += q->redelivering;
    s->withheld += q->withheld;
    if (!has_head(q))
        return;
    note_head(s, q->head_release_wall_ms);
    if (q->state != QUEUE_BLOCKED && q->head_overdue_wall_ms != 0)
        note_earlier(&s->redelivering_due_wall_ms, q->head_overdue_wall_ms);
}

/* A parcel counts as the head of its queue if it is overdue, because its target or its topic does
   not accept it. A request that was written after its due time is overdue since its timestamp. */
static void survey_parcel(const struct bridge *b, const struct parcel *p, struct standing *slots)
{
    if (p->state == PARCEL_FREE || p->ownership != OWNED || p->raw)
        return;
    struct standing *s = &slots[p->queue->id.slot];
    bool redelivering = p->overdue_wall_ms != 0 && p->dead_letter == NULL;
    s->redelivering += redelivering;
    s->withheld += p->withheld && p->dead_letter == NULL;
    if (redelivering)
        note_earlier(&s->redelivering_due_wall_ms, p->overdue_wall_ms);
    if (s->head_wall_ms != 0 && p->until_wall_ms >= s->head_wall_ms)
        return; /* not the first */
    if (p->until_wall_ms > b->now.wall_ms - OVERDUE_MS)
        return;
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    int64_t since_wall_ms =
        env.stamp.timestamp_ms > p->until_wall_ms ? env.stamp.timestamp_ms : p->until_wall_ms;
    if (since_wall_ms <= b->now.wall_ms - OVERDUE_MS)
        note_head(s, since_wall_ms);
}

static void publish(const struct standing *s, struct slot_stats *slot)
{
    counter_set(&slot->reading, s->reading);
    counter_set(&slot->paused, s->paused);
    counter_set(&slot->blocked, s->blocked);
    counter_set(&slot->pending, s->pending);
    counter_set(&slot->head_deadline_wall_ms, (uint64_t)s->head_wall_ms);
    counter_set(&slot->redelivering, s->redelivering);
    counter_set(&slot->withheld, s->withheld);
    counter_set(&slot->redelivering_due_wall_ms, (uint64_t)s->redelivering_due_wall_ms);
}

/* Returns whether requests may wait to be read. If the client has none, and none was read since the
   last survey, there are none. The rest of the log belongs to transactions. */
static bool may_have_unread(struct bridge *b, const struct queue *q)
{
    struct lane *lane = &b->lanes[q->id.lane];
    bool advanced = q->window.next != lane->surveyed_offset;
    lane->surveyed_offset = q->window.next;
    return advanced || q->state != QUEUE_OPEN || q->head != NULL ||
           restore_is_under_way(b, q->id.lane) || withhold_awaits_control(b) ||
           outlets_stop_intake(b, q->id.lane) || b->port.unread(b->port.ctx, q->id) > 0;
}

/* Returns for how long requests of a lane have waited to be read. */
static int64_t survey_lag(struct bridge *b, int lane)
{
    const struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
    struct lag *lag = &b->lanes[lane].lag;
    if (q->state == QUEUE_OFF || q->window.base == WINDOW_UNSET) {
        *lag = (struct lag){0};
        return 0;
    }
    int64_t end = may_have_unread(b, q) ? b->port.end(b->port.ctx, q->id) : q->window.next;
    return lag_ms(lag, q->window.next, end, b->now.mono_ms);
}

static void survey_lags(struct bridge *b)
{
    int64_t longest_ms = 0;
    for (int lane = 0; lane < b->config.lanes; lane++) {
        int64_t late_ms = survey_lag(b, lane);
        longest_ms = late_ms > longest_ms ? late_ms : longest_ms;
    }
    counter_set(&b->stats->schedule_lag_ms, (uint64_t)longest_ms);
}

/* Returns the lowest rate that limits a target of this entry, in records a minute. 0: none. */
static uint64_t limit_of_entry(const struct bridge *b, size_t i)
{
    const struct target_rule *rules = b->config.target_rules;
    int64_t rate = controls_limit_per_minute(&b->control.all, b->config.rules.allowlist.patterns[i],
                                             b->now.wall_ms);
    if (rate == 0 && rules != NULL && rules[i].max_rate.records > 0)
        rate = rate_per_minute(&rules[i].max_rate);
    return (uint64_t)rate;
}

/* Returns whether the matches of the last survey still count. To match a thousand entries with a
   thousand targets takes tens of milliseconds. */
static bool matches_are_valid(const struct bridge *b)
{
    const struct control_state *c = &b->control;
    return c->surveyed.version == c->all.version && b->now.wall_ms >= c->surveyed.at_wall_ms &&
           b->now.wall_ms < c->surveyed.ends_wall_ms;
}

static void note_surveyed(struct bridge *b)
{
    struct control_state *c = &b->control;
    c->surveyed.version = c->all.version;
    c->surveyed.at_wall_ms = b->now.wall_ms;
    c->surveyed.ends_wall_ms = CONTROL_ENDLESS;
    for (size_t i = 0; i < c->all.n; i++) {
        int64_t until_wall_ms = c->all.all[i].until_wall_ms;
        if (until_wall_ms > b->now.wall_ms && until_wall_ms < c->surveyed.ends_wall_ms)
            c->surveyed.ends_wall_ms = until_wall_ms;
    }
}

/* Entries of `targets` may share a label. */
static void survey_entries(struct bridge *b)
{
    const struct allowlist *targets = &b->config.rules.allowlist;
    const struct controls *all = &b->control.all;
    uint64_t least[TARGET_LABELS] = {0}, paused[TARGET_LABELS] = {0};
    bool any = all->n > 0 || b->config.target_rules != NULL;
    for (size_t i = 0; any && i < targets->patterns_n; i++) {
        const char *pattern = targets->patterns[i];
        int label = i < TARGET_LABELS ? b->config.target_labels[i] : LABEL_OTHER;
        uint64_t rate = limit_of_entry(b, i);
        uint64_t share = controls_paused(all, pattern, b->now.wall_ms);
        if (rate > 0 && (least[label] == 0 || rate < least[label]))
            least[label] = rate;
        if (share > paused[label])
            paused[label] = share;
    }
    for (int label = 0; label < TARGET_LABELS; label++) {
        counter_set(&b->stats->targets[label].limit_per_minute, least[label]);
        counter_set(&b->stats->targets[label].pause, paused[label]);
    }
}

static void survey_targets(struct bridge *b)
{
    uint64_t topics[TARGET_LABELS] = {0}, failing[TARGET_LABELS] = {0}, slow[TARGET_LABELS] = {0};
    for (size_t i = 0; i < b->targets.n; i++) {
        const struct target *t = &b->targets.all[i];
        topics[t->label]++;
        failing[t->label] += t->failed;
        slow[t->label] += t->is_slow;
    }
    for (int label = 0; label < TARGET_LABELS; label++) {
        counter_set(&b->stats->targets[label].topics, topics[label]);
        counter_set(&b->stats->targets[label].failing, failing[label]);
        counter_set(&b->stats->targets[label].slow, slow[label]);
    }
}

static void survey_control(struct bridge *b)
{
    const struct controls *all = &b->control.all;
    uint64_t n[] = {[CONTROL_PAUSE] = 0, [CONTROL_LIMIT] = 0};
    int64_t oldest_wall_ms = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct control *control = &all->all[i];
        if (control->until_wall_ms <= b->now.wall_ms)
            continue;
        n[control->op]++;
        if (control->op == CONTROL_PAUSE)
            note_earlier(&oldest_wall_ms, control->at_wall_ms);
    }
    counter_set(&b->stats->pauses, n[CONTROL_PAUSE]);
    counter_set(&b->stats->limits, n[CONTROL_LIMIT]);
    counter_set(&b->stats->oldest_pause_wall_ms, (uint64_t)oldest_wall_ms);
    if (matches_are_valid(b))
        return;
    survey_entries(b);
    note_surveyed(b);
}

void bridge_survey(struct bridge *b, struct now now)
{
    struct standing slots[SLOTS_MAX] = {0};
    b->now = now;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++)
        survey_queue(b, &b->queues[i], &slots[b->queues[i].id.slot]);
    for (size_t i = 0; counter_read(&b->stats->buffered_records) > 0 && i < b->pools.parcels_high;
         i++)
        survey_parcel(b, &b->pools.parcels[i], slots);
    for (int slot = 0; slot < b->queues_per_lane; slot++)
        publish(&slots[slot], &b->stats->slots[slot]);
    counter_set(&b->stats->schedule_unread, slots[SLOT_SCHEDULE].unread);
    survey_lags(b);
    survey_control(b);
    survey_targets(b);
}
