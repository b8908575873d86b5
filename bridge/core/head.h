/* SPDX-License-Identifier: Apache-2.0 */
/* head: the next record of a queue, taken from the port and not admitted yet. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_HEAD_H
#define DELAYBRIDGE_BRIDGE_CORE_HEAD_H

#include "bridge/core/state.h"
/* Takes records, and skips those that are done, until one becomes the head. False: none is
   available now. */
bool head_find(struct bridge *b, struct queue *q);
/* Returns whether the log ends at or below the offset of the mark, although that record is not
   done. */
bool head_is_missing(const struct bridge *b, const struct queue *q);
/* Admits the record at offset if it is in flight since an earlier assignment of the lane. Its
   report then decides. False: no such record is in flight. */
bool head_adopt_in_flight(struct bridge *b, struct queue *q, int64_t offset);

#endif
