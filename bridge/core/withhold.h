/* SPDX-License-Identifier: Apache-2.0 */
/* withhold: due records of targets that operators pause or limit (levels/control.h), or
   whose entry of `targets` has a max_rate. Such a record
   is withheld: it returns to a level without an attempt, and comes back later. Until the entries
   were read once, no lane is open, but for CONTROL_WAIT_MS at most. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_WITHHOLD_H
#define DELAYBRIDGE_BRIDGE_CORE_WITHHOLD_H

#include "bridge/core/state.h"
#include "levels/envelope.h"

int withhold_init(struct bridge *b) must_check;
void withhold_deinit(struct bridge *b);

/* The entries of `targets` may have other rates now. */
void withhold_reconfigured(struct bridge *b);

/* Returns when a due record must come back, and sets *why. Returns 0 if target_gate decides: the
   record may be sent now, or its target is not known to exist. Such a target takes up no bucket, so
   that requests with wrong names keep none from other targets. stamp: of the record. Gives it no
   slot yet. */
int64_t withhold_until_ms(struct bridge *b, struct target *t, const struct stamp *stamp,
                          enum deferral *why);

/* The record with this stamp was put back, as withhold_until_ms has decided in the same turn. If it
   waits for a slot, the slot is given now. Without memory a record is not put back: it would take a
   slot with each try. */
void withhold_put_back(struct bridge *b, struct target *t, const struct stamp *stamp);

/* A cancel voids the record. If it waits for a slot, other records may have this slot. */
void withhold_cancelled(struct bridge *b, const struct parcel *p);

/* Returns whether a withheld record need not wait until its time any more. The reason is that a
   pause or a limit has ended, or that a limit was raised. Ask before each of its hops. So an entry
   by mistake has no effect for longer than a stay in the longest level. False for a record that is
   not due: it would be released again at once, indefinitely. */
bool withhold_is_over(struct bridge *b, const struct parcel *p);

/* A record was sent to the target, so it used up a part of its limit. */
void withhold_sent(struct bridge *b, const struct target *t);

/* A lane was assigned. was_kept: no other worker can have owned it since it was lost. */
void withhold_lane_gained(struct bridge *b, const struct lane *lane, bool was_kept);

/* Voids all slots. Records that have one were forgotten, or come at another time by a new clock.
   Without this, other records would wait behind slots that no record uses. */
void withhold_forget_slots(struct bridge *b);

/* All lanes were assigned, and their records are read again. So all slots are void. Limits start
   again if these are other lanes than before. They also do if another worker may have owned these
   lanes, and may have sent records at the same limit. */
void withhold_lanes_settled(struct bridge *b);

/* Opens lanes that have waited too long for the entries. Call it each turn. */
void withhold_serve(struct bridge *b);

/* Returns whether no record may be taken yet. */
static inline bool withhold_awaits_control(const struct bridge *b)
{
    return !b->control.is_known;
}

#endif
