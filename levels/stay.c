/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of plan_level: from a level to the remaining times that lead to it. */
#include "levels/stay.h"

/* Returns the next longer level of the ladder, or 0 for the longest and for a retired level. */
static int64_t longer_than(const struct ladder *ladder, int64_t level_ms)
{
    for (int i = 0; i + 1 < ladder->n; i++)
        if (ladder->level_ms[i] == level_ms)
            return ladder->level_ms[i + 1];
    return 0;
}

static int64_t before(int64_t ms, int64_t span_ms)
{
    int64_t difference_ms;
    return __builtin_sub_overflow(ms, span_ms, &difference_ms) ? INT64_MIN : difference_ms;
}

struct stay stay_in(const struct ladder *ladder, int64_t level_ms, int64_t earliest_ms,
                    int64_t latest_ms)
{
    int64_t longer_ms = longer_than(ladder, level_ms);
    return (struct stay){.after_ms = longer_ms == 0
                                         ? STAY_UNBOUNDED
                                         : before(earliest_ms, longer_ms - ladder->slack_ms),
                         .up_to_ms = before(latest_ms, level_ms - ladder->slack_ms)};
}
