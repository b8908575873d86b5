/* SPDX-License-Identifier: Apache-2.0 */
/* transaction: the state of the open transaction. With exactly-once, forwarded records and the
   progress that they make are one transaction:

     OPEN     accepts records; ends when no more are due, or when it is old or full
     CLOSED   accepts none; its progress is sent, and after its last report it is committed
     FAILED   cannot be committed; its last reports may still find the cause
     BROKEN   given up, without records; its client is replaced (sender.h); then OPEN again

   Reports mark windows at once, as in the other mode. The marks become valid when the transaction
   is committed. If it breaks, all lanes are lost and read again from the committed offsets. Notes
   (notes.h) keep the records at fault from breaking another transaction. A record that is alone in
   its transaction can fail without a loss of the lanes.

   It counts the events of its records when they are made, and not when they are sent. So neither
   records nor events exceed its bounds.

   With at-least-once there is no real transaction: the open one accepts every record and never
   ends. The mode (config.exactly_once) changes this:

                            at least once                    exactly once
     commit                 each second or sooner (commit)   ends the transaction
     a failed record        is sent again alone (outcome)    aborts the transaction
     a lane that is lost    its work may still count         its work is void (lanes, head, restore)
     gaps in a level        records were lost (head)         the ends of transactions
     an event               follows its record (event)       is in the transaction of its record
     an unavailable topic   delays its own records           delays all others, so it is looked up
                                                             first (target, outlet)
     a doubtful record      is sent with others              is alone in its transaction (forward)
     hops                   are sent when they are ready     gather for a transaction
     a silent target        is down after a second (target)  is down after three (outcome)
     a slow target          delays its own records           delays all others (slowness)
 */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TRANSACTION_H
#define DELAYBRIDGE_BRIDGE_CORE_TRANSACTION_H

#include "bridge/core/state.h"
int txn_init(struct bridge *b) must_check;
void txn_deinit(struct bridge *b);
void txn_begin(struct bridge *b); /* begins an empty one */

/* Returns whether it accepts records of this kind. */
bool txn_is_for(const struct bridge *b, enum ready kind);
/* Returns whether it accepts one more record. alone: the record must be the only one. */
bool txn_takes(struct bridge *b, bool alone);
/* Returns whether the record and its events (a list of parcels) stay within its bounds, which an
   empty transaction does not check. Otherwise it closes. */
bool txn_fits(struct bridge *b, const struct parcel *p, const struct list *events);
/* A record was forwarded in it, or one of the events that it owes. */
void txn_took(struct bridge *b, struct parcel *p, bool alone);
/* This event of its last record follows. */
void txn_owes(struct bridge *b, const struct parcel *event);
/* A record failed, so the transaction cannot be committed. */
void txn_failed(struct bridge *b, struct parcel *p, struct target *target, enum report report);
/* Returns whether it is complete: it accepts no more records. */
bool txn_is_over(const struct bridge *b);
bool txn_is_out(const struct bridge *b); /* CLOSED or FAILED */
/* Returns the number of its records without a report. */
size_t txn_in_flight(const struct bridge *b);
/* Returns the ms until it needs a turn. */
int64_t txn_wait_ms(const struct bridge *b);

#endif
