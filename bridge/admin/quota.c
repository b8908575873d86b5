/* SPDX-License-Identifier: Apache-2.0 */
/* Each unit costs a span of time. The burst is how far the payments may lie ahead. */
#include "bridge/admin/quota.h"

enum { SECOND_US = 1000000 };

bool quota_take(struct quota *quota, int64_t mono_us)
{
    int64_t cost_us = SECOND_US / quota->per_s;
    int64_t spent_us = quota->spent_mono_us < mono_us ? mono_us : quota->spent_mono_us;
    if (spent_us + cost_us - mono_us > quota->burst * cost_us)
        return false;
    quota->spent_mono_us = spent_us + cost_us;
    return true;
}
