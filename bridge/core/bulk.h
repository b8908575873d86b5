/* SPDX-License-Identifier: Apache-2.0 */
/* bulk: queues whose fetched records take much memory before they are admitted. Only one such queue
   is read at a time. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_BULK_H
#define DELAYBRIDGE_BRIDGE_CORE_BULK_H

#include "bridge/core/state.h"
void bulk_serve(struct bridge *b);                    /* call before records are taken */
void bulk_refused(struct bridge *b, struct queue *q); /* no room for the head of q */
/* Notes whether the load of a lane's requests is bulky. Call it when it ends. */
void bulk_watch_load(struct bridge *b, int lane);
/* Reads the schedule queue of a lane that opens, now or after bulky loads. */
void bulk_lane_opened(struct bridge *b, struct queue *q);
/* Returns whether the head of q is larger than large_bytes. Only one queue may exceed the budget by
   such a record. */
bool bulk_has_large_head(const struct bridge *b, const struct queue *q);

#endif
