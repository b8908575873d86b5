/* SPDX-License-Identifier: Apache-2.0 */
/* seal: writes the seals of a lane, and lets its cancels die (levels/seals.h). A seal has the log
   ends of the lane that brokers answered to a query. It also has the offset below which all cancels
   were in force before this query. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_SEAL_H
#define DELAYBRIDGE_BRIDGE_CORE_SEAL_H

#include "bridge/core/state.h"
void seal_serve(struct bridge *b); /* queries ends when it is time */
/* The brokers answered. ends: as in bridge_ends. */
void seal_ends(struct bridge *b, int lane, const struct log_ends *ends, bool whole);
void seal_stored(struct bridge *b, struct parcel *p);
void seal_failed(struct bridge *b, struct parcel *p);
/* Lets the next query wait for a full period, and forgets a pending one. */
void seal_restart(struct bridge *b, int lane);

#endif
