/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge demo: runs the whole service against a mock broker in this process, and shows
   requests live while they arrive, wait and are delivered. The records end with the process. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/demo_page.h"
#include "bridge/commands/demo_view.h"
#include "bridge/commands/embedded.h"
#include "bridge/commands/result.h"
#include "bridge/service/service.h"
#include "consumer/admin/heads.h"
#include "consumer/client/client.h"
#include "consumer/client/mock.h"
#include "levels/counted.h"
#include "levels/duration.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LANES = 2,
    REST_MS = 2500, /* at the end, without due requests, so that all deliveries arrive */
    JOIN_MS = 10000,
    JOIN_STEP_MS = 20,
    DRAW_MS = 250,
    LINES_MS = 5000,
    ASK_MS = 2000,
    DAY_MS = 24 * 3600 * 1000,
    FOREVER_D = 3650 /* until Ctrl-C */
};

struct demo {
    struct mock *mock;
    struct config config;
    struct demo_page *page;
    struct service *service;
    struct demo_feed *feed;
    rd_kafka_t *look; /* a client that reads waiting records, as the command levels does */
    bool tty;
    bool json; /* print only a summary */
    int64_t start_ms, run_ms;
    pthread_mutex_t lock; /* guards the members below, which the feed's threads write */
    struct demo_picture picture;
    int64_t *late_ms;
    size_t late_n, late_size;
};

static void keep_lateness(struct demo *d, int64_t late_ms)
{
    if (d->late_n == d->late_size) {
        size_t size = d->late_size == 0 ? 256 : 2 * d->late_size;
        int64_t *grown = realloc(d->late_ms, size * sizeof *grown);
        if (grown == NULL)
            return;
        d->late_ms = grown;
        d->late_size = size;
    }
    d->late_ms[d->late_n++] = late_ms;
}

static void on_event(void *ctx, const struct demo_event *event)
{
    struct demo *d = ctx;
    struct demo_picture *p = &d->picture;
    pthread_mutex_lock(&d->lock);
    if (!event->delivered) {
        p->sent++;
    } else {
        p->delivered++;
        keep_lateness(d, event->late_ms);
        memmove(p->last + 1, p->last, (DEMO_DELIVERIES - 1) * sizeof *p->last);
        p->last[0] = *event;
        p->last_n += p->last_n < DEMO_DELIVERIES;
    }
    pthread_mutex_unlock(&d->lock);
    if (!d->tty && !d->json)
        demo_view_line(event);
}

/* Configures the service with flags, as a user would. */
static int configure(struct demo *d, struct error *error)
{
    char servers[128], token[64];
    snprintf(servers, sizeof servers, "bootstrap.servers=%s", mock_bootstrap(d->mock));
    snprintf(token, sizeof token, "--admin-token=%s", demo_page_token_path(d->page));
    char *argv[] = {(char *)"-X",
                    servers,
                    (char *)"--levels=1s,5s,10s,1m,5m",
                    (char *)"--hold=1s", /* so that records are seen in levels */
                    (char *)"--targets=demo.*",
                    (char *)"--events=all",
                    (char *)"--listen=",
                    (char *)"--admin=127.0.0.1:9405",
                    token,
                    (char *)"--partitions=2",
                    (char *)"--replication=1"};
    int argc = sizeof argv / sizeof *argv;
    int err = config_load(&d->config, "/dev/null", &argc, argv, NULL, error);
    return err;
}

static int make_topics(struct demo *d)
{
    int err = embedded_topics(d->mock, &d->config, LANES);
    for (int i = 0; err == 0 && demo_feed_target(i) != NULL; i++)
        err = mock_topic(d->mock, demo_feed_target(i), 1);
    return err;
}

static rd_kafka_t *connect_look(const struct demo *d, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(&d->config, CLIENT_ALL, error);
    if (conf == NULL)
        return NULL;
    offsets_conf(&d->config, conf);
    return client_new(RD_KAFKA_CONSUMER, conf, error);
}

static void introduce(const struct demo *d)
{
    if (d->json)
        return;
    if (d->tty)
        printf("\x1b[2J\x1b[H");
    printf("A mock broker runs in this process at %s; the service joins its group (3 s).\n"
           "Its page, in a browser: %s\n"
           "Meanwhile, in another terminal with kcat: kcat -b %s -L\n"
           "                                          kcat -b %s -C -t demo.webhooks.retry\n",
           d->picture.bootstrap, d->picture.page, d->picture.bootstrap, d->picture.bootstrap);
    fflush(stdout);
}

static void wait_until(int64_t at_ms)
{
    int64_t left_ms = at_ms - clock_wall_ms();
    struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
    if (left_ms > 0)
        nanosleep(&left, NULL);
}

/* Waits for the first assignment: requests sent before it would be late. */
static void await_lanes(const struct demo *d)
{
    static struct stats stats; /* large */
    int64_t until_ms = clock_wall_ms() + JOIN_MS;
    do {
        wait_until(clock_wall_ms() + JOIN_STEP_MS);
        service_stats(d->service, &stats);
    } while (counter_read(&stats.lanes) < LANES && clock_wall_ms() < until_ms);
}

static int start(struct demo *d, struct error *error)
{
    d->mock = mock_start(error);
    d->page = d->mock == NULL ? NULL : demo_page_new(error);
    if (d->page == NULL || configure(d, error) != 0 || make_topics(d) != 0)
        return ERR_CONFIG;
    d->look = connect_look(d, error);
    if (d->look == NULL || demo_page_start(d->page, &d->config, error) != 0 ||
        service_start(&d->config, NULL, &d->service, error) != 0)
        return ERR_CONFIG;
    demo_page_watch(d->page, d->service);
    d->picture.bootstrap = mock_bootstrap(d->mock);
    d->picture.page = demo_page_address(d->page);
    introduce(d);
    await_lanes(d);
    d->start_ms = clock_wall_ms();
    d->feed =
        demo_feed_start(&d->config, d->run_ms - REST_MS, d->run_ms - REST_MS, on_event, d, error);
    return d->feed == NULL ? ERR_CONFIG : 0;
}

static void stop(struct demo *d)
{
    if (d->feed != NULL)
        demo_feed_stop(d->feed);
    if (d->service != NULL) {
        demo_page_watch(d->page, NULL);
        (void)service_stop(d->service);
    }
    demo_page_free(d->page);
    if (d->look != NULL)
        rd_kafka_destroy(d->look);
    config_deinit(&d->config);
    if (d->mock != NULL)
        mock_stop(d->mock);
    free(d->late_ms);
    pthread_mutex_destroy(&d->lock);
}

static void look_at_levels(struct demo *d)
{
    struct error error;
    struct demo_level levels[DEMO_LEVELS_MAX] = {0};
    struct offsets offsets = {.config = &d->config};
    int n = d->config.ladder.n < DEMO_LEVELS_MAX ? d->config.ladder.n : DEMO_LEVELS_MAX;
    struct head *heads = offsets_read(&offsets, d->look, ASK_MS, &error) == 0
                             ? heads_read(&offsets, d->look, ASK_MS, &error)
                             : NULL;
    for (int i = 0; heads != NULL && i < n; i++) {
        duration_format(d->config.ladder.level_ms[i], levels[i].name);
        for (int lane = 0; lane < offsets.lanes; lane++)
            levels[i].waiting += offsets_cell(&offsets, lane, i + 1)->waiting;
        const struct head *head = heads_first(&offsets, heads, i + 1);
        levels[i].next_ms = head != NULL ? head->release_wall_ms : 0;
    }
    pthread_mutex_lock(&d->lock);
    if (heads != NULL) {
        memcpy(d->picture.levels, levels, sizeof levels);
        d->picture.levels_n = n;
    }
    pthread_mutex_unlock(&d->lock);
    free(heads);
    offsets_deinit(&offsets);
}

static void show(struct demo *d)
{
    static struct stats stats; /* large */
    service_stats(d->service, &stats);
    look_at_levels(d);
    pthread_mutex_lock(&d->lock);
    struct demo_picture picture = d->picture;
    pthread_mutex_unlock(&d->lock);
    picture.now_ms = clock_wall_ms();
    picture.elapsed_ms = picture.now_ms - d->start_ms;
    picture.buffered = (long)counter_read(&stats.buffered_records);
    if (d->tty)
        demo_view_draw(&picture);
    else if (!d->json)
        demo_view_levels_line(&picture);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int summary(struct demo *d)
{
    const struct demo_picture *p = &d->picture;
    qsort(d->late_ms, d->late_n, sizeof *d->late_ms, by_size);
    int64_t p50 = d->late_n > 0 ? d->late_ms[d->late_n / 2] : 0;
    int64_t max = d->late_n > 0 ? d->late_ms[d->late_n - 1] : 0;
    bool early = d->late_n > 0 && d->late_ms[0] < 0;
    int code = p->sent == p->delivered && !early ? EXIT_DONE : EXIT_INTERNAL;
    char requests[COUNTED_MAX];
    if (d->json) {
        print_json(json_pack("{s:I, s:I, s:b, s:I, s:I}", "sent", (json_int_t)p->sent, "delivered",
                             (json_int_t)p->delivered, "early", early, "late_p50_ms",
                             (json_int_t)p50, "late_max_ms", (json_int_t)max));
        return code;
    }
    printf(
        "\n%s, %ld delivered, %s early. Lateness at the receiver: half within %lld ms, all within "
        "%lld ms.\n",
        counted(p->sent, "request", requests), p->delivered, early ? "SOME" : "none",
        (long long)p50, (long long)max);
    puts("This was a mock broker in memory. To use your own Kafka:\n"
         "  delaybridge help --yaml > delaybridge.yaml      # set bootstrap.servers and targets\n"
         "  delaybridge topics apply && delaybridge run");
    return code;
}

int cmd_demo(struct cli *cli)
{
    const struct arguments *arguments = cli->arguments;
    struct demo d = {.tty = isatty(STDOUT_FILENO) && !arguments_have(arguments, "--no-tty") &&
                            !cli->json,
                     .json = cli->json,
                     .run_ms = arguments_have(arguments, "--page")
                                   ? (int64_t)FOREVER_D * DAY_MS
                                   : arguments_number(arguments, "--seconds") * 1000};
    pthread_mutex_init(&d.lock, NULL);
    log_init(LOG_ERROR, LOG_AUTO);
    struct error error = {"the mock cluster refused"};
    if (start(&d, &error) != 0) {
        stop(&d);
        return complain(cli, EXIT_INTERNAL, "%s", error.text);
    }
    int64_t step_ms = d.tty ? DRAW_MS : LINES_MS;
    for (int64_t at_ms = d.start_ms; at_ms < d.start_ms + d.run_ms; at_ms += step_ms) {
        wait_until(at_ms);
        show(&d);
    }
    wait_until(d.start_ms + d.run_ms);
    int code = summary(&d);
    stop(&d);
    return code;
}
