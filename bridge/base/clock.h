/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the only place that asks for the time. The step machine is told it. */
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

/* Epoch ms. */
static inline int64_t clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

/* From now to the first microsecond of the millisecond at_ms by the wall; 0 if that is past. */
static inline int64_t clock_until_us(int64_t at_ms)
{
    int64_t left_us = at_ms * 1000 - clock_us(CLOCK_REALTIME);
    return left_us < 0 ? 0 : left_us;
}

/* Never steps, and counts a machine's sleep as time. */
static inline int64_t clock_mono_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

#endif
