/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_table: the cancels in force, by lane and name, and the records that they void. A cancel
   voids each request of its name whose place on the schedule topic (eras.h) is smaller. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_CANCEL_TABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_CANCEL_TABLE_H

#include "bridge/core/state.h"
int cancel_table_init(struct bridge *b) must_check;
void cancel_table_deinit(struct bridge *b);

/* Begins an empty table of a lane. Its offsets are near `first`. */
void cancel_table_open(struct bridge *b, int lane, int64_t first);
/* Forgets the cancels and seals of a lane. */
void cancel_table_close(struct bridge *b, int lane);

/* Why a cancel is not entered. */
enum cancel_room {
    CANCEL_ROOM,          /* it is entered */
    CANCEL_SHARE_IS_FULL, /* the lane has all the cancels that it may have in force */
    CANCEL_LOG_IS_FULL,   /* the topic of cancels has too many records that are not deleted */
    CANCEL_OUT_OF_REACH   /* its offset is too far from those of the cancels in force */
};

/* Enters a cancel that was read from the schedule topic, if there is room. */
enum cancel_room cancel_table_put(struct bridge *b, int lane, struct cancel_print print,
                                  int64_t place) must_check;
/* Enters a cancel that was in force before the lane was assigned. The table grows if necessary.
   Without the memory for it, the lane is blocked, and a notice ends the process. */
void cancel_table_restore(struct bridge *b, int lane, struct cancel_print print, int64_t place);

/* Returns whether a record of the parcel's lane may be void, without a look-up. */
static inline bool cancel_table_is_used(const struct bridge *b, const struct parcel *p)
{
    return b->lanes[p->queue->id.lane].cancels.is_any;
}

/* Computes the fingerprint of a record's name, for a look-up that follows soon. */
void cancel_table_hash(struct bridge *b, struct parcel *p);
/* Returns whether a cancel voids the record. */
bool cancel_table_voids(struct bridge *b, struct parcel *p);

/* Frees some slots of dead entries. Call it each turn. */
void cancel_table_serve(struct bridge *b);

#endif
