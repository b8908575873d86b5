/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator: the broker's side of transactions. What is written in one is there and cannot be
   read, nor can what stands behind it in its log, until the transaction has ended and a marker says
   how in each log; offsets wait likewise. What the oracle counts is counted when it is decided.

   A transaction that nobody ends is aborted by time, and its producer fenced. */
#ifndef DELAYBRIDGE_TESTS_SIM_COORDINATOR_H
#define DELAYBRIDGE_TESTS_SIM_COORDINATOR_H

#include "tests/sim/producer.h"

/* A record that was written because of another one. */
struct written {
    struct written *next;
    struct entry *input, *made; /* made: on a level, else NULL */
    struct attempt *attempt;
    int from_topic, topic, lane;
    struct request *request; /* NULL: of a foreign record */
    enum forward_kind kind;
};

struct offset_item {
    int topic, lane;
    struct committed *committed;
};

/* Nothing to wait for: it counts. */
void written_counts(struct world *world, const struct written *it);
void offsets_count(struct world *world, const struct offset_item *items, size_t n, int life);

/* Into the transaction of this producer; one is begun if none is open. */
void coordinator_write(struct producer *producer, struct written *it);
void coordinator_take_offsets(struct producer *producer, const struct offset_item *items, size_t n);

void coordinator_commit(struct producer *producer);

/* Nothing is taken from this producer any more, and what it has open is aborted. */
void coordinator_fence(struct producer *producer);

/* The last transaction has ended, and its markers are not all written: what comes next waits. */
/* The brokers end no transaction while a partition of it has no leader. */
bool coordinator_is_held(const struct producer *producer);
bool coordinator_is_busy(const struct producer *producer);

/* Its last transaction holds a successor of this record, and is not committed, for all that its
   client knows. */
bool coordinator_holds(const struct producer *producer, const struct entry *input);

#endif
