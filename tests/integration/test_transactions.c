/* SPDX-License-Identifier: Apache-2.0 */
/* transactions: what check says of brokers that do not let a transactional producer start. On the
   mock. */
#include "consumer/admin/topics.h"
#include "tests/integration/scratch.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <string.h>

enum { ASK_MS = 3000, API_FIND_COORDINATOR = 10, API_INIT_PRODUCER_ID = 22 };

static rd_kafka_t *host;
static rd_kafka_mock_cluster_t *mock;

static void start(void)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", error, sizeof error);
    host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(host, "%s", error);
    mock = rd_kafka_handle_mock_cluster(host);
}

static void stop(void)
{
    rd_kafka_destroy(host);
}

TestSuite(transactions, .init = start, .fini = stop);

/* Checks that there are n findings, and that the last one is this. */
static void expect(size_t n, enum finding_kind kind, const char *words)
{
    struct config config = scratch_config("transactions", 1, 1);
    struct property brokers = {.role = CLIENT_ALL,
                               .name = (char *)"bootstrap.servers",
                               .value = (char *)rd_kafka_mock_cluster_bootstraps(mock)};
    struct findings findings = {0};
    config.kafka = &brokers;
    config.kafka_n = 1;
    config.exactly_once = true;
    producers_check(&config, ASK_MS, &findings);
    cr_assert_eq(findings.n, n);
    const struct finding *last = &findings.items[n - 1];
    cr_expect_eq(last->kind, kind);
    cr_expect_not_null(strstr(last->sentence, words), "%s", last->sentence);
    if (n > 1)
        cr_expect_not_null(strstr(findings.items[0].sentence, "the group has no coordinator"));
    findings_deinit(&findings);
}

Test(transactions, brokers_without_transactions_refuse_the_start)
{
    rd_kafka_mock_set_apiversion(mock, API_INIT_PRODUCER_ID, -1, -1);
    expect(1, FINDING_REFUSE, "the brokers do not serve transactions");
}

Test(transactions, a_login_without_the_right_refuses_the_start)
{
    rd_kafka_mock_push_request_errors(mock, API_INIT_PRODUCER_ID, 1,
                                      RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    expect(1, FINDING_REFUSE, "a transactional producer cannot start");
}

Test(transactions, a_coordinator_that_is_away_is_a_fault)
{
    enum { ERRORS_N = 200 };
    rd_kafka_resp_err_t errors[ERRORS_N];
    for (int i = 0; i < ERRORS_N; i++)
        errors[i] = RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
    rd_kafka_mock_push_request_errors_array(mock, API_FIND_COORDINATOR, ERRORS_N, errors);
    expect(2, FINDING_FAULT, "no transactional producer can start now");
}
