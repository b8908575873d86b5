/* SPDX-License-Identifier: Apache-2.0 */
/* txn_calls: runs the calls of one transactional producer that wait for brokers. They are
   init_transactions, send_offsets_to_transaction, commit_transaction, and the abort with which a
   handle is destroyed.

   One job runs at a time, in a blocking_call; its end signals WAKEUP_REPORTS. No job serves
   delivery reports. All records of the transaction must be reported before any job but
   txn_calls_send starts. */
#ifndef DELAYBRIDGE_CONSUMER_TXN_CALLS_H
#define DELAYBRIDGE_CONSUMER_TXN_CALLS_H

#include "consumer/wakeup.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct txn_calls;

enum { TXN_CALLS_WHY_MAX = 256 };

struct outcome {
    rd_kafka_resp_err_t err;     /* 0: success */
    char why[TXN_CALLS_WHY_MAX]; /* the client's sentence, with a hint; empty on success */
};

/* Fills outcome from the end of a call. Consumes error, which may be NULL. */
void outcome_take(struct outcome *outcome, rd_kafka_error_t *error);

/* Returns NULL if memory or a thread is lacking. */
struct txn_calls *txn_calls_new(struct wakeup *wakeup);

/* Waits for the running job, for one second at most, and ends the thread. Call it at the end of the
   process, before the producer's handle is destroyed. Returns false if the job still runs. The job
   then keeps the handle and txn_calls in use: free neither. */
bool txn_calls_free(struct txn_calls *calls);

/* The jobs. No other job may be running, and rk must live until txn_calls_ended returns true.
   tainted: a request may still arrive at a broker (see client_transactional_destroy). The rk to
   destroy may be NULL. */
void txn_calls_init(struct txn_calls *calls, rd_kafka_t *rk);
void txn_calls_destroy(struct txn_calls *calls, rd_kafka_t *rk, bool tainted);

void txn_calls_commit(struct txn_calls *calls, rd_kafka_t *rk);

/* Adds offsets to the transaction in the name of member. Consumes both; offsets may be empty. */
void txn_calls_send(struct txn_calls *calls, rd_kafka_t *rk,
                    rd_kafka_topic_partition_list_t *offsets,
                    rd_kafka_consumer_group_metadata_t *member);

/* Returns the duration of the running job. 0: no job is running. */
int64_t txn_calls_running_ms(struct txn_calls *calls);

/* Returns true once for each job, after its end, and fills outcome. */
bool txn_calls_ended(struct txn_calls *calls, struct outcome *outcome);

#endif
