/* SPDX-License-Identifier: Apache-2.0 */
/* restore: puts the cancels of a lane in force again before its first record is forwarded. It reads
   the topic of cancels, and then the requests that are not done. Only offsets end the reading. The
   calls of the worker are in bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_RESTORE_H
#define DELAYBRIDGE_BRIDGE_CORE_RESTORE_H

#include "bridge/core/state.h"
/* Begins the restore of a lane that was assigned. start: of its schedule queue. */
void restore_begin(struct bridge *b, int lane, const struct start *start);
/* Ends the restore of a lane that is lost. */
void restore_end(struct bridge *b, int lane);
/* Repeats queries without an answer. Call it each turn. */
void restore_serve(struct bridge *b);
/* Adapts to a lane whose parcels were all forgotten, and which is read again: forgets a seal in
   flight, and writes a cut again. */
void restore_forgot_parcels(struct bridge *b, int lane);
/* Notes the head of an open schedule queue. The next owner recognizes the log by it. */
void restore_note_witness(struct bridge *b, const struct queue *q);
/* A new era of the schedule topic begins at this offset: the record of a cut was read or stored. */
void restore_begin_era(struct bridge *b, int lane, uint8_t era, int64_t at);
/* Continues after the acknowledgement of a cut. */
void restore_cut_stored(struct bridge *b, struct parcel *p);
/* Ends the doubt about cuts whose transaction has been committed. */
void restore_committed(struct bridge *b);

/* Returns the partition of the topic of cancels that belongs to the lane. */
static inline struct queue_id restore_log(int lane)
{
    return (struct queue_id){-1, lane, SLOT_CANCELS};
}

/* Returns whether no record of the lane may be taken yet. */
static inline bool restore_is_under_way(const struct bridge *b, int lane)
{
    return b->lanes[lane].cancels.loading != LOADING_NONE;
}

#endif
