/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to /metrics, /livez and /readyz. */
#include "bridge/service/monitor.h"

#include "bridge/base/log.h"
#include "bridge/service/http.h"

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 200, UNAVAILABLE = 503, WHY_MAX = 256 };

struct monitor {
    const struct config *config;
    struct http *http;
    pthread_mutex_t turn; /* guards all members below, between main and the listener */
    struct service *service;
    struct stats stats; /* the last sum; large */
    char why[WHY_MAX];  /* service is NULL: the reason */
    bool reload_failed; /* of the last SIGHUP */
};

static void read_stats(struct monitor *m)
{
    if (m->service != NULL)
        service_stats(m->service, &m->stats);
}

static bool is_ready(const struct monitor *m, char why[WHY_MAX])
{
    snprintf(why, WHY_MAX, "%s", m->why);
    return m->service != NULL && service_is_ready(m->service, why, WHY_MAX);
}

void monitor_read(struct monitor *m,
                  void (*read)(void *ctx, const struct metrics *metrics, const char *why),
                  void *ctx)
{
    char why[WHY_MAX];
    pthread_mutex_lock(&m->turn);
    read_stats(m);
    struct metrics metrics = {.config = m->config,
                              .stats = &m->stats,
                              .ready = is_ready(m, why),
                              .refusals = -1,
                              .faults = -1,
                              .watched.open_records = -1,
                              .reload_failed = m->reload_failed,
                              .librdkafka = rd_kafka_version_str()};
    if (m->service != NULL) {
        metrics.canary = service_canary(m->service);
        metrics.lanes = service_lanes(m->service);
        metrics.refusals = service_refusals(m->service);
        metrics.faults = service_faults(m->service);
        metrics.config_hash = service_config_hash(m->service);
        metrics.watched = service_watched(m->service);
    }
    read(ctx, &metrics, metrics.ready ? "" : why);
    pthread_mutex_unlock(&m->turn);
}

static void write_metrics(void *ctx, const struct metrics *metrics, const char *why)
{
    (void)why;
    metrics_write(ctx, metrics);
}

static int answer_metrics(void *ctx, FILE *body)
{
    monitor_read(ctx, write_metrics, body);
    return OK;
}

static int answer_live(void *ctx, FILE *body)
{
    bool alive = monitor_is_alive(ctx);
    fputs(alive ? "alive\n" : "a worker has not turned for a minute\n", body);
    return alive ? OK : UNAVAILABLE;
}

static int answer_ready(void *ctx, FILE *body)
{
    struct monitor *m = ctx;
    char why[WHY_MAX];
    pthread_mutex_lock(&m->turn);
    bool ready = is_ready(m, why);
    pthread_mutex_unlock(&m->turn);
    fprintf(body, "%s\n", ready ? "ready" : why);
    return ready ? OK : UNAVAILABLE;
}

static const struct http_route routes[] = {
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", answer_metrics},
    {"/livez", "text/plain; charset=utf-8", answer_live},
    {"/readyz", "text/plain; charset=utf-8", answer_ready},
    {NULL, NULL, NULL},
};

struct monitor *monitor_start(const struct config *config, struct error *error)
{
    struct monitor *m = calloc(1, sizeof *m);
    if (m == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    m->config = config;
    snprintf(m->why, sizeof m->why, "starting: Kafka has not answered yet");
    pthread_mutex_init(&m->turn, NULL);
    if (config->listen != NULL) {
        m->http = http_start(config->listen, routes, m, error);
        if (m->http == NULL) {
            monitor_stop(m);
            return NULL;
        }
        log_info("listening for HTTP requests", F_TEXT("address", config->listen),
                 F_INT("port", http_port(m->http)), F_TEXT("paths", "/metrics,/livez,/readyz"));
    }
    return m;
}

/* Sets the gauges to 0 for the time without a service. Counters keep their values. */
static void clear_gauges(struct stats *stats)
{
    counter_set(&stats->lanes, 0);
    counter_set(&stats->buffered_records, 0);
    counter_set(&stats->buffered_bytes, 0);
    counter_set(&stats->schedule_unread, 0);
    counter_set(&stats->kept_records, 0);
    counter_set(&stats->kept_bytes, 0);
    for (int i = 0; i < SLOTS_MAX; i++) {
        struct slot_stats *slot = &stats->slots[i];
        counter_set(&slot->reading, 0);
        counter_set(&slot->paused, 0);
        counter_set(&slot->blocked, 0);
        counter_set(&slot->pending, 0);
        counter_set(&slot->head_deadline_wall_ms, 0);
    }
}

void monitor_watch(struct monitor *m, struct service *service, const char *why)
{
    pthread_mutex_lock(&m->turn);
    read_stats(m);
    if (service == NULL)
        clear_gauges(&m->stats);
    m->service = service;
    snprintf(m->why, sizeof m->why, "%s", why);
    pthread_mutex_unlock(&m->turn);
}

void monitor_reloaded(struct monitor *m, bool ok)
{
    pthread_mutex_lock(&m->turn);
    m->reload_failed = !ok;
    pthread_mutex_unlock(&m->turn);
}

bool monitor_is_alive(struct monitor *m)
{
    pthread_mutex_lock(&m->turn);
    bool alive = m->service == NULL || service_is_alive(m->service);
    pthread_mutex_unlock(&m->turn);
    return alive;
}

void monitor_stop(struct monitor *m)
{
    if (m->http != NULL)
        http_stop(m->http);
    pthread_mutex_destroy(&m->turn);
    free(m);
}
