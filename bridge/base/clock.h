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

/* A wall clock that replaces the system's, and its view of timestamps that producers write by the
   system's clock. Only `delaybridge dev` has one. Its functions are safe from any thread. */
struct clock {
    int64_t (*wall_us)(void *ctx);
    int64_t (*of_real_ms)(void *ctx, int64_t real_ms); /* converts a time of the system's clock */
    void *ctx;
};

/* Returns milliseconds since the epoch. */
static inline int64_t clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

/* Returns microseconds since the epoch. clock NULL: of the system's clock. */
static inline int64_t clock_wall_us(const struct clock *clock)
{
    return clock == NULL ? clock_us(CLOCK_REALTIME) : clock->wall_us(clock->ctx);
}

/* Returns the microseconds until the start of the millisecond at_wall_ms, or 0 if it is past. clock
   NULL: by the system's clock. */
static inline int64_t clock_until_us(const struct clock *clock, int64_t at_wall_ms)
{
    int64_t left_us = at_wall_ms * 1000 - clock_wall_us(clock);
    return left_us < 0 ? 0 : left_us;
}

/* Returns milliseconds of a clock that never steps. It also advances while the machine sleeps. */
static inline int64_t clock_mono_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

#endif
