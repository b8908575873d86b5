/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the service at the same time: workers, blocking calls, the log, and the callbacks
   of clients, canary and listener. Another thread reads the figures that they write. The
   configuration is swapped, and services start and stop. Run it under ThreadSanitizer. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/service/monitor.h"
#include "tests/faults/listener.h"
#include "tests/faults/parts.h"
#include "tests/faults/stage.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum { AWAIT_MS = 40000, LOGGERS = 3, PAUSE_MS = 5 };
enum { SCRAPERS = 2, ROUNDS = 3, RELOADS = 12 /* a round */, WATCH_MS = 50 };

static atomic_bool enough;

static void *chatter(void *arg)
{
    while (!atomic_load(&enough)) {
        log_warn("chatter", F_TEXT("from", arg));
        log_set_level(LOG_INFO);
        poll(NULL, 0, PAUSE_MS);
    }
    return NULL;
}

static void *read_figures(void *arg)
{
    static struct stats sum;
    while (!atomic_load(&enough)) {
        service_stats(arg, &sum);
        poll(NULL, 0, PAUSE_MS);
    }
    return NULL;
}

static enum ending with_company(unsigned flags)
{
    static struct stage stage;
    pthread_t loggers[LOGGERS], reader;
    stage_open(&stage, flags | STAGE_TWO_WORKERS | STAGE_THREE_BROKERS);
    if (stage_start(&stage) != 0)
        return BROKEN;
    for (int i = 0; i < LOGGERS; i++)
        pthread_create(&loggers[i], NULL, chatter, (char *)"some \"body\"");
    pthread_create(&reader, NULL, read_figures, stage.service);
    bool answered = true;
    for (int round = 0; round < 3 && answered; round++) {
        stage_ask(&stage);
        answered = stage_await(&stage, AWAIT_MS);
        service_heartbeat(stage.service);
    }
    service_recheck(stage.service);
    atomic_store(&enough, true);
    for (int i = 0; i < LOGGERS; i++)
        pthread_join(loggers[i], NULL);
    pthread_join(reader, NULL);
    stage_close(&stage);
    return answered ? WENT_ON : BROKEN;
}

static enum ending company(void)
{
    return with_company(0);
}

static enum ending company_exactly_once(void)
{
    return with_company(STAGE_EXACTLY_ONCE);
}

/* Before it has joined, while it joins, and while it forwards. */
static enum ending stop_and_go(unsigned flags)
{
    static const int after_ms[] = {0, 50, 1500, 3500, 4000};
    static struct stage stage;
    stage_open(&stage, flags);
    for (size_t i = 0; i < sizeof after_ms / sizeof *after_ms; i++) {
        if (stage_start(&stage) != 0)
            return BROKEN;
        stage_ask(&stage);
        stage_watch(&stage, after_ms[i]);
        stage_stop(&stage);
    }
    if (stage_start(&stage) != 0)
        return BROKEN;
    bool answered = stage_await(&stage, AWAIT_MS);
    stage_close(&stage);
    return answered ? WENT_ON : BROKEN;
}

static enum ending stops(void)
{
    return stop_and_go(0);
}

static enum ending stops_exactly_once(void)
{
    return stop_and_go(STAGE_EXACTLY_ONCE);
}

/* The worker's transactional producer is replaced while a blocking call uses it. */
static enum ending broken_transactions(void)
{
    static struct stage stage;
    stage_open(&stage, STAGE_EXACTLY_ONCE);
    if (stage_start(&stage) != 0)
        return BROKEN;
    for (int i = 0; i < 4; i++) {
        enum { END_TXN = 26 };
        stage_ask(&stage);
        rd_kafka_mock_broker_push_request_error_rtts(
            stage.mock, 1, END_TXN, 1,
            i % 2 == 0 ? RD_KAFKA_RESP_ERR__TRANSPORT : RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
            100 * i);
        stage_watch(&stage, 1500);
    }
    bool answered = stage_await(&stage, AWAIT_MS);
    stage_close(&stage);
    return answered ? WENT_ON : BROKEN;
}

/* A thread that queries the listener in a loop, from before the service starts until after it has
   stopped. */
struct scraper {
    pthread_t thread;
    struct answer answer;
    int asked, ready;
    bool wrong;
};

static void scrape(struct scraper *s, const char *path, const char *word)
{
    listener_ask(path, &s->answer);
    s->asked++;
    if (s->answer.status == 200 && strstr(s->answer.body, word) != NULL)
        return;
    fprintf(stderr, "%s was answered with %d: %.200s\n", path, s->answer.status, s->answer.body);
    s->wrong = true;
}

/* Not ready is an answer too: at the start, and from the moment of the stop. */
static void scrape_ready(struct scraper *s)
{
    listener_ask("GET /readyz", &s->answer);
    s->asked++;
    s->ready += s->answer.status == 200;
    if (s->answer.status == 200 || s->answer.status == 503)
        return;
    fprintf(stderr, "/readyz was answered with %d\n", s->answer.status);
    s->wrong = true;
}

static void *scrape_all(void *arg)
{
    struct scraper *s = arg;
    while (!atomic_load(&enough) && !s->wrong) {
        scrape(s, "GET /metrics", "\nprocess_max_fds "); /* the last one */
        scrape(s, "GET /livez", "alive");
        scrape_ready(s);
        poll(NULL, 0, PAUSE_MS);
    }
    return NULL;
}

static bool await_canary(struct stage *stage)
{
    const struct canary_stats *canary = service_canary(stage->service);
    int64_t until_ms = clock_mono_ms() + AWAIT_MS;
    while (canary != NULL && clock_mono_ms() < until_ms) {
        if (counter_read(&canary->received) > 0)
            return true;
        stage_watch(stage, WATCH_MS);
    }
    fprintf(stderr, "no canary has come back\n");
    return false;
}

/* Requests are under way each time that the configuration is another one. */
static bool reload_in_rounds(struct stage *stage)
{
    for (int round = 0; round < ROUNDS; round++) {
        stage_ask(stage);
        for (int i = 0; i < RELOADS; i++) {
            service_reload(stage->service, stage_config(stage, i + 1));
            stage_watch(stage, WATCH_MS);
        }
        if (!stage_await(stage, AWAIT_MS))
            return false;
    }
    if (stage->starts > 1)
        fprintf(stderr, "the service was started again\n");
    return stage->starts == 1 && await_canary(stage);
}

static bool join_scrapers(struct scraper *scrapers)
{
    bool fine = true;
    atomic_store(&enough, true);
    for (int i = 0; i < SCRAPERS; i++) {
        pthread_join(scrapers[i].thread, NULL);
        fine &= !scrapers[i].wrong && scrapers[i].ready > 0;
        fprintf(stderr, "%d answers, %d times ready\n", scrapers[i].asked, scrapers[i].ready);
    }
    return fine;
}

static enum ending reload_and_scrape(unsigned flags)
{
    static struct stage stage;
    static struct scraper scrapers[SCRAPERS];
    stage_open(&stage, flags | STAGE_TWO_WORKERS | STAGE_SEEN);
    struct monitor *monitor = monitor_start(&stage.config, &stage.error);
    if (monitor == NULL)
        return BROKEN;
    for (int i = 0; i < SCRAPERS; i++)
        pthread_create(&scrapers[i].thread, NULL, scrape_all, &scrapers[i]);
    if (stage_start(&stage) != 0)
        return BROKEN;
    monitor_watch(monitor, stage.service, "");
    bool done = reload_in_rounds(&stage);
    monitor_watch(monitor, NULL, "draining");
    stage_stop(&stage);
    bool answered = join_scrapers(scrapers);
    monitor_stop(monitor);
    stage_close(&stage);
    return done && answered ? WENT_ON : BROKEN;
}

static enum ending reloads(void)
{
    return reload_and_scrape(0);
}

static enum ending reloads_exactly_once(void)
{
    return reload_and_scrape(STAGE_EXACTLY_ONCE);
}

static const struct {
    const char *name;
    enum ending (*run)(void);
} cases[] = {
    {"two workers, in company", company},
    {"two workers, in company, exactly once", company_exactly_once},
    {"stop and go", stops},
    {"stop and go, exactly once", stops_exactly_once},
    {"transactions that break", broken_transactions},
    {"reload and scrape", reloads},
    {"reload and scrape, exactly once", reloads_exactly_once},
};

uint64_t part_threads_n(void)
{
    return sizeof cases / sizeof *cases;
}

void part_threads_name(uint64_t n, char *out, int size)
{
    snprintf(out, (size_t)size, "%s", cases[n - 1].name);
}

enum ending part_threads(uint64_t n)
{
    return cases[n - 1].run();
}
