/* SPDX-License-Identifier: Apache-2.0 */
/* lag: for how long a log has been read behind its end.

     lag_ms(lag, next, end, now)   from time to time: the position, and the end of the log

   Notes the end of the log at each call, until the position reaches it. The age of the oldest end
   that was not reached is the answer. So it counts from the first call that saw the end, and does
   not depend on timestamps that producers wrote. It is exact to the time between two calls, or to a
   quarter of the lag. */
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

/* next_offset: the first one that was not read. end_offset: of the log, exclusive. Returns 0 if the
   position has reached all ends that earlier calls noted. */
int64_t lag_ms(struct lag *lag, int64_t next_offset, int64_t end_offset, int64_t now_mono_ms);

#endif
