/* SPDX-License-Identifier: Apache-2.0 */
/* The ends that were not reached, oldest first. */
#include "levels/lag.h"

#include <stdbool.h>

enum { LAG_SHARE = 8 };

static void keep_from(struct lag *lag, int first, int step)
{
    int n = 0;
    for (int i = first; i < lag->n; i += step, n++) {
        lag->end_offset[n] = lag->end_offset[i];
        lag->seen_mono_ms[n] = lag->seen_mono_ms[i];
    }
    lag->n = n;
}

static void drop_reached(struct lag *lag, int64_t next_offset)
{
    int reached = 0;
    while (reached < lag->n && lag->end_offset[reached] <= next_offset)
        reached++;
    keep_from(lag, reached, 1);
}

/* Ends that are spaced by a share of the lag are enough. */
static bool is_wanted(const struct lag *lag, int64_t end_offset, int64_t now_mono_ms)
{
    if (lag->n == 0)
        return true;
    int64_t newest_mono_ms = lag->seen_mono_ms[lag->n - 1];
    return end_offset > lag->end_offset[lag->n - 1] &&
           (now_mono_ms - newest_mono_ms) * LAG_SHARE >= now_mono_ms - lag->seen_mono_ms[0];
}

/* A log that was truncated has a smaller end than before, and all of its records may be read. */
int64_t lag_ms(struct lag *lag, int64_t next_offset, int64_t end_offset, int64_t now_mono_ms)
{
    drop_reached(lag, next_offset < end_offset ? next_offset : INT64_MAX);
    if (next_offset < end_offset && is_wanted(lag, end_offset, now_mono_ms)) {
        if (lag->n == LAG_ENDS_MAX)
            keep_from(lag, 0, 2);
        lag->end_offset[lag->n] = end_offset;
        lag->seen_mono_ms[lag->n++] = now_mono_ms;
    }
    return lag->n == 0 ? 0 : now_mono_ms - lag->seen_mono_ms[0];
}
