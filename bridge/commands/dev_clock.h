/* SPDX-License-Identifier: Apache-2.0 */
/* dev_clock: the clock of `delaybridge dev`, which tests move forward. It runs as fast as the
   system's clock, ahead of it by the sum of its moves.

   A move begins at a millisecond of the system's clock, and changes no earlier time. So a request
   that was sent before a move is converted to the same time whenever it is read. Safe from any
   thread. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DEV_CLOCK_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DEV_CLOCK_H

#include "bridge/base/clock.h"
#include "levels/err.h"

/* The number of moves whose beginning is kept. Requests from before the oldest of them are read as
   if they were sent at its beginning. */
enum { DEV_CLOCK_MOVES = 1000 };
#define DEV_CLOCK_AHEAD_MAX_MS (INT64_C(100) * 366 * 24 * 3600 * 1000)

struct dev_clock;

/* Returns a clock that is not moved, or NULL without memory. */
struct dev_clock *dev_clock_new(void);
void dev_clock_free(struct dev_clock *clock); /* accepts NULL */

/* Calls wait(ctx) at the begin of each move. It returns when the service has read the requests that
   are stored (dev_clock_read_n). Without it, a cancel could take effect after the move that makes
   its request due. */
void dev_clock_wait_with(struct dev_clock *clock, void (*wait)(void *ctx), void *ctx);

/* Returns the number of requests that the service has read: those whose timestamps it has
   converted. */
uint64_t dev_clock_read_n(const struct dev_clock *clock);

/* Returns its functions. They belong to the clock. */
const struct clock *dev_clock_functions(const struct dev_clock *clock);

/* Waits as dev_clock_wait_with says, then moves the clock forward by ms >= 0. Returns when the move
   has begun: a record that is written after that is later than the move. Returns 0, or ERR_DATA if
   the clock would be ahead by more than DEV_CLOCK_AHEAD_MAX_MS. */
int dev_clock_forward(struct dev_clock *clock, int64_t ms) must_check;

/* Converts a time of the system's clock. */
int64_t dev_clock_of_real_ms(struct dev_clock *clock, int64_t real_ms);

#endif
