/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the brokers serve transactions to this login. Only a producer that starts as a worker's
   does shows it: brokers that list the requests may still refuse them. */
#include "consumer/client.h"
#include "consumer/topics_survey.h"

#include <stdio.h>

/* The coordinator's topic: what findings are about. */
#define STATE_TOPIC "__transaction_state"

static rd_kafka_t *make_producer(const struct config *config, char error[CLIENT_ERROR_MAX])
{
    char id[CLIENT_ERROR_MAX];
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_DELIVERIES, error);
    if (conf == NULL)
        return NULL;
    snprintf(id, sizeof id, "%s:check", config->group); /* no worker's id has this form */
    if (client_transactional(conf, id, error) == 0)
        return client_new(RD_KAFKA_PRODUCER, conf, error);
    rd_kafka_conf_destroy(conf);
    return NULL;
}

static void judge(const struct config *config, const rd_kafka_error_t *failure,
                  struct findings *findings)
{
    const char *why = rd_kafka_error_string(failure);
    switch ((int)rd_kafka_error_code(failure)) {
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
        finding_add(findings, FINDING_REFUSE, STATE_TOPIC, NULL,
                    "the brokers do not serve transactions, which 'delivery: exactly-once' needs "
                    "(%s): set 'delivery: at-least-once', or use brokers that do",
                    why);
        break;
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        finding_add(findings, FINDING_REFUSE, STATE_TOPIC, NULL,
                    "a transactional producer cannot start (%s): allow Write on its transactional "
                    "id, on all that begin with %s",
                    why, config->group);
        break;
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
        finding_add(findings, FINDING_REFUSE, STATE_TOPIC, NULL,
                    "the brokers refuse a transaction of ten seconds (%s): raise "
                    "transaction.max.timeout.ms of the brokers to 10000 or more",
                    why);
        break;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
        break; /* another check at the same time: the brokers do serve them */
    default:
        finding_add(findings, FINDING_FAULT, STATE_TOPIC, NULL,
                    "no transactional producer can start now (%s): are as many brokers alive as "
                    "transaction.state.log.replication.factor of the brokers says?",
                    why);
    }
}

void transactions_judge(const struct config *config, int timeout_ms, struct findings *findings)
{
    char error[CLIENT_ERROR_MAX];
    rd_kafka_t *rk = make_producer(config, error);
    if (rk == NULL) {
        finding_add(findings, FINDING_REFUSE, STATE_TOPIC, NULL,
                    "no transactional producer can be made: %s", error);
        return;
    }
    rd_kafka_error_t *failure = rd_kafka_init_transactions(rk, timeout_ms);
    if (failure != NULL) {
        judge(config, failure, findings);
        rd_kafka_error_destroy(failure);
    }
    rd_kafka_destroy(rk);
}
