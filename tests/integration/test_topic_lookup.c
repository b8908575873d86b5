/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of topic_lookup, on the mock cluster, which has leaders and replicas. */
#include "bridge/base/clock.h"
#include "consumer/topic_lookup.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { ASK_AGAIN_US = 100 * 1000, ASKS_MAX = 50, NAMES = 2000, LATER_MS = 5000 };

static void ignore(void *ctx, int32_t number)
{
    (void)ctx, (void)number;
}

static rd_kafka_t *rk;
static rd_kafka_mock_cluster_t *cluster;
static struct wakeup wakeup;
static struct topic_lookup *lookup;

static void setup(void)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "3", error, sizeof error);
    rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    cluster = rd_kafka_handle_mock_cluster(rk);
    cr_assert_eq(wakeup_init(&wakeup), 0);
    lookup = topic_lookup_new(&wakeup);
    cr_assert_not_null(lookup);
}

static void teardown(void)
{
    topic_lookup_free(lookup);
    rd_kafka_destroy(rk);
    wakeup_deinit(&wakeup);
}

/* partition: -1 looks up the topic. */
static enum lookup answer_of(const char *topic, int partition)
{
    enum lookup found = LOOKUP_PENDING;
    for (int i = 0; i < ASKS_MAX && found == LOOKUP_PENDING; i++) {
        found = partition < 0 ? topic_lookup_get(lookup, rk, topic)
                              : topic_lookup_get_partition(lookup, rk, topic, partition);
        if (found == LOOKUP_PENDING)
            wakeup_wait(&wakeup, 0, ASK_AGAIN_US, ignore, NULL);
    }
    return found;
}

static enum lookup answer(const char *topic)
{
    return answer_of(topic, -1);
}

TestSuite(topic_lookup, .init = setup, .fini = teardown);

Test(topic_lookup, partition_without_a_leader_makes_its_topic_leaderless)
{
    rd_kafka_mock_topic_create(cluster, "three", 2, 3);
    rd_kafka_mock_topic_create(cluster, "one", 2, 1);
    cr_expect_eq(answer("three"), LOOKUP_WHOLE);
    cr_expect_eq(answer("one"), LOOKUP_WHOLE);
    rd_kafka_mock_partition_set_leader(cluster, "one", 1, -1);
    cr_expect_eq(answer("one"), LOOKUP_UNWRITABLE);
}

Test(topic_lookup, one_answer_serves_all_partitions_of_a_topic)
{
    rd_kafka_mock_topic_create(cluster, "level", 2, 1);
    rd_kafka_mock_partition_set_leader(cluster, "level", 1, -1);
    cr_expect_eq(answer_of("level", 0), LOOKUP_WHOLE);
    cr_expect_eq(topic_lookup_get_partition(lookup, rk, "level", 1), LOOKUP_UNWRITABLE);
}

/* Its records would break one transaction after another. */
Test(topic_lookup, partition_that_the_topic_does_not_have_is_unwritable)
{
    rd_kafka_mock_topic_create(cluster, "events", 2, 1);
    cr_expect_eq(answer_of("events", 1), LOOKUP_WHOLE);
    cr_expect_eq(topic_lookup_get_partition(lookup, rk, "events", 2), LOOKUP_UNWRITABLE);
}

/* The client would keep each name and request its metadata every second. */
Test(topic_lookup, missing_names_never_reach_the_client)
{
    char name[32];
    cr_expect_eq(answer("missing"), LOOKUP_MISSING);
    int64_t begun_ms = clock_mono_ms();
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "missing-%d", i);
        cr_expect_eq(answer(name), LOOKUP_MISSING);
    }
    cr_expect_lt(clock_mono_ms() - begun_ms, NAMES, "each name costs a request");
    const struct rd_kafka_metadata *known;
    cr_assert_eq(rd_kafka_metadata(rk, 0, NULL, &known, 5000), 0);
    cr_expect_eq(known->topic_cnt, 0, "the client knows %d names", known->topic_cnt);
    rd_kafka_metadata_destroy(known);
}

Test(topic_lookup, topic_that_is_created_later_is_found_within_seconds)
{
    cr_expect_eq(answer("later"), LOOKUP_MISSING);
    rd_kafka_mock_topic_create(cluster, "later", 2, 1);
    int64_t begun_ms = clock_mono_ms();
    while (answer("later") == LOOKUP_MISSING && clock_mono_ms() - begun_ms < LATER_MS)
        wakeup_wait(&wakeup, 0, ASK_AGAIN_US, ignore, NULL);
    cr_expect_eq(answer("later"), LOOKUP_WHOLE);
}
