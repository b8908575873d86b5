/* SPDX-License-Identifier: Apache-2.0 */
/* loads and lane_ends: parts of logs are read in order, and only the position ends a load. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "consumer/lane_ends.h"
#include "consumer/loads.h"
#include "tests/integration/scratch.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>

enum { LANES = 2, RECORDS = 1000, PATIENCE_MS = 15000, STEP_MS = 10 };
enum { BIG = 500000 }; /* bytes of a value */
enum { ASLEEP_MS = 1500, SOON_MS = 300, HANG_MS = 40000, REPEAT_MS = 5000 };

static char schedule[] = "s", cancelled[] = "s.cancelled", hosts[256];
static struct error error;
static struct property broker = {.name = (char *)"bootstrap.servers", .value = hosts};
static rd_kafka_t *mock, *levels;
static rd_kafka_mock_cluster_t *cluster;
static struct wakeup wakeup;
static struct loads *loads;

/* The records that were read, by lane. */
static struct {
    int64_t first, last, n, next; /* next: -1 while the load has not ended */
    bool ordered;
} seen[LANES];

static void on_loaded(void *ctx, int lane, const struct record *record)
{
    (void)ctx;
    if (seen[lane].n++ == 0)
        seen[lane].first = record->offset;
    else
        seen[lane].ordered &= record->offset > seen[lane].last;
    seen[lane].last = record->offset;
}

static void on_ended(void *ctx, int lane, int64_t next)
{
    (void)ctx;
    seen[lane].next = next;
}

static struct config config_of_mock(void)
{
    return (struct config){.kafka = &broker, .kafka_n = 1, .schedule = schedule, .group = schedule};
}

static void fill(const char *topic, int records)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", hosts, error.text, sizeof error.text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < records; i++)
            cr_assert_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(lane),
                                           RD_KAFKA_V_VALUE("v", 1), RD_KAFKA_V_END),
                         0);
    cr_assert_eq(rd_kafka_flush(rk, PATIENCE_MS), 0);
    rd_kafka_destroy(rk);
}

/* Makes loads of these topics on a consumer that decompresses this many bytes of a batch at most.
 */
static void open_loads(const char *of_requests, const char *receive_max)
{
    struct config config = config_of_mock();
    rd_kafka_conf_t *conf = client_conf(&config, CLIENT_LEVELS, &error);
    if (receive_max != NULL) {
        rd_kafka_conf_set(conf, "message.max.bytes", "800000", NULL, 0);
        rd_kafka_conf_set(conf, "fetch.max.bytes", "900000", NULL, 0);
        rd_kafka_conf_set(conf, "receive.message.max.bytes", receive_max, NULL, 0);
        rd_kafka_conf_set(conf, "fetch.error.backoff.ms", "20", NULL, 0);
    }
    levels = client_new(RD_KAFKA_CONSUMER, conf, &error);
    cr_assert_not_null(levels, "%s", error.text);
    loads = loads_new(&(struct loads_config){.levels = levels,
                                             .schedule = of_requests,
                                             .cancelled = cancelled,
                                             .lanes = LANES,
                                             .wakeup = &wakeup,
                                             .loaded = on_loaded,
                                             .ended = on_ended});
    cr_assert_not_null(loads);
}

static void close_loads(void)
{
    loads_free(loads);
    rd_kafka_destroy_flags(levels, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void start(void)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "2", error.text, sizeof error.text);
    mock = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    cr_assert_not_null(mock, "%s", error.text);
    cluster = rd_kafka_handle_mock_cluster(mock);
    snprintf(hosts, sizeof hosts, "%s", rd_kafka_mock_cluster_bootstraps(cluster));
    rd_kafka_mock_topic_create(cluster, schedule, LANES, 1);
    rd_kafka_mock_topic_create(cluster, cancelled, LANES, 1);
    fill(schedule, RECORDS);
    cr_assert_eq(wakeup_init(&wakeup), 0);
    open_loads(schedule, NULL);
    for (int lane = 0; lane < LANES; lane++)
        seen[lane].next = -1, seen[lane].ordered = true;
}

static void stop(void)
{
    close_loads();
    wakeup_deinit(&wakeup);
    rd_kafka_destroy(mock);
}

/* Serves until the load of the lane has ended, or for wait_ms. Returns whether it has. */
static bool ends(int lane, int wait_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + wait_ms;
    while (seen[lane].next < 0 && clock_mono_ms() < until_mono_ms) {
        if (!loads_serve(loads, clock_mono_ms()))
            poll(NULL, 0, STEP_MS);
    }
    return seen[lane].next >= 0;
}

static void begin(enum load_log log, int lane, int64_t from, int64_t end)
{
    loads_begin(loads, &(struct load){log, lane, from, end});
}

TestSuite(loads, .init = start, .fini = stop);

Test(loads, a_load_reads_its_part_of_the_log_in_order)
{
    begin(LOAD_REQUESTS, 1, 100, 900);
    cr_assert(ends(1, PATIENCE_MS));
    cr_expect_eq(seen[1].first, 100);
    cr_expect_eq(seen[1].last, 899);
    cr_expect_eq(seen[1].n, 800);
    cr_expect(seen[1].ordered);
    cr_expect_eq(seen[1].next, 900);
    cr_expect_eq(seen[0].n, 0);
}

Test(loads, lanes_load_at_the_same_time)
{
    begin(LOAD_REQUESTS, 0, 0, RECORDS);
    begin(LOAD_REQUESTS, 1, 0, RECORDS);
    cr_assert(ends(0, PATIENCE_MS) && ends(1, PATIENCE_MS));
    cr_expect_eq(seen[0].n, RECORDS);
    cr_expect_eq(seen[1].n, RECORDS);
}

static int64_t high_watermark; /* as the client knows it; 0: the one of the mock cluster */
rd_kafka_resp_err_t __real_rd_kafka_get_watermark_offsets(rd_kafka_t *, const char *, int32_t,
                                                          int64_t *, int64_t *);
rd_kafka_resp_err_t __wrap_rd_kafka_get_watermark_offsets(rd_kafka_t *rk, const char *topic,
                                                          int32_t partition, int64_t *low,
                                                          int64_t *high);
rd_kafka_resp_err_t __wrap_rd_kafka_get_watermark_offsets(rd_kafka_t *rk, const char *topic,
                                                          int32_t partition, int64_t *low,
                                                          int64_t *high)
{
    rd_kafka_resp_err_t err =
        __real_rd_kafka_get_watermark_offsets(rk, topic, partition, low, high);
    if (high_watermark > 0)
        *high = high_watermark;
    return err;
}

/* The mock cluster has no last stable offset. */
Test(loads, a_load_waits_for_the_end_of_an_open_transaction)
{
    high_watermark = RECORDS + 10;
    begin(LOAD_REQUESTS, 0, 0, RECORDS + 10);
    cr_assert_not(ends(0, 1000));
    cr_expect_eq(seen[0].n, RECORDS);
    fill(schedule, 10);
    cr_assert(ends(0, PATIENCE_MS));
    cr_expect_eq(seen[0].n, RECORDS + 10);
    cr_expect_eq(seen[0].next, RECORDS + 10);
}

Test(loads, a_load_ends_when_the_log_loses_an_open_transaction)
{
    high_watermark = RECORDS + 10;
    begin(LOAD_REQUESTS, 0, 0, RECORDS + 10);
    cr_assert_not(ends(0, 1000));
    high_watermark = RECORDS;
    cr_assert(ends(0, PATIENCE_MS));
    cr_expect_eq(seen[0].next, RECORDS);
}

/* The log has lost its newest records after its end was queried. */
Test(loads, a_load_ends_early_if_the_log_ends_below_its_end)
{
    begin(LOAD_REQUESTS, 0, 100, RECORDS + 10);
    begin(LOAD_CANCELS, 1, 0, 10);
    cr_assert(ends(0, PATIENCE_MS) && ends(1, PATIENCE_MS));
    cr_expect_eq(seen[0].n, RECORDS - 100);
    cr_expect_eq(seen[0].next, RECORDS);
    cr_expect_eq(seen[1].next, 0);
}

Test(loads, a_load_that_begins_beyond_the_end_of_the_log_reads_nothing)
{
    begin(LOAD_REQUESTS, 0, RECORDS + 5, RECORDS + 10);
    begin(LOAD_CANCELS, 1, 5, 10);
    cr_assert(ends(0, PATIENCE_MS) && ends(1, PATIENCE_MS));
    cr_expect_eq(seen[0].n, 0);
    cr_expect_eq(seen[0].next, RECORDS + 5);
    cr_expect_eq(seen[1].next, 5);
}

Test(loads, a_new_load_replaces_the_one_of_its_lane)
{
    high_watermark = 2 * RECORDS;
    begin(LOAD_REQUESTS, 0, 0, 2 * RECORDS);
    cr_assert_not(ends(0, 500));
    begin(LOAD_REQUESTS, 0, 990, RECORDS);
    seen[0].n = 0;
    cr_assert(ends(0, PATIENCE_MS));
    cr_expect_eq(seen[0].first, 990);
    cr_expect_eq(seen[0].n, 10);
}

Test(loads, a_dropped_load_never_ends)
{
    begin(LOAD_REQUESTS, 0, 0, RECORDS);
    loads_drop(loads, 0);
    cr_expect_not(ends(0, 500));
    cr_expect_eq(seen[0].n, 0);
}

/* Writes one batch of n records to lane 0 of topic u. A batch of BIG records is unreadable for a
   consumer with a small receive.message.max.bytes. */
static void write_batch(int n, size_t size)
{
    static char zeros[BIG];
    static const char *const settings[][2] = {
        {"compression.type", "zstd"}, {"linger.ms", "60000"}, {"batch.size", "10000000"}};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", hosts, NULL, 0);
    rd_kafka_conf_set(conf, "message.max.bytes", "10000000", NULL, 0);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        rd_kafka_conf_set(conf, settings[i][0], settings[i][1], NULL, 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    for (int i = 0; i < n; i++)
        cr_assert_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("u"), RD_KAFKA_V_PARTITION(0),
                                       RD_KAFKA_V_VALUE(zeros, size), RD_KAFKA_V_END),
                     0);
    cr_assert_eq(rd_kafka_flush(rk, PATIENCE_MS), 0);
    rd_kafka_destroy(rk);
}

/* Expects that a load reads this many records of the log with unreadable batches. */
static void expect_readable(int64_t from, int64_t end, int64_t n)
{
    seen[0].n = 0;
    seen[0].next = -1;
    begin(LOAD_REQUESTS, 0, from, end);
    cr_assert(ends(0, PATIENCE_MS), "from %lld", (long long)from);
    cr_expect_eq(seen[0].n, n, "from %lld: %lld records", (long long)from, (long long)seen[0].n);
    cr_expect_eq(seen[0].next, end);
    cr_expect(seen[0].ordered);
}

/* The log: 3 readable records, an unreadable batch of 5, 2 records, an unreadable batch of 5, 3
   records, an unreadable batch of 2. */
Test(loads, a_load_reads_all_records_around_unreadable_batches)
{
    rd_kafka_mock_topic_create(cluster, "u", LANES, 1);
    for (int i = 0; i < 3; i++) {
        write_batch(i == 1 ? 2 : 3, 1);
        write_batch(i == 2 ? 2 : 5, BIG);
    }
    close_loads();
    open_loads("u", "1000000");
    expect_readable(0, 20, 8);
    for (int64_t from = 3; from < 8; from++)
        expect_readable(from, 18, 5);
    expect_readable(3, 7, 0);
    expect_readable(12, 16, 1);
    cr_expect_eq(seen[0].first, 15);
    expect_readable(18, 20, 0);
}

/* Begins a load after a while without any, and returns the time until it has ended. */
static int64_t begin_asleep(enum load_log log, int lane)
{
    poll(NULL, 0, ASLEEP_MS);
    seen[lane].next = -1;
    int64_t start_mono_ms = clock_mono_ms();
    begin(log, lane, 0, RECORDS);
    cr_assert(ends(lane, PATIENCE_MS));
    return clock_mono_ms() - start_mono_ms;
}

/* The threads of the client have nothing to do before each load. */
Test(loads, a_load_on_a_sleeping_handle_begins_at_once)
{
    static const enum load_log logs[] = {LOAD_CANCELS, LOAD_REQUESTS, LOAD_CANCELS, LOAD_REQUESTS};
    fill(cancelled, RECORDS);
    for (int i = 0; i < 4; i++) {
        int64_t took_ms = begin_asleep(logs[i], i / 2);
        cr_expect_lt(took_ms, SOON_MS, "load %d took %lld ms", i, (long long)took_ms);
        fprintf(stderr, "load %d took %lld ms\n", i, (long long)took_ms);
    }
}

/* lane_ends */

static struct {
    int answers;
    struct log_ends schedule, cancelled;
    bool whole;
} told[LANES];

static void on_answered(void *ctx, int lane, const struct log_ends *of_topics, bool whole)
{
    (void)ctx;
    told[lane].answers++;
    told[lane].schedule = of_topics[0];
    told[lane].cancelled = of_topics[1];
    told[lane].whole = whole;
}

static void serve(struct lane_ends *lane_ends, int lane, int wait_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + wait_ms;
    while (told[lane].answers == 0 && clock_mono_ms() < until_mono_ms) {
        lane_ends_serve(lane_ends);
        poll(NULL, 0, STEP_MS);
    }
}

static struct lane_ends *start_lane_ends(const struct config *config)
{
    static const char *const topics[] = {schedule, cancelled};
    struct lane_ends *lane_ends =
        lane_ends_new(&(struct lane_ends_config){.config = config,
                                                 .topics = topics,
                                                 .topics_n = 2,
                                                 .lanes = LANES,
                                                 .wakeup = &wakeup,
                                                 .answered = on_answered});
    cr_assert_not_null(lane_ends);
    return lane_ends;
}

Test(loads, the_ends_of_a_lane_are_those_of_its_logs)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_lane_ends(&config);
    lane_ends_ask(lane_ends, 1);
    serve(lane_ends, 1, PATIENCE_MS);
    cr_assert_eq(told[1].answers, 1);
    cr_expect_eq(told[1].schedule.start, 0);
    cr_expect_eq(told[1].schedule.end, RECORDS);
    cr_expect_eq(told[1].schedule.stable_end, RECORDS);
    cr_expect_eq(told[1].cancelled.end, 0);
    cr_expect(told[1].whole);
    cr_expect_eq(told[0].answers, 0);
    cr_expect(lane_ends_free(lane_ends));
}

static int threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks != NULL && readdir(tasks) != NULL)
        n++;
    closedir(tasks);
    return n;
}

static bool falls_below(struct lane_ends *lane_ends, int busy)
{
    for (int64_t until = clock_mono_ms() + PATIENCE_MS; clock_mono_ms() < until;) {
        lane_ends_serve(lane_ends);
        if (threads() < busy)
            return true;
        poll(NULL, 0, STEP_MS);
    }
    return false;
}

Test(loads, idle_handles_are_closed_and_opened_again)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_lane_ends(&config);
    for (int lane = 0; lane < LANES; lane++) {
        lane_ends_ask(lane_ends, lane);
        serve(lane_ends, lane, PATIENCE_MS);
        cr_expect_eq(told[lane].answers, 1);
        cr_expect(falls_below(lane_ends, threads()));
    }
    cr_expect(lane_ends_free(lane_ends));
}

/* Two lanes on two brokers, with a level between the two topics that a restore needs. */
static const char *const TWO_BROKERS[] = {"t", "t.1s", "t.cancelled"};

static struct lane_ends *start_on_two_brokers(const struct config *config)
{
    for (int topic = 0; topic < 3; topic++) {
        rd_kafka_mock_topic_create(cluster, TWO_BROKERS[topic], LANES, 2);
        for (int lane = 0; lane < LANES; lane++)
            rd_kafka_mock_partition_set_leader(cluster, TWO_BROKERS[topic], lane, 1 + lane);
    }
    struct lane_ends *lane_ends =
        lane_ends_new(&(struct lane_ends_config){.config = config,
                                                 .topics = TWO_BROKERS,
                                                 .topics_n = 3,
                                                 .lanes = LANES,
                                                 .wakeup = &wakeup,
                                                 .answered = on_answered});
    cr_assert_not_null(lane_ends);
    return lane_ends;
}

static void ask_both(struct lane_ends *lane_ends)
{
    for (int lane = 0; lane < LANES; lane++) {
        told[lane].answers = 0;
        lane_ends_ask(lane_ends, lane);
    }
}

Test(loads, a_log_without_a_leader_delays_no_other_lane)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_on_two_brokers(&config);
    rd_kafka_mock_partition_set_leader(cluster, "t", 0, -1);
    ask_both(lane_ends);
    serve(lane_ends, 1, PATIENCE_MS);
    cr_expect_eq(told[1].answers, 1);
    cr_expect(told[1].whole);
    cr_expect_eq(told[0].answers, 0);
    cr_expect(lane_ends_free(lane_ends));
}

Test(loads, a_level_without_a_leader_prevents_only_seals)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_on_two_brokers(&config);
    rd_kafka_mock_partition_set_leader(cluster, "t.1s", 0, -1);
    ask_both(lane_ends);
    serve(lane_ends, 0, PATIENCE_MS);
    cr_expect_eq(told[0].answers, 1);
    cr_expect_not(told[0].whole);
    cr_expect(told[1].whole);
    cr_expect(lane_ends_free(lane_ends));
}

Test(loads, a_broker_that_is_away_delays_no_lane_of_others)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_on_two_brokers(&config);
    ask_both(lane_ends); /* the handles learn the leaders */
    serve(lane_ends, 0, PATIENCE_MS);
    rd_kafka_mock_broker_set_down(cluster, 1);
    ask_both(lane_ends);
    serve(lane_ends, 1, PATIENCE_MS);
    cr_expect_eq(told[1].answers, 1);
    cr_expect_eq(told[0].answers, 0);
    cr_expect(lane_ends_free(lane_ends));
}

Test(loads, a_broker_that_hangs_delays_no_lane_that_it_led)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_on_two_brokers(&config);
    ask_both(lane_ends); /* the handles learn the leaders */
    serve(lane_ends, 0, PATIENCE_MS);
    rd_kafka_mock_broker_set_rtt(cluster, 1, HANG_MS);
    for (int topic = 0; topic < 3; topic++)
        rd_kafka_mock_partition_set_leader(cluster, TWO_BROKERS[topic], 0, 2);
    int64_t until_mono_ms = clock_mono_ms() + HANG_MS / 2;
    do {
        ask_both(lane_ends);
        serve(lane_ends, 0, REPEAT_MS);
    } while (told[0].answers == 0 && clock_mono_ms() < until_mono_ms);
    cr_expect_eq(told[0].answers, 1);
    cr_expect_eq(told[1].answers, 1);
    rd_kafka_mock_broker_set_rtt(cluster, 1, 0);
    cr_expect(lane_ends_free(lane_ends));
}

Test(loads, a_lane_that_is_lost_gets_no_answer)
{
    struct config config = config_of_mock();
    struct lane_ends *lane_ends = start_lane_ends(&config);
    lane_ends_ask(lane_ends, 0);
    lane_ends_serve(lane_ends);
    lane_ends_drop_all(lane_ends);
    serve(lane_ends, 0, 1000);
    cr_expect_eq(told[0].answers, 0);
    lane_ends_ask(lane_ends, 0);
    serve(lane_ends, 0, PATIENCE_MS);
    cr_expect_eq(told[0].answers, 1);
    cr_expect(lane_ends_free(lane_ends));
}
