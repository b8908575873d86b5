/* SPDX-License-Identifier: Apache-2.0 */
/* apart: the transaction of slow targets. With exactly-once, a transaction ends when its slowest
   target has acknowledged. So a target that is clearly slower than another one is served apart. Its
   records have a second transaction, which is open while shared ones begin and end.

     OPEN     accepts records for TXN_AGE_MAX_MS
     CLOSED   accepts none, and waits for its last reports
     BROKEN   a record failed, or a lane was lost: the port gives it up, then OPEN again

   Its records are HELD after their report, and marked in no window. When all are acknowledged, it
   gets a turn between two shared transactions. Only then its records are marked, its progress is
   announced, and it is committed. So no progress has a record of another transaction that is not
   committed. One transaction at a time sends offsets.

   A transaction that breaks before its turn has sent no offsets and can never be committed. Its
   records are ready again, and no lane is read again. After a failure its targets share
   transactions, at least for APART_STAYS_MS. So a record, a target or a client that fails again
   does so in a shared transaction, which has the means to find the cause. A transaction that breaks
   in its turn is like a shared one, and then its targets share transactions, too.

   The rule: a target is slow if its acknowledgements take APART_MS and four times as long as those
   of the fastest target, at two looks. Records that were sent before the first look do not count at
   the second one. It is fast again when they take APART_FAST_MS or less, or at most twice as long.
   While no other target has records, only its own time counts. It changes once in
   APART_STAYS_MS at most, and is not slow before the port is ready for it. If all targets are slow,
   none is served apart. A record that is tried alone, or has events, is never apart. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_APART_H
#define DELAYBRIDGE_BRIDGE_CORE_APART_H

#include "bridge/core/state.h"

int apart_init(struct bridge *b) must_check;
void apart_deinit(struct bridge *b);

/* Returns whether a delivery goes into this transaction. shared: it must go into the shared one. */
bool apart_is_for(const struct bridge *b, const struct target *t, bool shared);
/* Returns whether the record must wait until the other transaction of its target has ended. */
bool apart_must_wait(const struct target *t, bool apart);
/* Returns whether the parked records of a target return together and in their order, when its
   transaction has ended. Until then the gate would park them again, behind others that are due
   later. */
bool apart_keeps_parked(const struct target *t);
/* Returns whether a record that is due must wait behind them. */
bool apart_is_in_line(const struct target *t);
/* Returns whether they must stay parked now: a transaction ends, or breaks, in a few seconds. */
bool apart_delays(const struct bridge *b, const struct target *t);
/* Returns whether it accepts one more record. */
bool apart_takes(const struct bridge *b);
void apart_took(struct bridge *b, struct parcel *p, struct target *t);
/* The port did not accept a record. */
void apart_refused(struct bridge *b);

/* An OWNED parcel of it has its report. */
void apart_reported(struct bridge *b, struct parcel *p, bool ok);
/* Learns from an acknowledgement how long the target takes. */
void apart_learn(struct bridge *b, struct target *t, int64_t took_ms);

/* Returns whether all its records are acknowledged, and it accepts no more. */
bool apart_is_complete(const struct bridge *b);
/* Returns whether it is complete, and no shared transaction must be committed before it. */
bool apart_wants_turn(const struct bridge *b);
/* Marks its records as done, for its commit. */
void apart_finish(struct bridge *b);
/* No more records follow: it does not wait for them. */
void apart_close(struct bridge *b);
/* Gives it up, unless it is empty: its lanes are lost or read again. */
void apart_break(struct bridge *b);
/* The same, because of a failure. Its targets share transactions for a while, which find the cause.
 */
void apart_fail(struct bridge *b);
/* It failed in its turn. Its targets share transactions for a while. */
void apart_turn_failed(struct bridge *b);
/* Returns whether its targets acknowledge nothing, while others do. */
bool apart_is_silent(const struct bridge *b);
void apart_serve(struct bridge *b);         /* judges targets, and closes the transaction in time */
bool apart_is_owed(const struct bridge *b); /* it is to be committed before lanes are lost */

#endif
