/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the only reads of the clocks. The step machine receives the time as an argument. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_CLOCK_H
#define DELAYBRIDGE_BRIDGE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static inline int64_t clock_ms(clockid_t clock)
{
    return clock_us(clock) / 1000;
}

/* Returns milliseconds since the epoch. */
static inline int64_t clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

/* Returns the microseconds until the start of the millisecond at_wall_ms, or 0 if it is past. */
static inline int64_t clock_until_us(int64_t at_wall_ms)
{
    int64_t left_us = at_wall_ms * 1000 - clock_us(CLOCK_REALTIME);
    return left_us < 0 ? 0 : left_us;
}

/* Returns milliseconds of a clock that never steps. It also advances while the machine sleeps. */
static inline int64_t clock_mono_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

#endif
