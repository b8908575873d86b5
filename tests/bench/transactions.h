/* SPDX-License-Identifier: Apache-2.0 */
/* transactions: the writer of the bare loop that forwards exactly once. Its thread runs one
   transaction after the other. Each contains the records that came during the previous one, and
   their offsets, and is committed at once. So it is as fast as one transactional client allows.

   The timestamp of a written record is the time at which the loop had read it. So its lateness
   includes the wait for the previous transaction, as that of a due record of the bridge does.

   The writer keeps the records of an aborted transaction, and writes them again with a new client.
   An error that no other attempt can help ends the process. */
#ifndef DELAYBRIDGE_TESTS_TRANSACTIONS_H
#define DELAYBRIDGE_TESTS_TRANSACTIONS_H

#include <librdkafka/rdkafka.h>

#include <stdint.h>

struct transactions;

struct transactions_done {
    int64_t committed, aborted;
};

/* Starts the only writer of the process. --transactions is its transactional id. The offsets are
   those of the consumer's group. out: the name of the topic. */
struct transactions *transactions_start(rd_kafka_t *consumer, const char *out);

/* Takes the ownership of a record. Waits if too many are waiting. */
void transactions_add(struct transactions *t, rd_kafka_message_t *message);

/* Waits until all records are committed. Returns the numbers of transactions. */
struct transactions_done transactions_finish(struct transactions *t);

#endif
