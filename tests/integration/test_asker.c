/* SPDX-License-Identifier: Apache-2.0 */
/* asker: what brokers' answers say of a target. On the mock, which has leaders and replicas. */
#include "consumer/asker.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { ASK_AGAIN_US = 100 * 1000, ASKS_MAX = 50 };

static void ignore(void *ctx, int32_t number)
{
    (void)ctx, (void)number;
}

static enum lookup answer(struct asker *asker, rd_kafka_t *rk, struct bell *bell, const char *topic)
{
    enum lookup found = LOOKUP_PENDING;
    for (int i = 0; i < ASKS_MAX && found == LOOKUP_PENDING; i++) {
        found = asker_ask(asker, rk, topic);
        if (found == LOOKUP_PENDING)
            bell_wait(bell, ASK_AGAIN_US, ignore, NULL);
    }
    return found;
}

Test(asker, target_without_a_leader_is_found_and_not_whole)
{
    char error[512];
    struct bell bell;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "3", error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    rd_kafka_mock_cluster_t *cluster = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(cluster, "three", 2, 3);
    rd_kafka_mock_topic_create(cluster, "one", 2, 1);
    cr_assert_eq(bell_init(&bell), 0);
    struct asker *asker = asker_new(&bell);
    cr_assert_not_null(asker);

    cr_expect_eq(answer(asker, rk, &bell, "three"), LOOKUP_WHOLE);
    cr_expect_eq(answer(asker, rk, &bell, "one"), LOOKUP_WHOLE);
    rd_kafka_mock_partition_set_leader(cluster, "one", 1, -1);
    cr_expect_eq(answer(asker, rk, &bell, "one"), LOOKUP_FOUND);

    asker_free(asker);
    rd_kafka_destroy(rk);
    bell_deinit(&bell);
}
