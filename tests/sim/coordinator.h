/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator: the broker's side of transactions. The records of a transaction are stored, but
   neither they nor the records behind them can be read yet. They become readable when the
   transaction has ended and each log has its marker. Offsets wait likewise. The oracle counts an
   outcome when it is decided.

   A transaction without an end is aborted after its timeout, and its producer is fenced. */
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

/* Fences the producer: no request of it is accepted any more, and its open transaction is
   aborted. */
void coordinator_fence(struct producer *producer);

/* Whether a partition of its transaction has no leader: the brokers do not end it then. */
bool coordinator_is_held(const struct producer *producer);
/* Whether the markers of its last transaction are not all written: the next one waits. */
bool coordinator_is_busy(const struct producer *producer);

/* Its last transaction holds a successor of this record, and is not committed, for all that its
   client knows. */
bool coordinator_holds(const struct producer *producer, const struct entry *input);

#endif
