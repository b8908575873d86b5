/* SPDX-License-Identifier: Apache-2.0 */
/* The cause of a failed transaction, as far as the client names it: a record, a topic, or neither.
 */
#include "consumer/producer_parts.h"

#include <stdio.h>

/* Returns whether the error is the fault of a record or its topic, so that another try would fail
   in the same way. */
static bool is_of_records(rd_kafka_resp_err_t err)
{
    switch ((int)err) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        return true;
    default:
        return false;
    }
}

static bool is_purged(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
           err == RD_KAFKA_RESP_ERR__STATE;
}

void producer_txn_fail(struct producer *p, rd_kafka_resp_err_t err, const char *why)
{
    struct producer_txn *t = &p->txn;
    bool first = !t->failing;
    if (first) {
        t->failing = true;
        t->cause = ABORT_CAUSE_CLUSTER;
        t->why[0] = '\0';
    }
    if (is_of_records(err))
        t->cause = ABORT_CAUSE_RECORDS;
    if (t->why[0] == '\0' && !is_purged(err))
        snprintf(t->why, sizeof t->why, "%s%s", why,
                 err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ? ": allow Write on the topic"
                                                                     : "");
}

/* Gets the cause from the client: a fatal error, or the error of a call that can only fail. The
   reports of purged records do not name the cause. While offsets are being sent, only a fatal error
   is available, since the client makes one call at a time. */
void producer_txn_ask_why(struct producer *p)
{
    rd_kafka_t *rk = p->clients[p->txn.turn].rk;
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(rk, NULL, 0);
    if (fatal != 0)
        producer_txn_fail(p, fatal, producer_why(fatal));
    if (fatal != 0 || p->txn.sending)
        return;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(rk);
    if (error == NULL)
        return;
    rd_kafka_resp_err_t err = rd_kafka_error_code(error);
    if (err != RD_KAFKA_RESP_ERR__STATE)
        producer_txn_fail(p, err, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
}
