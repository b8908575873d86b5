/* SPDX-License-Identifier: Apache-2.0 */
/* worker: when its turns begin, and what a fenced member does. On the mock. The linker sends calls
   of wakeup_wait to this file (--wrap), so that turns are counted. */
#include "bridge/base/clock.h"
#include "bridge/commands/embedded.h"
#include "bridge/service/worker_parts.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <poll.h>
#include <stdio.h>

enum {
    LANES = 1,
    TIMEOUT_MS = 20000,
    BUSY_MS = 300,
    BACKLOG = 3000,
    BACKLOG_TURNS = 10, /* far fewer than one for each QUEUE_QUOTA of the backlog */
    API_HEARTBEAT = 12
};

struct stage {
    struct mock *mock;
    struct config config;
    struct worker *worker;
};

static atomic_int turns, rests, turns_with_work_left;

void __real_wakeup_wait(struct wakeup *wakeup, int64_t rest_us, int64_t wait_us,
                        void (*each)(void *ctx, int32_t number), void *ctx);
void __wrap_wakeup_wait(struct wakeup *wakeup, int64_t rest_us, int64_t wait_us,
                        void (*each)(void *ctx, int32_t number), void *ctx);

void __wrap_wakeup_wait(struct wakeup *wakeup, int64_t rest_us, int64_t wait_us,
                        void (*each)(void *ctx, int32_t number), void *ctx)
{
    turns++;
    rests += rest_us > 0 && wait_us > 0;
    turns_with_work_left += wait_us == 0;
    __real_wakeup_wait(wakeup, rest_us, wait_us, each, ctx);
}

static void make(struct stage *s, const char *delivery, const char *instance)
{
    char servers[128];
    struct error error;
    s->mock = mock_start(&error);
    cr_assert_not_null(s->mock, "%s", error.text);
    mock_join_at_once(s->mock);
    snprintf(servers, sizeof servers, "bootstrap.servers=%s", mock_bootstrap(s->mock));
    char *argv[] = {(char *)"-X",
                    servers,
                    (char *)"--levels=1s,1m",
                    (char *)"--targets=orders.*",
                    (char *)"--drain=0s",
                    (char *)"--listen=",
                    (char *)"--canary=0s",
                    (char *)"--partitions=1",
                    (char *)"--replication=1",
                    (char *)"-Xsession.timeout.ms=3000",
                    (char *)delivery,
                    (char *)instance};
    int argc = sizeof argv / sizeof *argv - (instance == NULL ? 1 : 0);
    cr_assert_eq(config_load(&s->config, "/dev/null", &argc, argv, NULL, &error), 0, "%s",
                 error.text);
    cr_assert_eq(embedded_topics(s->mock, &s->config, LANES), 0);
}

static void start(struct stage *s)
{
    struct error error;
    struct worker_config config = {.config = &s->config,
                                   .lanes = LANES,
                                   .commits = {.text_max = 4096, .again_ms = COMMIT_AGAIN_MAX_MS},
                                   .record_max_bytes = 1000000,
                                   .failure_fd = -1};
    cr_assert_eq(worker_start(&config, &s->worker, &error), 0, "%s", error.text);
}

static void stop(struct stage *s)
{
    worker_stop(s->worker);
    worker_join(s->worker);
    worker_free(s->worker);
    config_deinit(&s->config);
    mock_stop(s->mock);
}

/* Wakes the worker repeatedly for BUSY_MS. Returns the ms that this took. */
static int64_t keep_busy(struct stage *s)
{
    const struct timespec pause = {.tv_nsec = 20000};
    int64_t begun_mono_ms = clock_mono_ms();
    turns = rests = 0;
    while (clock_mono_ms() - begun_mono_ms < BUSY_MS) {
        worker_reload(s->worker, &s->config);
        nanosleep(&pause, NULL);
    }
    return clock_mono_ms() - begun_mono_ms;
}

/* Two turns share a millisecond if the turn before them began more than a millisecond ago: the
   first one does not rest. */
Test(worker, busy_worker_rests_between_turns)
{
    struct stage stage;
    make(&stage, "--delivery=at-least-once", NULL);
    start(&stage);
    int64_t took_ms = keep_busy(&stage);
    cr_expect_gt(rests, 0);
    cr_expect_leq(turns, 2 * took_ms, "%d turns in %lld ms", turns, (long long)took_ms);
    stop(&stage);
}

Test(worker, exactly_once_never_rests)
{
    struct stage stage;
    make(&stage, "--delivery=exactly-once", NULL);
    start(&stage);
    keep_busy(&stage);
    cr_expect_gt(turns, 0);
    cr_expect_eq(rests, 0);
    stop(&stage);
}

/* Writes requests that are due in two minutes. */
static void write_backlog(const struct stage *s)
{
    char due[32], error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", mock_bootstrap(s->mock), error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    snprintf(due, sizeof due, "%lld", (long long)clock_wall_ms() + 120000);
    for (int i = 0; i < BACKLOG; i++)
        cr_assert_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(s->config.schedule),
                                       RD_KAFKA_V_VALUE((void *)"order", 5),
                                       RD_KAFKA_V_HEADER("dlb-deliver-at", due, -1),
                                       RD_KAFKA_V_HEADER("dlb-target", "orders.due", -1),
                                       RD_KAFKA_V_END),
                     0);
    cr_assert_eq(rd_kafka_flush(rk, TIMEOUT_MS), 0);
    rd_kafka_destroy(rk);
}

/* Starts a worker and waits until it has read this many requests. Returns how many of its turns
   left work. */
static int turns_that_left_work(int backlog)
{
    struct stage stage;
    make(&stage, "--delivery=at-least-once", NULL);
    if (backlog > 0)
        write_backlog(&stage);
    turns_with_work_left = 0;
    start(&stage);
    int64_t until_mono_ms = clock_mono_ms() + TIMEOUT_MS;
    while (counter_read(&worker_stats(stage.worker)->requests) < (uint64_t)backlog &&
           clock_mono_ms() < until_mono_ms)
        poll(NULL, 0, 10);
    poll(NULL, 0, BUSY_MS);
    cr_expect_eq(counter_read(&worker_stats(stage.worker)->requests), (uint64_t)backlog);
    stop(&stage);
    return turns_with_work_left;
}

/* Each turn takes a limited number of records of a queue, so a backlog needs many turns. */
Test(worker, turn_that_leaves_work_is_followed_by_the_next_without_a_rest)
{
    int without = turns_that_left_work(0);
    int with = turns_that_left_work(BACKLOG);
    cr_expect_geq(with, without + BACKLOG_TURNS, "%d turns left work, and %d without a backlog",
                  with, without);
}

/* Fences the member, and waits until it has joined again or the worker has ended. Returns whether
   it has ended. */
static bool ends_when_fenced(const struct stage *s)
{
    uint64_t rebalances = counter_read(&worker_stats(s->worker)->rebalances);
    mock_fail(s->mock, API_HEARTBEAT, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, 1);
    int64_t until_mono_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!worker_failed(s->worker) &&
           (counter_read(&worker_stats(s->worker)->rebalances) == rebalances ||
            !worker_joined(s->worker))) {
        cr_assert_lt(clock_mono_ms(), until_mono_ms);
        poll(NULL, 0, 10);
    }
    return worker_failed(s->worker);
}

static void await_joined(const struct stage *s)
{
    int64_t until_mono_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!worker_joined(s->worker) && clock_mono_ms() < until_mono_ms)
        poll(NULL, 0, 10);
    cr_assert(worker_joined(s->worker));
}

static void fence_twice(const char *delivery)
{
    struct stage stage;
    make(&stage, delivery, "-Xgroup.instance.id=a");
    start(&stage);
    await_joined(&stage);
    cr_expect_not(ends_when_fenced(&stage));
    cr_expect(ends_when_fenced(&stage));
    stop(&stage);
}

Test(worker, fenced_member_with_the_operators_id_joins_again_once)
{
    fence_twice("--delivery=at-least-once");
}

Test(worker, fenced_member_with_the_operators_id_joins_again_once_exactly_once)
{
    fence_twice("--delivery=exactly-once");
}

Test(worker, second_fence_within_a_minute_ends_a_member_with_the_operators_id)
{
    static struct worker w;
    enum { NOW_MS = 500 * 1000, MINUTE_MS = 60 * 1000 };
    cr_expect(worker_may_rejoin(&w, NOW_MS));
    w.rejoined_mono_ms = NOW_MS;
    cr_expect_not(worker_may_rejoin(&w, NOW_MS + MINUTE_MS - 1));
    cr_expect(worker_may_rejoin(&w, NOW_MS + MINUTE_MS));
    w.transient = true; /* a generated id: no other process has it */
    cr_expect(worker_may_rejoin(&w, NOW_MS));
}
