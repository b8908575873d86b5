/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the only place that asks for the time. The step machine is told it. */
#ifndef DELAYBRIDGE_BRIDGE_CLOCK_H
#define DELAYBRIDGE_BRIDGE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ms(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Epoch ms. */
static inline int64_t clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

/* Never steps, and counts a machine's sleep as time. */
static inline int64_t clock_mono_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

#endif
