/* SPDX-License-Identifier: Apache-2.0 */
/* restore: puts the cancels of a lane in force again before its first record is forwarded. It reads
   the topic of cancels, and then the requests that are not done. Only offsets end the reading. The
   calls of the worker are in bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_RESTORE_H
#define DELAYBRIDGE_BRIDGE_CORE_RESTORE_H

#include "bridge/core/state.h"
/* The lane was assigned. start: of its schedule queue. */
void restore_begin(struct bridge *b, int lane, const struct start *start);
void restore_end(struct bridge *b, int lane); /* the lane is lost */
void restore_serve(struct bridge *b);         /* repeats queries without an answer */
/* All parcels of the lane were forgotten, and the lane is read again. */
void restore_forgot_parcels(struct bridge *b, int lane);
void restore_barrier_stored(struct bridge *b, struct parcel *p);
void restore_committed(struct bridge *b); /* a commit succeeded */

/* Returns whether no record of the lane may be taken yet. */
static inline bool restore_is_under_way(const struct bridge *b, int lane)
{
    return b->lanes[lane].cancels.loading != LOADING_NONE;
}

#endif
