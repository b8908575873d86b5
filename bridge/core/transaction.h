/* SPDX-License-Identifier: Apache-2.0 */
/* transaction: the state of the open transaction. Exactly once, forwarded records and the progress
   that they make are one transaction:

     OPEN        takes records; ends when nothing more is due, or when it is old or full
     ENDING      takes none; its last reports are awaited, and its progress is sent meanwhile
     COMMITTING  the port commits; then OPEN again
     BROKEN      nothing of it holds: the port gives up its producer, and makes another

   Reports mark windows at once, as in the other mode. The marks are true when the transaction is
   committed. If it breaks, all lanes are lost and read again from the committed offsets, with the
   notes of single records (notes.h). Only a record that is alone in its transaction can fail
   without that.

   At least once there is no transaction: it takes every record, and is never over. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TRANSACTION_H
#define DELAYBRIDGE_BRIDGE_CORE_TRANSACTION_H

#include "bridge/core/state.h"
int txn_init(struct bridge *b) must_check;
void txn_deinit(struct bridge *b);
void txn_begin(struct bridge *b); /* an empty one */

/* What the mode means for other modules; each is false at least once. */
bool txn_binds_topics(const struct bridge *b); /* one topic's trouble is the trouble of all */
bool txn_leaves_gaps(const struct bridge *b);  /* ends of transactions take offsets on levels */
/* Whether work that is not committed when a lane is lost is void. */
bool txn_voids_lost_work(const struct bridge *b);

bool txn_is_for(const struct bridge *b, enum ready kind);
/* Whether it takes one more record. alone: the record must be the only one of its transaction. */
bool txn_takes(struct bridge *b, bool alone);
void txn_took(struct bridge *b, struct parcel *p, bool alone);
/* A record's report says no: the transaction cannot be committed. */
void txn_failed(struct bridge *b, struct parcel *p, struct target *target, enum report report);
bool txn_is_over(const struct bridge *b);
bool txn_is_out(const struct bridge *b); /* ENDING or COMMITTING */
int64_t txn_wait_ms(const struct bridge *b);

#endif
