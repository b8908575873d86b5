/* SPDX-License-Identifier: Apache-2.0 */
/* quota: limits a rate, with a burst. The caller guards it and passes the time. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_QUOTA_H
#define DELAYBRIDGE_BRIDGE_ADMIN_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct quota {
    int per_s, burst;
    int64_t spent_mono_us; /* the time at which all that was taken is paid for */
};

/* Takes one. Returns false if the rate and its burst are exceeded; then nothing is taken. */
bool quota_take(struct quota *quota, int64_t mono_us);

#endif
