/* SPDX-License-Identifier: Apache-2.0 */
/* lag: for how long reading has been behind the end of a log.

     lag_ms(lag, next, end, now)   called from time to time, returns the lag

   Each call notes the end of the log, until the position reaches it. The lag is the age of the
   oldest end that was not reached, since the first call that saw this end. So it does not depend on
   timestamps that producers wrote. It is exact to the time between two calls, or to a quarter of
   the lag. */
#ifndef DELAYBRIDGE_LEVELS_LAG_H
#define DELAYBRIDGE_LEVELS_LAG_H

#include <stdint.h>

enum { LAG_ENDS_MAX = 16 };

/* All zero: no end is noted. */
struct lag {
    int64_t end_offset[LAG_ENDS_MAX]; /* increasing */
    int64_t seen_mono_ms[LAG_ENDS_MAX];
    int n;
};

/* Returns the lag, or 0 if the position has reached all ends that earlier calls noted. next_offset:
   the first offset that was not read. end_offset: of the log, exclusive. */
int64_t lag_ms(struct lag *lag, int64_t next_offset, int64_t end_offset, int64_t now_mono_ms);

#endif
