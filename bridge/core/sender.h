/* SPDX-License-Identifier: Apache-2.0 */
/* sender: the transactional clients, with exactly-once. It decides which of them sends the current
   transaction and commits it, and which is replaced and may be used again. The port makes the calls
   that it orders (port.h), and returns facts about their ends.

     OFF         it was never needed
     CLOSING     it is being destroyed, which ends in STARTING
     STARTING    it is being created and initialized, or it waits for the next try
     READY       no transaction
     OPEN        its transaction has begun
     COMMITTING  its transaction is being committed
     PURGING     its transaction failed or was given up, and its records are being reported
     LEFT        the same, and all are reported, but a call still waits for brokers

   The current client is that of the transaction, or else of the next one. After each commit another
   READY client becomes the current one, while brokers write the markers of the last transaction.
   The same happens while the current one is LEFT, CLOSING or STARTING.

   Brokers complete a transaction only when each of its partitions has a leader, and until then its
   client can begin no other transaction. Further clients with separate transactional ids are
   started when a client waits for brokers for three seconds. This is safe, since the transaction
   that is left was decided, or its offsets are pending, or it has sent none. In all cases Kafka
   returns committed offsets only after the decision.

   Four rules:
     - Progress is sent by one client at a time, and each client builds on the committed progress of
       the last one.
     - While offsets or a commit that a client sent may still arrive, that client stays the current
       one, until it has committed newer offsets.
     - A client is replaced after a transaction that failed, and after a request of the protocol
       that failed on the wire. A late request could end or join its next transaction.
     - After a failure, no transaction begins before the failed client is destroyed and the current
       one is initialized. Kafka then returns no offsets of the failed transaction that are pending.
 */
#ifndef DELAYBRIDGE_BRIDGE_CORE_SENDER_H
#define DELAYBRIDGE_BRIDGE_CORE_SENDER_H

#include "bridge/core/state.h"

/* The consequence of a fact or of time, for the caller to act on. */
enum sender_news {
    SENDER_NO_NEWS,
    SENDER_COMMITTED, /* the transaction was committed, perhaps after it was given up */
    SENDER_ABORTED,   /* it cannot be committed, and all of its records are reported */
    SENDER_DOUBTS,    /* brokers cannot complete it: a partition may have lost its leader */
    SENDER_CONTINUES  /* after a BROKEN transaction: the next one may begin */
};

void sender_init(struct bridge *b); /* the first clients start in the first turn */
void sender_check(const struct bridge *b);

/* Begins the transaction at the current client, unless it is open. Returns 0, or ERR_FULL: the
   client is not ready, or the transaction has failed. */
int sender_enter(struct bridge *b) must_check;
/* Sends the n first entries of commit.progress in the transaction, as soon as its client is ready.
 */
void sender_announce(struct bridge *b, size_t n);
/* Commits if the commit is requested (commit.is_out) and the offsets are accepted. Otherwise their
   acceptance commits. Call it after sender_announce, when each record was acknowledged. */
void sender_finish(struct bridge *b);
/* The transaction cannot be committed. why: a phrase; empty: unknown. */
void sender_fail(struct bridge *b, enum blame blame, const char *why);

/* Takes over a fact of the port. */
enum sender_news sender_fact(struct bridge *b, const struct client_fact *fact) must_check;
/* Does the work that is due. Call it again until there are no news. */
enum sender_news sender_serve(struct bridge *b) must_check;

/* Returns whether another client could begin a transaction at once, if this one were aborted. */
bool sender_has_spare(const struct bridge *b);

#endif
