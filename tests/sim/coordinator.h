/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator: the broker's side of transactions. The records of a transaction are stored, but
   neither they nor the records behind them can be read yet. They become readable when the
   transaction has ended and each log has its marker. Offsets wait likewise. The oracle counts an
   outcome when it is decided.

   A transaction without an end is aborted after its timeout, and its producer is fenced. */
#ifndef DELAYBRIDGE_TESTS_SIM_COORDINATOR_H
#define DELAYBRIDGE_TESTS_SIM_COORDINATOR_H

#include "tests/sim/producer.h"

/* A record that was written as successor of another one. */
struct written {
    struct written *next;
    struct entry *input, *made; /* made: the record on a level, else NULL */
    struct attempt *attempt;
    int from_topic, topic, lane;
    struct request *request; /* NULL: for a foreign record */
    enum forward_kind kind;
    bool raw;          /* it was forwarded as it was read */
    bool expired;      /* a dead letter with this code */
    struct told *told; /* of an event */
};

struct offset_item {
    int topic, lane;
    struct committed *committed;
};

/* Counts an outcome that is part of no transaction. */
void written_counts(struct world *world, const struct written *it);
void offsets_count(struct world *world, const struct offset_item *items, size_t n, int life);

/* Adds the record to the open transaction of this producer. Begins one if none is open. */
void coordinator_write(struct producer *producer, struct written *it);
void coordinator_take_offsets(struct producer *producer, const struct offset_item *items, size_t n);

void coordinator_commit(struct producer *producer);

/* Fences the producer: aborts its open transaction and refuses its later requests. */
void coordinator_fence(struct producer *producer);

/* Returns whether a partition of its transaction has no leader, so that the brokers cannot end it.
 */
bool coordinator_is_held(const struct producer *producer);
/* Returns whether its last transaction has not ended. */
bool coordinator_is_open(const struct producer *producer);
/* Returns whether markers of its last transaction are missing, so that the next one must wait. */
bool coordinator_is_busy(const struct producer *producer);

/* Returns whether its last transaction has a successor of this record and, as far as its client
   knows, is not committed. */
bool coordinator_holds(const struct producer *producer, const struct entry *input);

#endif
