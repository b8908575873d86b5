/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable: the range of a batch that cannot be unpacked, and its dead letter. On the mock, with
   a consumer that unpacks a megabyte at most. */
#include "consumer/unreadable.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { TIMEOUT_MS = 20000, BIG = 500000, BATCH = 5 };

static const char *const DEAD = "requests.dead-letter";

static rd_kafka_t *client(rd_kafka_type_t type, const char *const (*settings)[2])
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (type == RD_KAFKA_CONSUMER)
        unreadable_conf(conf);
    else
        writing_conf(conf);
    for (; (*settings)[0] != NULL; settings++)
        cr_assert_eq(rd_kafka_conf_set(conf, (*settings)[0], (*settings)[1], error, sizeof error),
                     0, "%s", error);
    rd_kafka_t *rk = rd_kafka_new(type, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    return rk;
}

static rd_kafka_t *reader(const char *brokers)
{
    const char *const settings[][2] = {
        {"bootstrap.servers", brokers},           {"group.id", "unreadable"},
        {"message.max.bytes", "800000"},          {"fetch.max.bytes", "900000"},
        {"receive.message.max.bytes", "1000000"}, {NULL, NULL}};
    return client(RD_KAFKA_CONSUMER, settings);
}

/* Writes one batch of n records. */
static void write_batch(rd_kafka_t *producer, int n, size_t size)
{
    static char zeros[BIG];
    for (int i = 0; i < n; i++)
        cr_assert_eq(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("requests"),
                                       RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(zeros, size),
                                       RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
                     0);
    cr_assert_eq(rd_kafka_flush(producer, TIMEOUT_MS), 0);
}

static void expect_range(rd_kafka_t *consumer, int64_t at, int64_t from, int64_t end)
{
    struct range range = {.topic = "requests", .from = at};
    cr_assert_eq(unreadable_find(consumer, &range), 0);
    cr_expect_eq(range.from, from, "at %lld: from %lld", (long long)at, (long long)range.from);
    cr_expect_eq(range.end, end, "at %lld: to %lld", (long long)at, (long long)range.end);
}

static rd_kafka_t *writer(void)
{
    static const char *const settings[][2] = {
        {"test.mock.num.brokers", "1"}, {"compression.type", "zstd"},      {"linger.ms", "60000"},
        {"batch.size", "10000000"},     {"message.max.bytes", "10000000"}, {NULL, NULL}};
    return client(RD_KAFKA_PRODUCER, settings);
}

/* The log: 3 readable records, an unreadable batch, 2 records, two unreadable batches. */
Test(unreadable, range_is_the_batch_from_each_of_its_offsets)
{
    rd_kafka_t *producer = writer();
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(producer);
    rd_kafka_mock_topic_create(mock, "requests", 1, 1);
    write_batch(producer, 3, 1);
    write_batch(producer, BATCH, BIG);
    write_batch(producer, 2, 1);
    write_batch(producer, BATCH, BIG);
    write_batch(producer, 3, BIG);
    rd_kafka_t *consumer = reader(rd_kafka_mock_cluster_bootstraps(mock));
    expect_range(consumer, 2, 2, 2);
    for (int64_t at = 3; at < 8; at++)
        expect_range(consumer, at, at, 8);
    expect_range(consumer, 8, 8, 8);
    expect_range(consumer, 10, 10, 15);
    expect_range(consumer, 15, 15, 18);
    expect_range(consumer, 18, 18, 18);
    rd_kafka_destroy(consumer);
    rd_kafka_destroy(producer);
}

static rd_kafka_resp_err_t give_up(rd_kafka_t *producer, const struct range *range)
{
    struct writing writing = {.rk = producer, .topic = DEAD, .timeout_ms = TIMEOUT_MS};
    return unreadable_write(&writing, range);
}

Test(unreadable, dead_letter_is_found_by_its_range)
{
    rd_kafka_t *producer = writer();
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(producer);
    rd_kafka_mock_topic_create(mock, DEAD, 2, 1);
    rd_kafka_t *consumer = reader(rd_kafka_mock_cluster_bootstraps(mock));
    const struct range range = {.topic = "requests", .partition = 1, .from = 3, .end = 8};
    struct range other = range;
    other.end = 9;
    int64_t at = 0;
    bool found = true;
    cr_assert_eq(unreadable_look(consumer, DEAD, &range, &at, &found), 0);
    cr_expect(!found);
    cr_assert_eq(give_up(producer, &other), 0);
    cr_assert_eq(unreadable_look(consumer, DEAD, &range, &at, &found), 0);
    cr_expect(!found && at == 1);
    cr_assert_eq(give_up(producer, &range), 0);
    cr_assert_eq(unreadable_look(consumer, DEAD, &range, &at, &found), 0);
    cr_expect(found && at == 2);
    at = 0;
    cr_assert_eq(unreadable_look(consumer, DEAD, &other, &at, &found), 0);
    cr_expect(found && at == 1);
    rd_kafka_destroy(consumer);
    rd_kafka_destroy(producer);
}
