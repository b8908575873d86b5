/* SPDX-License-Identifier: Apache-2.0 */
/* insync: the topic's min.insync.replicas, or 0 if no broker returned it. */
#include "consumer/insync.h"

#include <criterion/criterion.h>

enum { IN_VAIN_MS = 500 };

static rd_kafka_t *client_of(const char *property, const char *value)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, property, value, error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    return rk;
}

/* The mock has no DescribeConfigs. */
Test(insync, brokers_without_an_answer_leave_it_unknown)
{
    rd_kafka_t *rk = client_of("test.mock.num.brokers", "3");
    cr_expect_eq(insync_least(rk, "orders", IN_VAIN_MS), 0);
    rd_kafka_destroy(rk);
}
