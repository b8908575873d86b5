/* SPDX-License-Identifier: Apache-2.0 */
/* keepalive: on the mock, whose brokers may answer as slowly as one that has stopped. */
#include "bridge/base/clock.h"
#include "consumer/keepalive.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { BROKERS = 2, SILENT_MS = 4000, SOON_MS = 1000 };

static rd_kafka_t *rk;
static rd_kafka_mock_cluster_t *cluster;
static struct keepalive *keepalive;

static void make_chosen_keepalives(void)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "2", error, sizeof error);
    rd_kafka_conf_set(conf, "group.id", "g", error, sizeof error);
    rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    cluster = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(cluster, "s.pulse", BROKERS, 1);
    for (int i = 0; i < BROKERS; i++)
        rd_kafka_mock_partition_set_leader(cluster, "s.pulse", i,
                                           i + 1); /* the mock chooses leaders at random */
    keepalive = keepalive_new("s.pulse");
    cr_assert_not_null(keepalive);
    cr_assert(keepalive_choose(keepalive, rk, SILENT_MS));
}

static void free_keepalives(void)
{
    keepalive_free(keepalive);
    rd_kafka_destroy(rk);
}

static void expect_starts(int64_t offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(BROKERS);
    keepalive_add(keepalive, list);
    cr_assert_eq(list->cnt, BROKERS);
    for (int i = 0; i < list->cnt; i++)
        cr_expect_eq(list->elems[i].offset, offset, "%lld", (long long)list->elems[i].offset);
    rd_kafka_topic_partition_list_destroy(list);
}

static void silence_brokers(void)
{
    for (int broker = 1; broker <= BROKERS; broker++)
        rd_kafka_mock_broker_set_rtt(cluster, broker, SILENT_MS);
}

TestSuite(keepalive, .init = make_chosen_keepalives, .fini = free_keepalives);

Test(keepalive, silent_brokers_delay_no_wakeup)
{
    keepalive_wake(keepalive, rk); /* the leaders are known now */
    silence_brokers();
    int64_t start_ms = clock_mono_ms();
    keepalive_wake(keepalive, rk);
    int64_t took_ms = clock_mono_ms() - start_ms;
    cr_expect_lt(took_ms, SOON_MS, "it took %lld ms", (long long)took_ms);
}

Test(keepalive, reading_starts_at_the_end_once_the_end_is_known)
{
    expect_starts(RD_KAFKA_OFFSET_BEGINNING);
    keepalive_wake(keepalive, rk);
    expect_starts(0);
    silence_brokers();
    keepalive_wake(keepalive, rk);
    expect_starts(RD_KAFKA_OFFSET_BEGINNING);
}
