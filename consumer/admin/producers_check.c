/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the brokers serve a worker's producers under this login. It starts such a producer,
   since brokers may list a kind of request as supported and still refuse it. */
#include "bridge/base/clock.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/topics.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { POLL_MS = 20 };

/* The coordinator's topic; the findings name it. */
#define STATE_TOPIC "__transaction_state"

static rd_kafka_t *make_transactional(const struct config *config, struct error *error)
{
    char id[512];
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_DELIVERIES, error);
    if (conf == NULL)
        return NULL;
    snprintf(id, sizeof id, "%s:check", config->group); /* no worker has such an id */
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
        break; /* another check uses the id, so the brokers do serve transactions */
    default:
        finding_add(findings, FINDING_FAULT, STATE_TOPIC, NULL,
                    "no transactional producer can start now (%s): check that as many brokers are "
                    "alive as their transaction.state.log.replication.factor demands",
                    why);
    }
}

/* Sends each kind of request that a worker sends to a coordinator, in a transaction that is
   aborted. The transaction contains an offset of S.pulse. Members do not use that offset, so they
   do not wait for the end of the transaction. */
static rd_kafka_error_t *try_transaction(rd_kafka_t *rk, const struct config *config,
                                         int timeout_ms)
{
    char pulse[TOPIC_TEXT_MAX];
    rd_kafka_error_t *failure = rd_kafka_begin_transaction(rk);
    if (failure != NULL)
        return failure;
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, topic_of_pulse(config->schedule, pulse), 0)->offset = 0;
    rd_kafka_consumer_group_metadata_t *no_member =
        rd_kafka_consumer_group_metadata_new(config->group);
    failure = rd_kafka_send_offsets_to_transaction(rk, one, no_member, timeout_ms);
    rd_kafka_consumer_group_metadata_destroy(no_member);
    rd_kafka_topic_partition_list_destroy(one);
    return failure;
}

static bool is_unsupported(const rd_kafka_error_t *failure)
{
    return rd_kafka_error_code(failure) == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE ||
           rd_kafka_error_code(failure) == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION;
}

/* Without a coordinator of the group, only the start is tried. The client would drop the query of a
   transaction after three negative answers. Its call would then never return, whatever its timeout
   (2.0.2 to 2.15.0). */
static void judge_transactions(const struct config *config, bool group_is_served, int timeout_ms,
                               struct findings *findings)
{
    struct error error;
    rd_kafka_t *rk = make_transactional(config, &error);
    if (rk == NULL) {
        finding_add(findings, FINDING_REFUSE, STATE_TOPIC, NULL,
                    "no transactional producer can be made: %s", error.text);
        return;
    }
    rd_kafka_error_t *failure = rd_kafka_init_transactions(rk, timeout_ms);
    bool started = failure == NULL;
    if (started && group_is_served)
        failure = try_transaction(rk, config, timeout_ms);
    /* Other checks report failures that concern a topic or the group. */
    if (failure != NULL && (!started || is_unsupported(failure)))
        judge(config, failure, findings);
    if (failure != NULL)
        rd_kafka_error_destroy(failure);
    client_transactional_destroy(rk, false);
}

/* Notes whether the client has a producer id. Only the client's statistics show this. */
static int note_id(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
    (void)rk, (void)len;
    if (strstr(json, "\"idemp_state\": \"Assigned\"") != NULL)
        atomic_store((atomic_bool *)opaque, true);
    return 0;
}

static rd_kafka_t *make_idempotent(const struct config *config, atomic_bool *has_id,
                                   struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_HOPS, error);
    if (conf == NULL)
        return NULL;
    rd_kafka_conf_set_opaque(conf, has_id);
    rd_kafka_conf_set_stats_cb(conf, note_id);
    if (rd_kafka_conf_set(conf, "statistics.interval.ms", "20", error->text, sizeof error->text) ==
        0)
        return client_new(RD_KAFKA_PRODUCER, conf, error);
    rd_kafka_conf_destroy(conf);
    return NULL;
}

static void judge_idempotent(const struct config *config, rd_kafka_resp_err_t code, const char *why,
                             struct findings *findings)
{
    if (code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
        finding_add(findings, FINDING_REFUSE, config->schedule, NULL,
                    "no producer can start (%s): allow Write on the topics that begin with %s., or "
                    "IdempotentWrite on the cluster",
                    why, config->schedule);
    else if (code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE ||
             code == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION)
        finding_add(findings, FINDING_REFUSE, config->schedule, NULL,
                    "the brokers do not serve idempotent producers, which every delivery needs "
                    "(%s): use brokers that do",
                    why);
    else
        finding_add(findings, FINDING_FAULT, config->schedule, NULL,
                    "no idempotent producer can start now (%s)", why);
}

static void judge_producer(const struct config *config, int timeout_ms, struct findings *findings)
{
    struct error error;
    atomic_bool has_id = false;
    rd_kafka_t *rk = make_idempotent(config, &has_id, &error);
    if (rk == NULL) {
        finding_add(findings, FINDING_REFUSE, config->schedule, NULL, "no producer can be made: %s",
                    error.text);
        return;
    }
    int64_t until_mono_ms = clock_mono_ms() + timeout_ms;
    rd_kafka_resp_err_t code = 0;
    while (code == 0 && !atomic_load(&has_id) && clock_mono_ms() < until_mono_ms) {
        rd_kafka_poll(rk, POLL_MS);
        code = rd_kafka_fatal_error(rk, error.text, sizeof error.text);
    }
    if (code != 0)
        judge_idempotent(config, code, error.text, findings);
    else if (!atomic_load(&has_id))
        finding_add(findings, FINDING_SKIPPED, config->schedule, NULL,
                    "whether the brokers serve idempotent producers is not known: no broker gave a "
                    "producer its id in time");
    rd_kafka_destroy(rk);
}

void producers_check(const struct config *config, int timeout_ms, struct findings *findings)
{
    bool group_is_served = group_check(config, timeout_ms, findings);
    if (config->exactly_once)
        judge_transactions(config, group_is_served, timeout_ms, findings);
    else
        judge_producer(config, timeout_ms, findings);
}
