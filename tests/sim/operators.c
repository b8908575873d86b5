/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that pause and limit targets, and the oracle of their acts. */
#include "tests/sim/operators.h"

enum { BUCKET_MS = 1000, BUCKET_LATE_MS = 100 };
#define ALMOST 1e-3 /* of a record, for sums of fractions */

/* A record that a process sent to a target, and the one before. */
struct pass {
    struct pass *before;
    int64_t mono_ms;
};

static bool matches(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return matches(pattern + 1, name) || (*name != '\0' && matches(pattern, name + 1));
    return *pattern == *name && (*name == '\0' || matches(pattern + 1, name + 1));
}

/* Returns the last of the first n acts with this pattern. */
static const struct act *last_of(const struct world *w, int n, const char *pattern)
{
    const struct act *last = NULL;
    for (const struct act *a = w->acts; n > 0; a = a->next, n--)
        if (strcmp(a->pattern, pattern) == 0)
            last = a;
    return last;
}

static size_t literal(const char *pattern)
{
    return strcspn(pattern, "*");
}

/* Returns the entry that decides about a target, among the first n acts. NULL: none. */
static const struct act *deciding(const struct world *w, int n, const char *target, int64_t now_ms)
{
    const struct act *limit = NULL;
    int left = n;
    for (const struct act *a = w->acts; left > 0; a = a->next, left--) {
        if (a->kind == ACT_REMOVE || a != last_of(w, n, a->pattern) || a->until_ms <= now_ms ||
            !matches(a->pattern, target))
            continue;
        if (a->kind == ACT_PAUSE)
            return a;
        if (limit == NULL || literal(a->pattern) >= literal(limit->pattern))
            limit = a;
    }
    bool configured = limit == NULL && w->max_rate != NULL && matches(w->max_rate->pattern, target);
    return configured ? w->max_rate : limit;
}

static void reset_paces(struct process *p)
{
    memset(p->paces, 0, sizeof p->paces);
}

static void pass_on(struct process *p, const struct act *a)
{
    struct world *w = p->world;
    if (a->kind == ACT_REMOVE) {
        bridge_control_remove(p->bridge, bytes_text(a->pattern));
        return;
    }
    struct control control = {.op = a->kind == ACT_PAUSE ? CONTROL_PAUSE : CONTROL_LIMIT,
                              .rate = {a->records, a->unit_ms},
                              .at_wall_ms = EPOCH_MS + a->at_ms,
                              .until_wall_ms =
                                  a->until_ms == INT64_MAX ? INT64_MAX : EPOCH_MS + a->until_ms};
    strcpy(control.pattern, a->pattern);
    if (bridge_control_put(p->bridge, &control, p->now) != 0)
        world_fail(w, "p%d has no room for an entry", p->id);
}

static void read_topic(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    (void)n;
    if (w->knobs.hold_control || p->stalled) {
        world_at(w, w->now_ms + 100, p, read_topic, NULL, 0);
        return;
    }
    process_before(p);
    const struct act *a = w->acts;
    for (int i = 0; i < w->acts_n; i++, a = a->next)
        if (i >= p->acts_read)
            pass_on(p, a);
    if (p->acts_read < w->acts_n)
        reset_paces(p);
    p->acts_read = w->acts_n;
    p->control_known = true;
    bridge_control_known(p->bridge);
    if (process_after(p))
        process_turn_by(p, w->now_ms);
}

void operators_process_starts(struct process *p)
{
    struct world *w = p->world;
    p->acts_read = 0;
    if (w->setup.control)
        world_at(w, w->now_ms + world_delay(w, w->knobs.fetch_ms), p, read_topic, NULL, 0);
}

void operators_lanes_changed(struct process *p)
{
    reset_paces(p);
}

static void act(struct world *w, struct act act)
{
    struct act *a = arena_take(&w->arena, sizeof *a);
    *a = act;
    a->at_ms = w->now_ms;
    struct act **end = &w->acts;
    while (*end != NULL)
        end = &(*end)->next;
    *end = a;
    w->acts_n++;
    trace(w, NULL, "operator: %s %s",
          a->kind == ACT_PAUSE   ? "pause"
          : a->kind == ACT_LIMIT ? "limit"
                                 : "remove",
          a->pattern);
    for (int id = 0; id < w->setup.processes; id++)
        if (w->processes[id].up)
            world_at(w, w->now_ms + world_delay(w, w->knobs.fetch_ms), &w->processes[id],
                     read_topic, NULL, 0);
}

void operators_pause(struct world *w, const char *pattern, int64_t for_ms)
{
    act(w, (struct act){.pattern = pattern,
                        .kind = ACT_PAUSE,
                        .until_ms = for_ms == 0 ? INT64_MAX : w->now_ms + for_ms});
}

void operators_configure(struct world *w, const char *pattern, int records, int unit_ms)
{
    struct act *act = arena_take(&w->arena, sizeof *act);
    *act =
        (struct act){.pattern = pattern, .kind = ACT_LIMIT, .records = records, .unit_ms = unit_ms};
    w->max_rate = act;
}

const struct target_rule *operators_rules(struct world *w)
{
    const struct allowlist *list = &w->rules.allowlist;
    const struct act *max = w->max_rate;
    if (max == NULL)
        return NULL;
    for (size_t i = 0; i < list->patterns_n; i++)
        if (strcmp(list->patterns[i], max->pattern) == 0)
            w->target_rules[i].max_rate = (struct rate){max->records, max->unit_ms};
    return w->target_rules;
}

void operators_limit(struct world *w, const char *pattern, int records, int unit_ms)
{
    act(w, (struct act){.pattern = pattern,
                        .kind = ACT_LIMIT,
                        .records = records,
                        .unit_ms = unit_ms,
                        .until_ms = INT64_MAX});
}

void operators_remove(struct world *w, const char *pattern)
{
    act(w, (struct act){.pattern = pattern, .kind = ACT_REMOVE});
}

static const char *const patterns[] = {"orders.timeout", "payments.*", "payments.a", "*"};
enum { PATTERNS_N = sizeof patterns / sizeof patterns[0] };

void operators_random(struct world *w)
{
    struct rng *rng = &w->control_rng;
    const char *pattern = patterns[rng_int(rng, 0, PATTERNS_N - 1)];
    int kind = rng_int(rng, 0, 9);
    if (kind < 4)
        operators_pause(w, pattern, rng_chance(rng, 5000) ? rng_between(rng, 1, 30000) : 0);
    else if (kind < 7)
        operators_limit(w, pattern, rng_int(rng, 1, 1 << rng_int(rng, 1, 8)), 1000);
    else
        operators_remove(w, pattern);
}

void operators_end(struct world *w)
{
    for (int i = 0; i < PATTERNS_N && w->acts_n > 0; i++)
        operators_remove(w, patterns[i]);
}

static int target_index(const struct world *w, const char *name)
{
    int i = 0;
    while (strcmp(w->targets[i].name, name) != 0)
        i++;
    return i;
}

static double share_per_ms(const struct process *p, const struct act *limit)
{
    int owned = 0;
    for (int lane = 0; lane < p->world->setup.lanes; lane++)
        owned += p->lanes[lane].owned;
    return (double)limit->records / limit->unit_ms * owned / p->world->setup.lanes;
}

/* Returns the records that may be sent at once after idle time. These are the records of a second,
   or one and those of a tenth of a second. */
static double burst(double per_ms)
{
    double second = per_ms * BUCKET_MS, one = 1 + per_ms * BUCKET_LATE_MS;
    return second > one ? second : one;
}

/* Counts the records in each span that ends now. */
static void check_pace(struct process *p, const char *name, const struct act *limit)
{
    struct world *w = p->world;
    struct pace *pace = &p->paces[target_index(w, name)];
    double per_ms = share_per_ms(p, limit);
    int64_t now_ms = p->now.mono_ms;
    if (pace->limit != limit)
        *pace = (struct pace){.limit = limit};
    struct pass *pass = arena_take(&w->arena, sizeof *pass);
    *pass = (struct pass){.before = pace->last, .mono_ms = now_ms};
    pace->last = pass;
    int n = 0;
    for (const struct pass *from = pass; from != NULL; from = from->before) {
        n++;
        if (n > per_ms * (double)(now_ms - from->mono_ms) + burst(per_ms) + ALMOST)
            world_fail(w, "p%d sends %d records to %s within %lld ms, above its limit", p->id, n,
                       name, (long long)(now_ms - from->mono_ms));
    }
}

void operators_check_delivery(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const char *name = f->request->target;
    const struct act *a = deciding(w, p->acts_read, name, p->now.wall_ms - EPOCH_MS);
    if (w->setup.control && !p->control_known && w->notices[NOTICE_CONTROL_UNKNOWN] == 0)
        world_fail(w, "p%d delivers before it has read the topic of control", p->id);
    if (a != NULL && a->kind == ACT_PAUSE)
        world_fail(w, "p%d delivers to %s, which is paused", p->id, name);
    if (a != NULL)
        check_pace(p, name, a);
}

/* A withheld record keeps its attempts, which check_stamp compares with those that failed. */
void operators_check_hop(struct process *p, const struct forwarded *f, const struct stamp *stamp)
{
    struct world *w = p->world;
    bool paused = stamp->extras.deferral == DEFERRAL_PAUSED;
    bool known =
        !paused && w->max_rate != NULL && matches(w->max_rate->pattern, f->request->target);
    if (!paused && stamp->extras.deferral != DEFERRAL_LIMITED)
        return;
    for (const struct act *a = w->acts; a != NULL; a = a->next)
        known |=
            matches(a->pattern, f->request->target) && a->kind == (paused ? ACT_PAUSE : ACT_LIMIT);
    if (!known)
        world_fail(w, "p%d withholds a record of %s without an act of an operator", p->id,
                   f->request->target);
    if (f->request->expires_ms != INT64_MAX && stamp->next_try_ms > f->request->expires_ms + 1)
        world_fail(w, "p%d withholds a record beyond its expiry", p->id);
    if (paused && stamp->next_try_ms > p->clock.wall_ms + 600000 + 2 * w->skew_ms_max)
        world_fail(w, "p%d withholds a record of a paused target for too long", p->id);
}

/* A paused record waits a quarter of the pause, and one of a limited target behind all others. */
int64_t operators_patience_ms(const struct world *w)
{
    int64_t ms = 0;
    for (const struct act *a = w->acts; a != NULL; a = a->next) {
        if (a->kind == ACT_PAUSE)
            ms = later_of(ms, (w->now_ms - a->at_ms) / 4 + 5000);
        else if (a->kind == ACT_LIMIT)
            ms =
                later_of(ms, (int64_t)w->requests_n * 2 * w->setup.lanes * a->unit_ms / a->records);
    }
    return ms;
}
