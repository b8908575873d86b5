/* SPDX-License-Identifier: Apache-2.0 */
/* insync: the topic's min.insync.replicas, or 0 if no broker returned it. With KAFKA=host:port one
   test makes a topic on that broker, otherwise it is skipped. */
#include "consumer/client/admin.h"
#include "consumer/insync.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMEOUT_MS = 10000, IN_VAIN_MS = 500, LEAST = 3 };

static rd_kafka_t *client_of(const char *property, const char *value)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, property, value, error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    return rk;
}

static void create(rd_kafka_t *rk, const char *topic, const char *least)
{
    char error[512];
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    rd_kafka_NewTopic_t *wanted = rd_kafka_NewTopic_new(topic, 1, 1, error, sizeof error);
    rd_kafka_NewTopic_set_config(wanted, "min.insync.replicas", least);
    rd_kafka_event_t *event = admin_create(&admin, &wanted, 1);
    rd_kafka_NewTopic_destroy(wanted);
    cr_assert_not_null(event, "%s", admin.error.text);
    rd_kafka_event_destroy(event);
}

/* Repeats the look, because brokers show a topic a moment after its creation. */
static int least_when_shown(rd_kafka_t *rk, const char *topic)
{
    for (int tries = 0;; tries++) {
        int least = insync_least(rk, topic, TIMEOUT_MS);
        if (tries == 50 || least != 0)
            return least;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

/* The mock cluster has no DescribeConfigs. */
Test(insync, brokers_without_an_answer_leave_it_unknown)
{
    rd_kafka_t *rk = client_of("test.mock.num.brokers", "3");
    cr_expect_eq(insync_least(rk, "orders", IN_VAIN_MS), 0);
    rd_kafka_destroy(rk);
}

Test(insync, real_brokers_return_the_setting_of_a_topic)
{
    if (getenv("KAFKA") == NULL)
        cr_skip("needs KAFKA=host:port\n");
    char topic[64], least[16];
    snprintf(topic, sizeof topic, "insync-%lld", (long long)time(NULL));
    snprintf(least, sizeof least, "%d", LEAST);
    rd_kafka_t *rk = client_of("bootstrap.servers", getenv("KAFKA"));
    create(rk, topic, least);
    cr_expect_eq(least_when_shown(rk, topic), LEAST);
    cr_expect_eq(insync_least(rk, "there-is-no-such-topic", TIMEOUT_MS), 0);
    rd_kafka_destroy(rk);
}
