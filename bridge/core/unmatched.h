/* SPDX-License-Identifier: Apache-2.0 */
/* unmatched: the event of a cancel that has voided no request (cancel_unmatched). It is known when
   the cancel dies: no record is left that it could void.

   The names of cancels are kept only while this event is wanted (levels/cancel_names.h). They take
   as much memory as the table of cancels at most, and cancels beyond it have no such event. Nor has
   a cancel that another owner may have applied before. Nor has one whose place in the table was
   taken by a later cancel of the same name.

   The event belongs to no record, so a failed transaction, a lost lane or a dead process loses
   it. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_UNMATCHED_H
#define DELAYBRIDGE_BRIDGE_CORE_UNMATCHED_H

#include "bridge/core/state.h"

/* Notes a cancel that was put in force, by its entry. */
void unmatched_note(struct bridge *b, int lane, const struct cancel_entry *cancel,
                    struct bytes name);
/* Lets the cancels of a lane below this offset die when they have been reported. */
void unmatched_kill(struct bridge *b, int lane, int64_t below);
/* Sends the events of cancels that die. Call it each turn. */
void unmatched_serve(struct bridge *b);
/* Forgets the cancels of a lane: another owner may apply them. */
void unmatched_forget(struct bridge *b, int lane);

#endif
