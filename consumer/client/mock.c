/* SPDX-License-Identifier: Apache-2.0 */
/* The mock cluster, hosted by its own client handle. */
#include "consumer/client/mock.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>

struct mock {
    rd_kafka_t *host;
    rd_kafka_mock_cluster_t *cluster;
};

/* Newer than librdkafka 2.0.2: NULL there. */
extern __attribute__((weak)) void
rd_kafka_mock_group_initial_rebalance_delay_ms(rd_kafka_mock_cluster_t *cluster, int32_t delay_ms);

void mock_join_at_once(struct mock *m)
{
    if (rd_kafka_mock_group_initial_rebalance_delay_ms != NULL)
        rd_kafka_mock_group_initial_rebalance_delay_ms(m->cluster, 0);
}

struct mock *mock_start(struct error *error)
{
    struct mock *m = calloc(1, sizeof *m);
    if (m == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    /* The host has no bootstrap.servers, and would warn of that. */
    rd_kafka_conf_set(conf, "log_level", "3", NULL, 0);
    m->host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error->text, sizeof error->text);
    if (m->host == NULL) {
        rd_kafka_conf_destroy(conf);
        free(m);
        return NULL;
    }
    m->cluster = rd_kafka_mock_cluster_new(m->host, 1);
    if (m->cluster == NULL) {
        (void)error_set(error, ERR_KAFKA, "librdkafka's mock cluster does not start");
        mock_stop(m);
        return NULL;
    }
    return m;
}

void mock_stop(struct mock *m)
{
    if (m->cluster != NULL)
        rd_kafka_mock_cluster_destroy(m->cluster);
    rd_kafka_destroy(m->host);
    free(m);
}

const char *mock_bootstrap(const struct mock *m)
{
    return rd_kafka_mock_cluster_bootstraps(m->cluster);
}

int mock_topic(struct mock *m, const char *topic, int partitions)
{
    return rd_kafka_mock_topic_create(m->cluster, topic, partitions, 1) == 0 ? 0 : ERR_KAFKA;
}

void mock_delay(struct mock *m, int round_trip_ms)
{
    rd_kafka_mock_broker_set_rtt(m->cluster, 1, round_trip_ms);
}

void mock_fail(struct mock *m, int api, int code, int n)
{
    if (n == 0)
        rd_kafka_mock_clear_request_errors(m->cluster, (int16_t)api);
    for (int i = 0; i < n; i++)
        rd_kafka_mock_push_request_errors(m->cluster, (int16_t)api, 1, code);
}
