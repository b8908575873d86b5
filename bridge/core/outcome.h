/* SPDX-License-Identifier: Apache-2.0 */
/* outcome: decides what becomes of a record when it was reported, and of the lanes when their
   transaction breaks. The calls of the worker are in bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_OUTCOME_H
#define DELAYBRIDGE_BRIDGE_CORE_OUTCOME_H

#include "bridge/core/state.h"
/* Exactly once: a target that holds the transaction of all others for too long is down. */
void outcome_watch_silence(struct bridge *b);
/* Exactly once: a lane is lost with a transaction open, which is given up. */
void outcome_lane_lost(struct bridge *b);
/* Exactly once, with records in flight: breaks the transaction, so that all lanes are read again.
   False: no record is in flight. */
bool outcome_break(struct bridge *b, const char *why);

#endif
