/* SPDX-License-Identifier: Apache-2.0 */
/* event: the records of the topic of events. A fact about a record is noted on its parcel when it
   happens, and its event is written with the outcome of the record:

     At-least-once   The parcel is settled when its successor is acknowledged, or when a cancel
                     voids it. It then sends its events, one after another, and is done when the
                     last one is acknowledged. The event of a failed delivery comes first.
     The same, with events_lossy
                     Each event has a separate parcel, and the record does not wait for it.
     Exactly-once    Each event has a separate parcel in the transaction of the outcome. The
                     transaction does not end before they are sent. A record that a cancel voids has
                     no successor: one of its events takes this part.

   An event that says that a cancel is in force waits at least once for a commit that began after
   it. Only the owner of a lane can put a cancel in force, and the commit proves the ownership. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_EVENT_H
#define DELAYBRIDGE_BRIDGE_CORE_EVENT_H

#include "bridge/core/state.h"

int event_init(struct bridge *b) must_check; /* 0 or ERR_NO_MEMORY */
void event_deinit(struct bridge *b);
static inline bool event_is_wanted(const struct bridge *b, enum event_type type)
{
    return (b->events.wanted & EVENT_BIT(type)) != 0;
}

/* Facts. */

/* Each of these notes a fact, if events of its type are wanted. */
void event_note(const struct bridge *b, struct parcel *p, enum event_type type);
/* The parcel is of a cancel or replace that was put in force: cancel_accepted or replaced, and
   too_late. entry: the record for the topic of cancels. */
void event_note_cancel(struct bridge *b, struct parcel *p, const struct record *entry);
/* Its delivery failed, and its envelope says so. At-least-once, the event comes before the record
   is forwarded again. After a crash the next owner tries the record again, and may succeed. */
void event_note_retried(const struct bridge *b, struct parcel *p);
void event_note_voided(struct bridge *b, struct parcel *p);    /* a cancel voids it */
void event_note_delivered(struct bridge *b, struct parcel *p); /* it was acknowledged */

/* Sending. */

/* Returns the types of the events that the next forward of this parcel causes, as bits. */
unsigned event_owed(const struct bridge *b, const struct parcel *p);
/* The same for a forward of this kind. */
unsigned event_owed_with(const struct bridge *b, const struct parcel *p, enum forward_kind kind);
/* Fills list with a parcel for each event of these types, except for the one that a settled parcel
   sends. Returns false if there is no memory or room now, and the list is empty. The list is given
   to event_join if the forward of p succeeds, else to event_discard. */
bool event_make(struct bridge *b, const struct parcel *p, unsigned types,
                struct list *list) must_check;
void event_join(struct bridge *b, struct list *list);
void event_discard(struct bridge *b, struct list *list);
/* Chooses the event that a parcel sends next, which is settled or sends events first. */
enum event_type event_next(const struct parcel *p);
/* Makes the record of this event, which the parcel sends. Returns false: no memory now. */
bool event_load(struct bridge *b, struct parcel *p, enum event_type type) must_check;
bool event_is_proven(const struct bridge *b, const struct parcel *p, enum event_type type);
void event_await_proof(struct bridge *b, struct parcel *p);
/* Makes the parcels ready whose commit was answered, and requests a commit if others wait. Returns
   whether others wait. */
bool event_serve_proofs(struct bridge *b);

/* Outcomes. */

/* The record of this parcel was acknowledged, or is void. Return true if events of it are still to
   be acknowledged. The last one completes it. */
bool event_follow(struct bridge *b, struct parcel *p);
bool event_void(struct bridge *b, struct parcel *p);
/* The event that this parcel sent was acknowledged. Returns true if the parcel is done. */
bool event_stored(struct bridge *b, struct parcel *p);
/* The event was not stored. Returns true if it is given up, which only lossy events are. */
bool event_is_lost(struct bridge *b, struct parcel *p);
/* A transaction is given up: facts of it did not happen. */
void event_forget_transaction(struct bridge *b);
/* Returns whether the lane must read no record, because its events could only wait in memory. */
bool event_stops_lane(const struct bridge *b, int lane);

#endif
