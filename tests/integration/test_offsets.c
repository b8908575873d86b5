/* SPDX-License-Identifier: Apache-2.0 */
/* offsets and browse: the waiting records are those in the logs that the group has not committed as
   done. Browsing finds the first of them. The tests use the broker of KAFKA=host:port, else the
   mock. */
#include "consumer/admin/browse.h"
#include "consumer/admin/offsets.h"
#include "consumer/client/admin.h"
#include "consumer/client/log_ends.h"
#include "tests/integration/scratch.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { TIMEOUT_MS = 10000, LANES = 2, RECORDS = 10 };

static struct error error;

/* Returns a consumer as commands use it. Writes the addresses for a producer to brokers. */
static rd_kafka_t *consumer(const struct config *config, char *brokers, size_t size)
{
    bool real = getenv("KAFKA") != NULL;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    offsets_conf(config, conf);
    rd_kafka_conf_set(conf, real ? "bootstrap.servers" : "test.mock.num.brokers",
                      real ? getenv("KAFKA") : "1", error.text, sizeof error.text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error.text, sizeof error.text);
    cr_assert_not_null(rk, "%s", error.text);
    snprintf(brokers, size, "%s",
             real ? getenv("KAFKA")
                  : rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(rk)));
    return rk;
}

static void quiet(const char *line)
{
    (void)line;
}

static void apply(rd_kafka_t *rk, const struct config *config)
{
    struct findings left;
    struct topics_job job = {.timeout_ms = TIMEOUT_MS, .fewer_replicas = true, .say = quiet};
    cr_assert_eq(topics_apply(rk, config, &job, &left, &error), 0, "%s", error.text);
    findings_deinit(&left);
}

static void make_topics(rd_kafka_t *rk, const struct config *config)
{
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    char name[TOPIC_TEXT_MAX];
    for (int slot = 0; mock != NULL && slot < 4; slot++)
        rd_kafka_mock_topic_create(mock, offsets_topic(config, slot, name), LANES, 1);
    if (mock == NULL) {
        apply(rk, config);
        return;
    }
    rd_kafka_mock_topic_create(mock, topic_of_dead_letter(config->schedule, name), LANES, 1);
    rd_kafka_mock_topic_create(mock, topic_of_cancelled(config->schedule, name), LANES, 1);
}

static void fill(const char *brokers, const char *topic, int n)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, error.text, sizeof error.text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    for (int i = 0; i < n; i++)
        cr_assert_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(1),
                                       RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(rd_kafka_flush(rk, TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(rk);
}

/* Commits that the offsets below base, and those in `also`, are done. */
static void commit(rd_kafka_t *rk, const char *topic, int64_t base, const int64_t *also, size_t n)
{
    static struct window window;
    static char text[WINDOW_TEXT_MAX + 1];
    window_init(&window, base);
    for (size_t i = 0; i < n; i++)
        window_done(&window, also[i]);
    size_t len = window_encode(&window, text);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(list, topic, 1);
    at->offset = base;
    at->metadata = strdup(text);
    at->metadata_size = len;
    rd_kafka_resp_err_t code = rd_kafka_commit(rk, list, 0);
    cr_assert_eq(code, RD_KAFKA_RESP_ERR_NO_ERROR, "%s", rd_kafka_err2str(code));
    rd_kafka_topic_partition_list_destroy(list);
}

Test(offsets, records_that_are_not_done_count_as_waiting)
{
    struct config config = scratch_config("offsets", LANES, 1);
    char brokers[256], level[TOPIC_TEXT_MAX], name[TOPIC_TEXT_MAX];
    rd_kafka_t *rk = consumer(&config, brokers, sizeof brokers);
    make_topics(rk, &config);
    offsets_topic(&config, 2, level);
    fill(brokers, config.schedule, 3);
    fill(brokers, level, RECORDS);
    fill(brokers, topic_of_dead_letter(config.schedule, name), 5);
    fill(brokers, topic_of_cancelled(config.schedule, name), 6);
    commit(rk, level, 2, (const int64_t[]){4, 5, 7}, 3);

    struct offsets offsets = {.config = &config};
    cr_assert_eq(offsets_read(&offsets, rk, TIMEOUT_MS, &error), 0, "%s", error.text);
    cr_expect_eq(offsets.lanes, LANES);
    cr_expect_eq(offsets.slots, 4);
    cr_expect_eq(offsets.cancel_records, 6);
    cr_expect_eq(offsets.dead_letters, 5);
    cr_expect_eq(offsets_cell(&offsets, 1, 0)->waiting, 3);
    cr_expect_eq(offsets_cell(&offsets, 1, 0)->unread, 3);
    cr_expect_not(offsets_cell(&offsets, 1, 0)->committed);
    cr_expect_eq(offsets_cell(&offsets, 0, 0)->waiting, 0);
    const struct offsets_cell *cell = offsets_cell(&offsets, 1, 2);
    cr_expect(cell->committed);
    cr_expect_eq(cell->window->base, 2);
    cr_expect_eq(cell->end, RECORDS);
    cr_expect_eq(cell->waiting, RECORDS - 2 - 3);
    cr_expect_eq(cell->unread, 2, "those above the last done offset");
    cr_expect_eq(offsets_cell(&offsets, 1, 3)->waiting, 0);
    offsets_deinit(&offsets);
    rd_kafka_destroy(rk);
}

Test(offsets, missing_schedule_topic_is_an_error_with_a_command)
{
    struct config config = scratch_config("offsets", LANES, 1);
    char brokers[256];
    rd_kafka_t *rk = consumer(&config, brokers, sizeof brokers);
    struct offsets offsets = {.config = &config};
    cr_expect_eq(offsets_read(&offsets, rk, TIMEOUT_MS, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "delaybridge topics apply") != NULL, "%s", error.text);
    offsets_deinit(&offsets);
    rd_kafka_destroy(rk);
}

enum { ANSWERED_MS = 20, DOZE_AT_MS = 10, DOZE_MS = 60 };

static void doze(int number)
{
    (void)number;
    poll(NULL, 0, DOZE_MS);
}

/* One of two queries fails. This thread sleeps when the answers arrive, so that it finds both at
   once. */
Test(offsets, ends_of_a_log_are_both_known_or_both_unknown)
{
    enum { LIST_OFFSETS = 2, TRIES = 10 };
    struct config config = scratch_config("offsets", LANES, 1);
    char brokers[256];
    if (getenv("KAFKA") != NULL)
        cr_skip("only the mock answers with errors on demand\n");
    rd_kafka_t *rk = consumer(&config, brokers, sizeof brokers);
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    make_topics(rk, &config);
    fill(brokers, config.schedule, RECORDS);
    signal(SIGALRM, doze);
    for (int i = 0; i < TRIES; i++) {
        int64_t low = -1, end = -1;
        struct itimerval timer = {.it_value.tv_usec = DOZE_AT_MS * 1000};
        rd_kafka_mock_broker_push_request_error_rtts(
            mock, 1, LIST_OFFSETS, 2, i % 2 == 0 ? RD_KAFKA_RESP_ERR_UNKNOWN : 0, ANSWERED_MS,
            i % 2 == 0 ? 0 : RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE, ANSWERED_MS);
        setitimer(ITIMER_REAL, &timer, NULL);
        int err = log_ends_of(rk, config.schedule, 1, &low, &end, TIMEOUT_MS);
        cr_expect(err != 0 || (low == 0 && end == RECORDS), "it lies from %lld to %lld",
                  (long long)low, (long long)end);
        rd_kafka_mock_clear_request_errors(mock, LIST_OFFSETS);
    }
    rd_kafka_destroy(rk);
}

static int seen_n;
static int64_t seen[RECORDS];

static bool see(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    cr_assert_eq(tag, (intptr_t)seen);
    seen[seen_n++] = message->offset;
    return seen_n < *(int *)ctx;
}

/* Reads twice with one handle, as levels --watch does, then up to an end below the requested
   number. */
Test(offsets, browsing_ends_at_the_requested_number_or_at_the_end)
{
    struct config config = scratch_config("offsets", LANES, 1);
    char brokers[256];
    rd_kafka_t *rk = consumer(&config, brokers, sizeof brokers);
    make_topics(rk, &config);
    fill(brokers, config.schedule, RECORDS);
    int enough[] = {2, 2, RECORDS};
    for (size_t i = 0; i < 3; i++) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_t *at =
            rd_kafka_topic_partition_list_add(list, config.schedule, 1);
        at->offset = 4;
        at->opaque = seen;
        struct browse browse = {.rk = rk, .timeout_ms = TIMEOUT_MS, .each = see, .ctx = &enough[i]};
        seen_n = 0;
        cr_assert_eq(browse_read(&browse, list, &error), 0, "%s", error.text);
        cr_expect_eq(seen_n, i < 2 ? 2 : RECORDS - 4);
        cr_expect_eq(seen[0], 4);
        rd_kafka_topic_partition_list_destroy(list);
    }
    rd_kafka_destroy(rk);
}

Test(offsets, browsing_without_the_right_to_read_reports_it)
{
    struct config config = scratch_config("offsets", LANES, 1);
    char brokers[256];
    rd_kafka_t *rk = consumer(&config, brokers, sizeof brokers);
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    if (mock == NULL)
        cr_skip("only the mock answers with errors on demand\n");
    make_topics(rk, &config);
    fill(brokers, config.schedule, RECORDS);
    rd_kafka_mock_push_request_errors(mock, 1 /* Fetch */, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(list, config.schedule, 1);
    at->offset = 0;
    at->opaque = seen;
    int enough = 1;
    struct browse browse = {.rk = rk, .timeout_ms = TIMEOUT_MS, .each = see, .ctx = &enough};
    seen_n = 0;
    cr_expect_eq(browse_read(&browse, list, &error), ERR_KAFKA);
    cr_expect_eq(browse.code, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    char wanted[512];
    snprintf(wanted, sizeof wanted, "cannot read %s: allow Read on it", config.schedule);
    cr_expect_str_eq(error.text, wanted);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
}
