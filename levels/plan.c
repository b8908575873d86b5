/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the arithmetic of levels: the next level, the end of a stop, the check of a ladder. */
#include "levels/plan.h"

#include "levels/duration.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 4))) static int
refuse(struct ladder_fault *fault, enum ladder_field field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fault->field = field;
    vsnprintf(fault->why, sizeof fault->why, format, args);
    va_end(args);
    return ERR_CONFIG;
}

static int allowance_check(enum ladder_field field, int64_t ms, struct ladder_fault *fault)
{
    const char *name = field == LADDER_HOLD ? "hold" : "slack";
    char limit[DURATION_TEXT_MAX];
    if (ms < 0)
        return refuse(fault, field, "%s must not be negative", name);
    if (ms > LADDER_MS_MAX)
        return refuse(fault, field, "%s must be at most %s", name,
                      duration_format(LADDER_MS_MAX, limit));
    return 0;
}

static int level_check(const struct ladder *ladder, int i, struct ladder_fault *fault)
{
    char level[DURATION_TEXT_MAX], other[DURATION_TEXT_MAX];
    int64_t level_ms = ladder->level_ms[i];

    if (level_ms <= 0)
        return refuse(fault, LADDER_LEVELS, "level %d of %d must be longer than 0s", i + 1,
                      ladder->n);
    duration_format(level_ms, level);
    if (level_ms > LADDER_MS_MAX)
        return refuse(fault, LADDER_LEVELS, "level %s must be at most %s", level,
                      duration_format(LADDER_MS_MAX, other));
    if (level_ms <= ladder->slack_ms)
        return refuse(fault, LADDER_LEVELS,
                      "level %s is not longer than slack %s: remove the level, or lower slack",
                      level, duration_format(ladder->slack_ms, other));
    if (i == 0 || level_ms > ladder->level_ms[i - 1])
        return 0;
    if (level_ms == ladder->level_ms[i - 1])
        return refuse(fault, LADDER_LEVELS, "level %s is listed twice: remove one", level);
    return refuse(fault, LADDER_LEVELS, "level %s comes after level %s: put the shorter one first",
                  level, duration_format(ladder->level_ms[i - 1], other));
}

int ladder_check(const struct ladder *ladder, struct ladder_fault *fault)
{
    char level[DURATION_TEXT_MAX], hold[DURATION_TEXT_MAX];
    char slack[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];

    if (ladder->n < 1)
        return refuse(fault, LADDER_LEVELS, "the list is empty: add at least one level");
    if (ladder->n > LADDER_MAX)
        return refuse(fault, LADDER_LEVELS, "%d levels are too many: at most %d are allowed",
                      ladder->n, LADDER_MAX);
    int err = allowance_check(LADDER_HOLD, ladder->hold_ms, fault);
    if (!err)
        err = allowance_check(LADDER_SLACK, ladder->slack_ms, fault);
    for (int i = 0; !err && i < ladder->n; i++)
        err = level_check(ladder, i, fault);
    if (err)
        return err;

    int64_t most_ms = ladder->hold_ms + ladder->slack_ms;
    if (ladder->level_ms[0] <= most_ms)
        return 0;
    duration_format(ladder->level_ms[0], level);
    duration_format(ladder->hold_ms, hold);
    duration_format(ladder->slack_ms, slack);
    duration_format(most_ms, most);
    if (ladder->hold_ms == 0) /* No level can be added: it would have to be longer than slack. */
        return refuse(fault, LADDER_LEVELS,
                      "the smallest level %s is more than hold %s + slack %s: raise hold", level,
                      hold, slack);
    return refuse(fault, LADDER_LEVELS,
                  "the smallest level %s is more than hold %s + slack %s: "
                  "add a level of at most %s, or raise hold",
                  level, hold, slack, most);
}

int64_t plan_lookahead_ms(const struct ladder *ladder)
{
    return ladder->slack_ms + ladder->hold_ms + PLAN_MARGIN_MS;
}

int plan_level(const struct ladder *ladder, int64_t remaining_ms)
{
    if (remaining_ms <= ladder->hold_ms)
        return PLAN_HOLD;
    for (int i = ladder->n - 1; i > 0; i--)
        if (remaining_ms >= ladder->level_ms[i] - ladder->slack_ms)
            return i;
    return 0;
}

/* Returns how often in a row plan_level returns i, when no level above i fits rest_ms. Each stop
   needs least_ms, so one division replaces a loop of thousands of steps. */
static int64_t stops_at(const struct ladder *ladder, int i, int64_t rest_ms)
{
    int64_t level_ms = ladder->level_ms[i];
    int64_t least_ms = level_ms - ladder->slack_ms;
    if (least_ms <= ladder->hold_ms)
        least_ms = ladder->hold_ms + 1;
    return rest_ms < least_ms ? 0 : (rest_ms - least_ms) / level_ms + 1;
}

/* Subtracts with saturation, because times of foreign records may have any value. */
static int64_t subtract(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

int64_t plan_release_ms(const struct ladder *ladder, int64_t level_ms, int64_t stamped_ms,
                        int64_t until_ms)
{
    int64_t rest_ms = subtract(subtract(until_ms, stamped_ms), level_ms);
    int64_t release_ms = until_ms;
    for (int i = ladder->n - 1; i >= 0 && rest_ms > ladder->hold_ms; i--) {
        int64_t stop_ms = stops_at(ladder, i, rest_ms) * ladder->level_ms[i];
        rest_ms -= stop_ms;
        release_ms = subtract(release_ms, stop_ms);
    }
    return release_ms;
}

int plan_chain(const struct ladder *ladder, int64_t delay_ms, int *out, int out_n)
{
    int64_t hops = 0;
    for (int i = ladder->n - 1; i >= 0 && delay_ms > ladder->hold_ms; i--) {
        int64_t stops = stops_at(ladder, i, delay_ms);
        for (int64_t s = 0; s < stops && hops + s < out_n; s++)
            out[hops + s] = i;
        delay_ms -= stops * ladder->level_ms[i];
        hops += stops;
    }
    return hops > INT_MAX ? INT_MAX : (int)hops;
}
