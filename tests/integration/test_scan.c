/* SPDX-License-Identifier: Apache-2.0 */
/* scan: each record of the ranges is read once, no other, by one handle or several. The tests use
   the broker of KAFKA=host:port, else the mock. */
#include "consumer/admin/offsets.h"
#include "consumer/admin/scan.h"
#include "consumer/admin/topics.h"
#include "tests/integration/scratch.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdatomic.h>
#include <string.h>

enum { TIMEOUT_MS = 20000, PARTITIONS = 4, FEW = 1000, MANY = 75000 };

static struct error error;
static struct property broker;
static char brokers[256];

/* Counts the copies of each record. */
struct tally {
    atomic_uchar seen[PARTITIONS][MANY];
    atomic_int n;
    int enough; /* the scan ends after so many; 0: never */
};
static struct tally tally;

static bool count(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message)
{
    struct tally *t = ctx;
    cr_assert_eq(range->tag, message->partition + 7);
    t->seen[message->partition][message->offset]++;
    return ++t->n != t->enough;
}

static void quiet(const char *line)
{
    (void)line;
}

/* Creates the topics of the configuration: the mock cannot, and needs only the schedule topic. */
static void make_topics(rd_kafka_t *rk, const struct config *config)
{
    struct findings left;
    struct topics_job job = {.timeout_ms = TIMEOUT_MS, .fewer_replicas = true, .say = quiet};
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    if (mock != NULL) {
        rd_kafka_mock_topic_create(mock, config->schedule, PARTITIONS, 1);
        return;
    }
    cr_assert_eq(topics_apply(rk, config, &job, &left, &error), 0, "%s", error.text);
    findings_deinit(&left);
}

/* Returns a consumer of a broker, and lets config name that broker for further handles. */
static rd_kafka_t *consumer(struct config *config)
{
    bool real = getenv("KAFKA") != NULL;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    offsets_conf(config, conf);
    rd_kafka_conf_set(conf, real ? "bootstrap.servers" : "test.mock.num.brokers",
                      real ? getenv("KAFKA") : "1", error.text, sizeof error.text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error.text, sizeof error.text);
    cr_assert_not_null(rk, "%s", error.text);
    snprintf(brokers, sizeof brokers, "%s",
             real ? getenv("KAFKA")
                  : rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(rk)));
    broker = (struct property){.name = (char *)"bootstrap.servers", .value = brokers};
    config->kafka = &broker;
    config->kafka_n = 1;
    make_topics(rk, config);
    return rk;
}

static void fill(const char *topic, int n)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, error.text, sizeof error.text);
    rd_kafka_conf_set(conf, "linger.ms", "20", error.text, sizeof error.text);
    rd_kafka_conf_set(conf, "queue.buffering.max.messages", "1000000", NULL, 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    for (int i = 0; i < n * PARTITIONS; i++)
        cr_assert_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic),
                                       RD_KAFKA_V_PARTITION(i % PARTITIONS),
                                       RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(rd_kafka_flush(rk, TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(rk);
}

static struct scan_range range_of(const struct config *config, int partition, int64_t from,
                                  int64_t end)
{
    struct scan_range range = {
        .partition = partition, .from = from, .end = end, .tag = partition + 7};
    snprintf(range.topic, sizeof range.topic, "%s", config->schedule);
    return range;
}

static void expect_copies(const struct scan_range *ranges, int n, int64_t records)
{
    for (int p = 0; p < n; p++)
        for (int64_t offset = 0; offset < records; offset++) {
            bool inside = ranges[p].from <= offset && offset < ranges[p].end;
            cr_assert_eq(tally.seen[ranges[p].partition][offset], inside, "%d/%lld: %d",
                         ranges[p].partition, (long long)offset,
                         tally.seen[ranges[p].partition][offset]);
        }
}

static void scan(struct scan *with, struct scan_range *ranges, int n)
{
    memset(&tally.seen, 0, sizeof tally.seen);
    tally.n = 0;
    with->read = 0;
    cr_assert_eq(scan_read(with, ranges, n, &error), 0, "%s", error.text);
}

Test(scan, reads_each_record_of_the_ranges_once)
{
    struct config config = scratch_config("scan", PARTITIONS, 1);
    rd_kafka_t *rk = consumer(&config);
    fill(config.schedule, FEW);
    struct scan with = {
        .config = &config, .rk = rk, .timeout_ms = TIMEOUT_MS, .each = count, .ctx = &tally};
    struct scan_range ranges[] = {range_of(&config, 0, 100, 900), range_of(&config, 1, 0, FEW),
                                  range_of(&config, 2, 5, 5), range_of(&config, 3, FEW - 1, FEW)};
    for (int again = 0; again < 2; again++) { /* a handle can scan again */
        scan(&with, ranges, PARTITIONS);
        expect_copies(ranges, PARTITIONS, FEW);
        cr_expect_eq(with.read, 800 + FEW + 1);
    }
    scan(&with, ranges, 0);
    cr_expect_eq(with.read, 0);
    tally.enough = 10;
    scan(&with, ranges, PARTITIONS);
    cr_expect_eq(tally.n, 10);
    rd_kafka_destroy(rk);
}

Test(scan, divides_many_records_among_handles, .timeout = 60)
{
    struct config config = scratch_config("scan", PARTITIONS, 1);
    rd_kafka_t *rk = consumer(&config);
    fill(config.schedule, MANY);
    struct scan with = {
        .config = &config, .rk = rk, .timeout_ms = TIMEOUT_MS, .each = count, .ctx = &tally};
    struct scan_range ranges[PARTITIONS];
    for (int p = 0; p < PARTITIONS; p++)
        ranges[p] = range_of(&config, p, p, MANY - p);
    scan(&with, ranges, PARTITIONS);
    expect_copies(ranges, PARTITIONS, MANY);
    rd_kafka_destroy(rk);
}
