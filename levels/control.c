/* SPDX-License-Identifier: Apache-2.0 */
/* control: the entries in force, and the decision for a target. */
#include "levels/control.h"

#include "levels/allowlist.h"

#include <stdlib.h>

int controls_init(struct controls *c)
{
    *c = (struct controls){.version = 1};
    c->all = malloc(CONTROLS_MAX * sizeof *c->all);
    return c->all == NULL ? ERR_NO_MEMORY : 0;
}

void controls_deinit(struct controls *c)
{
    free(c->all);
    *c = (struct controls){0};
}

static struct control *find(const struct controls *c, struct bytes pattern)
{
    for (size_t i = 0; i < c->n; i++)
        if (bytes_equal(bytes_text(c->all[i].pattern), pattern))
            return &c->all[i];
    return NULL;
}

static void drop(struct controls *c, struct control *control)
{
    *control = c->all[--c->n];
    c->version++;
}

static void drop_ended(struct controls *c, int64_t now_wall_ms)
{
    for (size_t i = c->n; i > 0; i--)
        if (c->all[i - 1].until_wall_ms <= now_wall_ms)
            drop(c, &c->all[i - 1]);
}

/* During a reading, entries of the topic before it give way to those of the new one. */
static void make_room(struct controls *c, int64_t now_wall_ms)
{
    drop_ended(c, now_wall_ms);
    for (size_t i = 0; c->n == CONTROLS_MAX && i < c->n; i++)
        if (c->all[i].is_old)
            drop(c, &c->all[i]);
}

int controls_put(struct controls *c, const struct control *control, int64_t now_wall_ms)
{
    struct control *same = find(c, bytes_text(control->pattern));
    if (same == NULL && c->n == CONTROLS_MAX)
        make_room(c, now_wall_ms);
    if (same == NULL && c->n == CONTROLS_MAX)
        return ERR_FULL;
    if (same == NULL)
        same = &c->all[c->n++];
    *same = *control;
    same->is_old = false;
    c->version++;
    return 0;
}

bool controls_have_room(struct controls *c, int64_t now_wall_ms)
{
    drop_ended(c, now_wall_ms);
    return c->n < CONTROLS_MAX;
}

bool controls_have(const struct controls *c, const struct control *control)
{
    const struct control *same = find(c, bytes_text(control->pattern));
    return same != NULL && same->op == control->op && same->at_wall_ms == control->at_wall_ms &&
           same->until_wall_ms == control->until_wall_ms &&
           same->rate.records == control->rate.records &&
           same->rate.unit_ms == control->rate.unit_ms;
}

void controls_begin(struct controls *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->all[i].is_old = true;
}

void controls_end(struct controls *c)
{
    for (size_t i = c->n; i > 0; i--)
        if (c->all[i - 1].is_old)
            drop(c, &c->all[i - 1]);
}

bool controls_remove(struct controls *c, struct bytes pattern)
{
    struct control *same = find(c, pattern);
    if (same == NULL)
        return false;
    drop(c, same);
    return true;
}

static void add_pause(struct verdict *v, const struct control *pause)
{
    bool first = v->state != CONTROL_PAUSED;
    v->state = CONTROL_PAUSED;
    if (first || pause->at_wall_ms < v->since_wall_ms)
        v->since_wall_ms = pause->at_wall_ms;
    if (first || pause->until_wall_ms > v->ends_wall_ms)
        v->ends_wall_ms = pause->until_wall_ms;
}

static bool is_nearer(const struct control *limit, const struct control *than)
{
    if (than == NULL)
        return true;
    size_t literal = strcspn(limit->pattern, "*"), other = strcspn(than->pattern, "*");
    return literal != other ? literal > other : limit->at_wall_ms >= than->at_wall_ms;
}

struct verdict controls_decide(const struct controls *c, struct bytes target, int64_t now_wall_ms)
{
    struct verdict v = {.state = CONTROL_OPEN, .valid_wall_ms = CONTROL_ENDLESS};
    const struct control *limit = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const struct control *control = &c->all[i];
        if (control->until_wall_ms <= now_wall_ms ||
            !allowlist_pattern_matches(control->pattern, target))
            continue;
        if (control->until_wall_ms < v.valid_wall_ms)
            v.valid_wall_ms = control->until_wall_ms;
        if (control->op == CONTROL_PAUSE)
            add_pause(&v, control);
        else if (is_nearer(control, limit))
            limit = control;
    }
    if (v.state == CONTROL_OPEN && limit != NULL) {
        v.state = CONTROL_LIMITED;
        v.rate = limit->rate;
        v.since_wall_ms = limit->at_wall_ms;
    }
    return v;
}

static int64_t limit_of(const struct controls *c, const char *target, int64_t now_wall_ms)
{
    struct verdict v = controls_decide(c, bytes_text(target), now_wall_ms);
    return v.state == CONTROL_LIMITED ? rate_per_minute(&v.rate) : 0;
}

int64_t controls_limit_per_minute(const struct controls *c, const char *pattern,
                                  int64_t now_wall_ms)
{
    int64_t least = 0;
    if (strchr(pattern, '*') == NULL)
        return limit_of(c, pattern, now_wall_ms);
    for (size_t i = 0; i < c->n; i++) {
        const struct control *control = &c->all[i];
        if (control->op != CONTROL_LIMIT || control->until_wall_ms <= now_wall_ms ||
            !allowlist_patterns_overlap(control->pattern, pattern))
            continue;
        int64_t rate = rate_per_minute(&control->rate);
        least = least == 0 || rate < least ? rate : least;
    }
    return least;
}

enum control_share controls_paused(const struct controls *c, const char *pattern,
                                   int64_t now_wall_ms)
{
    enum control_share share = CONTROL_NONE;
    for (size_t i = 0; i < c->n; i++) {
        const struct control *control = &c->all[i];
        if (control->op != CONTROL_PAUSE || control->until_wall_ms <= now_wall_ms)
            continue;
        if (allowlist_pattern_matches(control->pattern, bytes_text(pattern)))
            return CONTROL_ALL;
        if (allowlist_patterns_overlap(control->pattern, pattern))
            share = CONTROL_SOME;
    }
    return share;
}

int64_t pause_wait_ms(int64_t paused_ms)
{
    int64_t wait_ms = paused_ms / 4;
    return wait_ms < PAUSE_WAIT_MIN_MS   ? PAUSE_WAIT_MIN_MS
           : wait_ms > PAUSE_WAIT_MAX_MS ? PAUSE_WAIT_MAX_MS
                                         : wait_ms;
}

int64_t pause_next_try_ms(const struct verdict *verdict, int64_t expires_ms, int64_t now_wall_ms)
{
    int64_t at_ms = now_wall_ms + pause_wait_ms(now_wall_ms - verdict->since_wall_ms);
    if (verdict->ends_wall_ms < at_ms)
        at_ms = verdict->ends_wall_ms;
    return expires_ms < at_ms ? expires_ms + 1 : at_ms;
}
