/* SPDX-License-Identifier: Apache-2.0 */
/* event: the records of the topic of events. The step machine notes a fact about a record on its
   parcel when it happens, and writes its event with the outcome of the record:

     At-least-once   The parcel is settled when its successor is acknowledged, or when a cancel
                     voids it. It then sends its events, one after another, and is done when the
                     last one is acknowledged. The event of a failed delivery is sent before the
                     successor.
     At-least-once, with events_lossy
                     Each event has a separate parcel, and the record does not wait for it.
     Exactly-once    Each event has a separate parcel in the transaction of the outcome. The
                     transaction does not end before they are sent. A record that a cancel voids has
                     no successor, and one of its events replaces it.

   At-least-once, an event that says that a cancel is in force waits for a commit that began after
   the cancel. Only the owner of a lane can put a cancel in force, and this commit proves the
   ownership. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_EVENT_H
#define DELAYBRIDGE_BRIDGE_CORE_EVENT_H

#include "bridge/core/state.h"

int event_init(struct bridge *b) must_check; /* 0 or ERR_NO_MEMORY */
void event_deinit(struct bridge *b);
static inline bool event_is_wanted(const struct bridge *b, enum event_type type)
{
    return (b->events.wanted & EVENT_BIT(type)) != 0;
}
/* Returns whether the record of the parcel is an event. */
static inline bool event_is_record(const struct parcel *p)
{
    return p->entry_kind == ENTRY_EVENT || p->entry_kind == ENTRY_UNMATCHED;
}

/* Facts. Each function notes one, if events of its type are wanted. */

void event_note(const struct bridge *b, struct parcel *p, enum event_type type);
/* Notes that the parcel's cancel or replace was put in force (cancel_accepted or replaced), and
   whether it came too late (too_late). entry: its record for the topic of cancels. */
void event_note_cancel(struct bridge *b, struct parcel *p, const struct record *entry);
/* Notes that its delivery failed, as its envelope says. At-least-once, the event is sent before the
   record is forwarded again. After a crash in between, the next owner tries the record again and
   may succeed. */
void event_note_retried(const struct bridge *b, struct parcel *p);
void event_note_voided(struct bridge *b, struct parcel *p);    /* a cancel voids it */
void event_note_delivered(struct bridge *b, struct parcel *p); /* it was acknowledged */

/* Sending. */

/* Returns a set of types: the events that the next forward of this parcel causes. */
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
/* Returns the type of the next event of a parcel that is settled, or that sends an event first. */
enum event_type event_next(const struct parcel *p);
/* Makes the record of this event, which the parcel sends next. Returns false if there is no memory
   now. */
bool event_load(struct bridge *b, struct parcel *p, enum event_type type) must_check;
/* Returns whether this event of the parcel needs to wait for no commit any more. */
bool event_is_proven(const struct bridge *b, const struct parcel *p, enum event_type type);
/* Lets a ready parcel wait for the commit that proves its event. */
void event_await_proof(struct bridge *b, struct parcel *p);
/* Makes each parcel ready whose commit was answered, and requests a commit for the others. */
void event_serve_proofs(struct bridge *b);
/* Returns whether a parcel waits for a commit. */
static inline bool event_awaits_proof(const struct bridge *b)
{
    return !list_is_empty(&b->events.unproven);
}

/* Outcomes. */

/* Continue with the events of a parcel whose record was acknowledged (event_follow), or is void
   (event_void). Return true if the caller must not complete the parcel: its last event does, or
   its lane was lost. */
bool event_follow(struct bridge *b, struct parcel *p);
bool event_void(struct bridge *b, struct parcel *p);
/* Counts the event of this parcel, which was acknowledged, and continues with the next one. Returns
   true if the parcel is done. */
bool event_stored(struct bridge *b, struct parcel *p);
/* Gives up an event that was not stored, if events may be lost. Returns whether it did. */
bool event_is_lost(struct bridge *b, struct parcel *p);
/* Forgets the facts of a transaction that is given up: they did not happen. */
void event_forget_transaction(struct bridge *b);
/* Returns whether the lane must read no record, because its events could only wait in memory. */
bool event_stops_lane(const struct bridge *b, int lane);

#endif
