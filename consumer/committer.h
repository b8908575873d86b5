/* SPDX-License-Identifier: Apache-2.0 */
/* committer: runs the errands of a transactional producer, the calls that wait for brokers:
   init_transactions, send_offsets and commit, abort and destroy. One job at a time; its outcome
   rings the wakeup. No job serves delivery reports: before each but committer_send all records of
   the transaction must have been reported. */
#ifndef DELAYBRIDGE_CONSUMER_COMMITTER_H
#define DELAYBRIDGE_CONSUMER_COMMITTER_H

#include "consumer/wakeup.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct committer;

enum { COMMITTER_WHY_MAX = 256 };

struct outcome {
    rd_kafka_resp_err_t err; /* 0: it is done */
    char why[COMMITTER_WHY_MAX];
};

/* NULL: no memory or no thread. */
struct committer *committer_new(struct wakeup *wakeup);

/* Before its producer is destroyed, at the end of the process. False: a job still waits for
   brokers, for a second by now; it keeps its producer and the committer, for which nothing is to be
   freed. */
bool committer_free(struct committer *committer);

/* The jobs. None may be under way; rk must live until the outcome. */
void committer_init(struct committer *committer, rd_kafka_t *rk);
void committer_destroy(struct committer *committer, rd_kafka_t *rk, bool tainted);

void committer_commit(struct committer *committer, rd_kafka_t *rk);

/* Sends offsets (consumed; may be empty) for the member (consumed). */
void committer_send(struct committer *committer, rd_kafka_t *rk,
                    rd_kafka_topic_partition_list_t *offsets,
                    rd_kafka_consumer_group_metadata_t *member);

/* How long the job under way has lasted, and which call it is. 0: none is. */
int64_t committer_lasts_ms(struct committer *committer);
const char *committer_doing(const struct committer *committer);

/* True once for each job, when it has ended. */
bool committer_ended(struct committer *committer, struct outcome *outcome);

#endif
