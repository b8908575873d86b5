/* SPDX-License-Identifier: Apache-2.0 */
/* slowness: which targets acknowledge slowly. With exactly-once, a transaction ends when its
   slowest target has acknowledged, so a target that is clearly slower than another one delays all
   of them.

   The rule: a target is slow if its acknowledgements take SLOW_MS and four times as long as those
   of the fastest target, at two looks. Records that were sent before the first look do not count at
   the second one. It is fast again when they take FAST_MS or less, or at most twice as long. While
   no other target has records, only its own time counts. It changes once in STAYS_MS at most. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_SLOWNESS_H
#define DELAYBRIDGE_BRIDGE_CORE_SLOWNESS_H

#include "bridge/core/state.h"

/* Learns from an acknowledgement how long the target takes. */
void slowness_learn(struct bridge *b, struct target *t, int64_t took_ms);
void slowness_serve(struct bridge *b); /* judges the targets */

#endif
