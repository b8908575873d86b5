/* SPDX-License-Identifier: Apache-2.0 */
/* spread: the due time of a request with dlb-spread. Requests that are due at one instant get times
   that are spread evenly over the span after it. */
#ifndef DELAYBRIDGE_LEVELS_SPREAD_H
#define DELAYBRIDGE_LEVELS_SPREAD_H

#include "levels/source_hash.h"

/* Returns a time in [due_ms, end), where end is the earlier of due_ms + spread_ms and expires_ms,
   or due_ms if that is empty. Equal parameters give equal times. spread_ms is not negative. */
static inline int64_t spread_choose(int64_t due_ms, int64_t spread_ms, int64_t expires_ms,
                                    uint32_t lane, int64_t offset)
{
    int64_t end_ms;
    if (__builtin_add_overflow(due_ms, spread_ms, &end_ms) || end_ms > expires_ms)
        end_ms = expires_ms;
    if (end_ms <= due_ms)
        return due_ms;
    uint64_t span = (uint64_t)end_ms - (uint64_t)due_ms;
    return due_ms + (int64_t)(source_hash(lane, offset, SOURCE_SPREAD) % span);
}

#endif
