/* SPDX-License-Identifier: Apache-2.0 */
/* cancel: takes cancels and replaces into work, writes their entries, and drops records that they
   void. An entry is the record of a cancel on the topic of cancels (levels/cancel_log.h).

   A cancel is done when its entry is acknowledged; with exactly-once, both are in one transaction.

   A replace sends its entry first, and its request after the acknowledgement. With exactly-once
   the request is often in a later transaction. Its target may be one that gets separate
   transactions, or hops may wait to share one. The two transactions are as safe as one:
     - Only the request makes the offset of the replace done, in its own transaction. While it is
       not done, each new owner reads the replace again from the schedule topic.
     - The request is sent after its entry. If the transaction of the entry fails, the request is
       read again with all others.
     - A failure between the two leaves an entry without a request. It voids only requests that
       stand before the replace, as the replace itself does. It lives at least until the committed
       base of the schedule topic is above the replace (seals.h).
     - An entry that is written again changes nothing: it has the same name and offset.
   So the request has one committed outcome, and no request that it replaces is forwarded after its
   entry is in force (tests/sim/stories_replace.c, sim --exhaustive). */
#ifndef DELAYBRIDGE_BRIDGE_CORE_CANCEL_H
#define DELAYBRIDGE_BRIDGE_CORE_CANCEL_H

#include "bridge/core/state.h"
/* Puts the cancel at the head of q in force. Returns CODE_OK, or CODE_CANCELS_FULL with `why`. */
enum code cancel_apply(struct bridge *b, struct queue *q, const struct stamp *stamp,
                       struct refusal *why);
/* Returns a new entry for the cancel at the head of q, or NULL if there is no memory now. Its
   record key follows the value in memory, for events: the topic does not store it. */
struct record *cancel_entry(struct bridge *b, const struct queue *q, const struct stamp *stamp);
/* Returns the length of this key behind an entry, or -1 if it is too long for an event. */
int cancel_key_len(struct bytes key);
/* Makes the parcel send this entry first, and its own record after the acknowledgement. */
void cancel_precede(struct bridge *b, struct parcel *p, struct record *entry);
/* Returns a parcel that sends value to the topic of cancels and marks no offset, for a seal or a
   cut. Returns NULL if there is no room or memory now. */
struct parcel *cancel_note(struct bridge *b, int lane, enum entry_kind kind, struct bytes value);
/* Completes a cancel whose entry was acknowledged, or sends the request of a replace next. */
void cancel_stored(struct bridge *b, struct parcel *p);
/* Returns whether an acknowledgement of the parcel's next record completes an input record. */
bool cancel_completes(const struct parcel *p);
/* Drops a record that a cancel voids: its offset is done when its events are stored. */
void cancel_drop(struct bridge *b, struct parcel *p);

#endif
