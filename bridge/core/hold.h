/* SPDX-License-Identifier: Apache-2.0 */
/* hold: records that wait in memory for longer than the ladder's hold, while there is room. A
   record that is ready for a hop is kept instead, if its rest is at most config.hold_ms. It waits
   in the wheel, and its offset is not done. Shortly before it is due it becomes an ordinary record
   in memory. If room gets scarce, kept records are spilled: they hop into the level that the
   planner names for their rest.

   It predicts, because a record that is kept and then spilled has only lost time. A record is kept
   if, at the rate of its queue, its offset will stay within a third of the window until it is due.
   The longest rest shrinks as memory fills, and with the offsets that a restart or an abort reads
   again.

   Some records are never kept. They owe an event, wait because of their target, or have no
   envelope. Others must go to a level: they were spilled, are the canary's, or have a due time that
   another reading would change.

   Invariants (hold_check):
   - a kept parcel is WAITING and OWNED, and in the list of its queue
   - hold.bytes is the memory of all kept parcels, at most a quarter of all memory and one record
   - no parcel is kept in a queue whose head waits for room */
#ifndef DELAYBRIDGE_BRIDGE_CORE_HOLD_H
#define DELAYBRIDGE_BRIDGE_CORE_HOLD_H

#include "bridge/core/state.h"

/* Measures the rates of the queues, four times a second. */
void hold_serve(struct bridge *b);

/* Keeps a parcel that is ready for a hop. Returns false if it must hop. */
bool hold_keep(struct bridge *b, struct parcel *p, int64_t rest_ms);

/* Spill records. They hop in the same turn. */
void hold_spill_old(struct bridge *b, struct queue *q); /* records of q were admitted */
void hold_spill_all(struct bridge *b, struct queue *q); /* q waits for room, or until it is empty */
void hold_give_memory(struct bridge *b);                /* some of all queues: memory is short */

void hold_check(const struct bridge *b);

#endif
