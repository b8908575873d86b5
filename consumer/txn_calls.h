/* SPDX-License-Identifier: Apache-2.0 */
/* txn_calls: runs the blocking calls of a transactional producer, the calls that wait for brokers:
   init_transactions, send_offsets and commit, abort and destroy. One job at a time; its outcome
   rings the wakeup. No job serves delivery reports: before each but txn_calls_send all records of
   the transaction must have been reported. */
#ifndef DELAYBRIDGE_CONSUMER_TXN_CALLS_H
#define DELAYBRIDGE_CONSUMER_TXN_CALLS_H

#include "consumer/wakeup.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct txn_calls;

enum { TXN_CALLS_WHY_MAX = 256 };

struct outcome {
    rd_kafka_resp_err_t err; /* 0: it is done */
    char why[TXN_CALLS_WHY_MAX];
};

/* NULL: no memory or no thread. */
struct txn_calls *txn_calls_new(struct wakeup *wakeup);

/* Before its producer is destroyed, at the end of the process. False: a job still waits for
   brokers, for a second by now; it keeps its producer and txn_calls, for which nothing is to be
   freed. */
bool txn_calls_free(struct txn_calls *calls);

/* The jobs. None may be under way; rk must live until the outcome. */
void txn_calls_init(struct txn_calls *calls, rd_kafka_t *rk);
void txn_calls_destroy(struct txn_calls *calls, rd_kafka_t *rk, bool tainted);

void txn_calls_commit(struct txn_calls *calls, rd_kafka_t *rk);

/* Sends offsets (consumed; may be empty) for the member (consumed). */
void txn_calls_send(struct txn_calls *calls, rd_kafka_t *rk,
                    rd_kafka_topic_partition_list_t *offsets,
                    rd_kafka_consumer_group_metadata_t *member);

/* How long the job under way has lasted, and which call it is. 0: none is. */
int64_t txn_calls_running_ms(struct txn_calls *calls);
const char *txn_calls_name(const struct txn_calls *calls);

/* True once for each job, when it has ended. */
bool txn_calls_ended(struct txn_calls *calls, struct outcome *outcome);

#endif
