/* SPDX-License-Identifier: Apache-2.0 */
/* control_log: entries that are read, of a topic that is missing, deleted and created again, on the
   mock cluster. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "consumer/control_log.h"
#include "tests/integration/scratch.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>

enum { PATIENCE_MS = 15000, STEP_MS = 10, SOON_MS = 1500 };

static char hosts[256];
static const char topic[] = "s.control";
static struct error error;
static struct property broker = {.name = (char *)"bootstrap.servers", .value = hosts};
static rd_kafka_t *mock, *levels;
static rd_kafka_mock_cluster_t *cluster;
static struct wakeup wakeup;
static struct control_log *control_log;
static int64_t skipped_ms; /* of the time that control_log gets */

static struct {
    int begun, known, changed, removed;
    char pattern[TOPIC_TEXT_MAX]; /* of the last record */
    bool is_full;                 /* no entry is taken */
} seen;

static void on_begun(void *ctx)
{
    (void)ctx;
    seen.begun++;
}

static bool on_changed(void *ctx, const struct control_record *record)
{
    (void)ctx;
    seen.changed++;
    seen.removed += record->is_removed;
    snprintf(seen.pattern, sizeof seen.pattern, "%s", record->control.pattern);
    return !seen.is_full;
}

static bool has_room(void *ctx)
{
    (void)ctx;
    return !seen.is_full;
}

static void on_known(void *ctx)
{
    (void)ctx;
    seen.known++;
}

static void start(void)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", error.text, sizeof error.text);
    mock = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    cr_assert_not_null(mock, "%s", error.text);
    cluster = rd_kafka_handle_mock_cluster(mock);
    snprintf(hosts, sizeof hosts, "%s", rd_kafka_mock_cluster_bootstraps(cluster));
    struct config config = {.kafka = &broker, .kafka_n = 1, .schedule = "s", .group = "s"};
    levels = client_new(RD_KAFKA_CONSUMER, client_conf(&config, CLIENT_LEVELS, &error), &error);
    cr_assert_not_null(levels, "%s", error.text);
    cr_assert_eq(wakeup_init(&wakeup), 0);
    control_log = control_log_new(&(struct control_log_config){.levels = levels,
                                                               .topic = topic,
                                                               .wakeup = &wakeup,
                                                               .logs = true,
                                                               .begun = on_begun,
                                                               .changed = on_changed,
                                                               .has_room = has_room,
                                                               .known = on_known});
    cr_assert_not_null(control_log);
}

static void stop(void)
{
    control_log_free(control_log);
    rd_kafka_destroy_flags(levels, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE); /* as the worker does */
    rd_kafka_destroy(mock);
    wakeup_deinit(&wakeup);
}

TestSuite(control_log, .init = start, .fini = stop);

static void create(void)
{
    cr_assert_eq(rd_kafka_mock_topic_create(cluster, topic, 1, 1), 0);
}

/* value: NULL for a null value. */
static void write_record(const char *key, const char *value)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", hosts, error.text, sizeof error.text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    cr_assert_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, strlen(key)),
                                   RD_KAFKA_V_VALUE((void *)value, value ? strlen(value) : 0),
                                   RD_KAFKA_V_END),
                 0);
    cr_assert_eq(rd_kafka_flush(rk, PATIENCE_MS), 0);
    rd_kafka_destroy(rk);
}

static void pause(const char *pattern)
{
    write_record(pattern, "{\"op\":\"pause\",\"at\":\"2026-11-26T08:00:00Z\"}");
}

static bool serve_until(const int *count, int least, int64_t within_ms)
{
    int64_t end_mono_ms = clock_mono_ms() + within_ms;
    while (*count < least && clock_mono_ms() < end_mono_ms) {
        control_log_serve(control_log, clock_mono_ms() + skipped_ms);
        poll(NULL, 0, STEP_MS);
    }
    return *count >= least;
}

Test(control_log, entries_are_known_at_the_end_of_the_log)
{
    create();
    pause("orders");
    write_record("orders", NULL);
    write_record("process:1", "{}");
    write_record("not a topic", "{}");
    pause("payments.*");
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    cr_expect_eq(seen.begun, 1);
    cr_expect_eq(seen.changed, 3);
    cr_expect_eq(seen.removed, 1);
    cr_expect_str_eq(seen.pattern, "payments.*");
    pause("orders");
    cr_expect(serve_until(&seen.changed, 4, PATIENCE_MS));
    cr_expect_eq(seen.known, 1);
}

/* The partition rests whenever its end was reached. */
Test(control_log, each_entry_is_read_within_a_second)
{
    create();
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    for (int n = 1; n <= 5; n++) {
        serve_until(&seen.changed, n, 150 * n); /* another moment of a rest each time */
        pause("orders");
        cr_expect(serve_until(&seen.changed, n, 1000), "entry %d", n);
    }
    cr_expect_eq(seen.known, 1);
}

/* A broker that has just started may not know the topic. Lanes would open without its pauses. */
Test(control_log, topic_counts_as_missing_after_several_looks)
{
    cr_expect_not(serve_until(&seen.known, 1, SOON_MS));
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    cr_expect_eq(seen.begun, 0);
    skipped_ms = 25000;
    create();
    cr_expect_not(serve_until(&seen.begun, 1, SOON_MS));
    skipped_ms += 10000;
    pause("orders");
    cr_expect(serve_until(&seen.known, 2, PATIENCE_MS));
    cr_expect_eq(seen.begun, 1);
    cr_expect_eq(seen.changed, 1);
}

/* The client may read a new topic from the offset that it reached in the old one. */
Test(control_log, deleted_topic_is_read_again_when_it_exists)
{
    create();
    pause("orders");
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    rd_kafka_mock_topic_set_error(cluster, topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    skipped_ms = 31000;
    cr_expect_not(serve_until(&seen.begun, 2, SOON_MS));
    rd_kafka_mock_topic_set_error(cluster, topic, RD_KAFKA_RESP_ERR_NO_ERROR);
    pause("payments");
    skipped_ms += 31000;
    cr_expect(serve_until(&seen.known, 2, PATIENCE_MS));
    cr_expect_eq(seen.begun, 2);
    cr_expect_geq(seen.changed, 3);
    cr_expect_str_eq(seen.pattern, "payments");
}

/* Lists of topics take 300 ms, and an old one would answer all look-ups. */
Test(control_log, each_look_needs_a_new_list_of_topics)
{
    rd_kafka_mock_broker_set_rtt(cluster, 1, 300);
    cr_expect_not(serve_until(&seen.known, 1, 2000));
    create();
    pause("orders");
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    cr_expect_eq(seen.begun, 1);
    cr_expect_eq(seen.changed, 1);
}

/* A topic without Describe is in no list. */
Test(control_log, topic_that_the_login_may_not_see_is_not_missing)
{
    enum { OFFSET_FETCH = 9, N = 32, SEVERAL_MS = 6000 };
    for (int i = 0; i < N; i++)
        rd_kafka_mock_push_request_errors(cluster, OFFSET_FETCH, 1,
                                          RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    for (int i = 0; i < 6; i++) {
        skipped_ms += 5000;
        cr_expect_not(serve_until(&seen.known, 1, SEVERAL_MS / 6));
    }
    rd_kafka_mock_clear_request_errors(cluster, OFFSET_FETCH);
    create();
    skipped_ms += 5000;
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    cr_expect_eq(seen.begun, 1);
}

/* Each process writes its summary every ten seconds, so the client reads another topic. */
Test(control_log, topic_without_new_summaries_is_read_again)
{
    create();
    pause("orders");
    write_record("process:1", "{}");
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    skipped_ms = 31000;
    cr_expect_not(serve_until(&seen.begun, 2, SOON_MS));
    skipped_ms += 31000;
    cr_expect(serve_until(&seen.known, 2, PATIENCE_MS));
    cr_expect_eq(seen.begun, 2);
    cr_expect_eq(seen.changed, 2);
}

/* Perhaps no process may write one. */
Test(control_log, topic_without_summaries_is_read_again_less_often_each_time)
{
    create();
    write_record("process:1", "{}");
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    skipped_ms = 62000;
    cr_expect(serve_until(&seen.known, 2, PATIENCE_MS));
    skipped_ms += 62000;
    cr_expect_not(serve_until(&seen.begun, 3, SOON_MS));
    skipped_ms += 62000;
    cr_expect(serve_until(&seen.known, 3, PATIENCE_MS));
    write_record("process:1", "{}");
    cr_expect_not(serve_until(&seen.begun, 4, SOON_MS));
    skipped_ms += 62000;
    cr_expect(serve_until(&seen.known, 4, PATIENCE_MS));
}

/* A topic that was created again may have more records than the old one had. Summaries still come.
 */
Test(control_log, topic_is_read_again_after_an_hour)
{
    create();
    pause("orders");
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    skipped_ms = 3500000;
    cr_expect_not(serve_until(&seen.begun, 2, SOON_MS));
    write_record("process:1", "{}");
    skipped_ms = 3632000;
    cr_expect(serve_until(&seen.known, 2, PATIENCE_MS));
    cr_expect_eq(seen.begun, 2);
    cr_expect_eq(seen.changed, 2);
}

Test(control_log, entry_without_room_is_taken_when_there_is_room)
{
    create();
    pause("orders");
    seen.is_full = true;
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    skipped_ms = 31000;
    cr_expect_not(serve_until(&seen.begun, 2, SOON_MS));
    seen.is_full = false;
    skipped_ms += 31000;
    cr_expect(serve_until(&seen.known, 2, PATIENCE_MS));
    cr_expect_eq(seen.changed, 2);
    skipped_ms += 31000;
    cr_expect_not(serve_until(&seen.begun, 3, SOON_MS));
}

/* The partition is assigned already, so the assignment fails. */
Test(control_log, failed_assignment_is_repeated)
{
    create();
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, topic, 0);
    cr_assert_null(rd_kafka_incremental_assign(levels, one));
    cr_expect_not(serve_until(&seen.begun, 1, SOON_MS));
    cr_assert_null(rd_kafka_incremental_unassign(levels, one));
    rd_kafka_topic_partition_list_destroy(one);
    cr_expect(serve_until(&seen.known, 1, PATIENCE_MS));
    cr_expect_eq(seen.begun, 1);
}
