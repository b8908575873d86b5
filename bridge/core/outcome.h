/* SPDX-License-Identifier: Apache-2.0 */
/* outcome: decides what happens to a record after its report, and to the lanes after an abort. The
   calls of the worker are in bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_OUTCOME_H
#define DELAYBRIDGE_BRIDGE_CORE_OUTCOME_H

#include "bridge/core/state.h"

/* Serves the reports that have arrived, and the transactional clients. */
void outcome_serve(struct bridge *b);
/* Exactly-once: marks a target as down that delays the transaction for too long. */
void outcome_watch_silence(struct bridge *b);
/* Exactly-once: gives up the open transaction before a lane is lost. */
void outcome_lane_lost(struct bridge *b);
/* With exactly-once and records in flight, breaks the transaction, so that all lanes are read
   again. Otherwise does nothing and returns false. */
bool outcome_break(struct bridge *b, const char *why);

#endif
