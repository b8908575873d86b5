/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of logs whose leaders change, on the mock cluster. */
#include "consumer/client/log_ends.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { BROKERS = 3, AWAIT_MS = 5000 };

static rd_kafka_t *rk;
static rd_kafka_mock_cluster_t *cluster;

static void setup(void)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "3", error, sizeof error);
    rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    cluster = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(cluster, "log", 1, BROKERS);
}

static void teardown(void)
{
    rd_kafka_destroy(rk);
}

TestSuite(log_ends, .init = setup, .fini = teardown);

static rd_kafka_resp_err_t await_end(void)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, "log", 0);
    rd_kafka_resp_err_t err = log_ends_await(rk, list, LOG_END, AWAIT_MS);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

/* The handle has no topic object. So the client keeps the leaders that it learned first. */
Test(log_ends, new_leader_is_found_by_a_handle_without_topics)
{
    for (int leader = 1; leader <= BROKERS; leader++) {
        rd_kafka_mock_partition_set_leader(cluster, "log", 0, leader);
        cr_expect_eq(await_end(), RD_KAFKA_RESP_ERR_NO_ERROR, "leader %d", leader);
    }
}
