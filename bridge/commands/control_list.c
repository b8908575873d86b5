/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of S.control that are in force, and the wait after one of them. */
#include "bridge/commands/control_list.h"

#include "levels/allowlist.h"

enum { MARGIN_MS = 2000 };

size_t control_count(const struct control_list *list, int64_t now_wall_ms)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->all[i].control.until_wall_ms > now_wall_ms;
    return n;
}

void control_list_drop_ended(struct control_list *list, int64_t now_wall_ms)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->all[i].control.until_wall_ms > now_wall_ms)
            list->all[n++] = list->all[i];
    list->n = n;
}

enum control_share control_list_paused(const struct control_list *list, const char *pattern)
{
    enum control_share share = CONTROL_NONE;
    for (size_t i = 0; i < list->n; i++) {
        const struct control *c = &list->all[i].control;
        if (c->op != CONTROL_PAUSE)
            continue;
        if (allowlist_pattern_matches(c->pattern, bytes_text(pattern)))
            return CONTROL_ALL;
        if (allowlist_patterns_overlap(c->pattern, pattern))
            share = CONTROL_SOME;
    }
    return share;
}

/* Returns whether records of a target that an entry matched may still wait because of this one. */
static bool may_delay(const struct control *other, const struct control *was, int64_t now_wall_ms)
{
    return other->op == CONTROL_PAUSE && other->until_wall_ms > now_wall_ms - PAUSE_WAIT_MAX_MS &&
           allowlist_patterns_overlap(other->pattern, was->pattern);
}

/* A record waits for a quarter of the oldest pause that matched its target at its last try. That
   may be a pause of another pattern, and one that ended within the longest wait. */
static int64_t oldest_pause_ms(const struct control_list *list, const struct control *was,
                               int64_t now_wall_ms)
{
    int64_t at_ms = was->at_wall_ms;
    for (size_t i = 0; i < list->n + list->past_n; i++) {
        const struct control *other =
            i < list->n ? &list->all[i].control : &list->past[i - list->n].control;
        if (other->at_wall_ms < at_ms && may_delay(other, was, now_wall_ms))
            at_ms = other->at_wall_ms;
    }
    return at_ms;
}

/* A record checks its target at each hop, so it waits for the longest level at most. */
int64_t control_wait_ms(const struct control_list *list, const struct control_record *removed,
                        int64_t longest_ms, int64_t now_wall_ms)
{
    const struct control *was = &removed->control;
    int64_t wait_ms = longest_ms;
    if (was->op == CONTROL_PAUSE)
        wait_ms = pause_wait_ms(now_wall_ms - oldest_pause_ms(list, was, now_wall_ms));
    return (wait_ms < longest_ms ? wait_ms : longest_ms) + MARGIN_MS;
}
