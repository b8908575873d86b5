/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sample in a thread of its handle. */
#include "bridge/commands/top_next.h"

#include "bridge/base/clock.h"
#include "bridge/commands/result.h"
#include "bridge/commands/top_figures.h"
#include "consumer/client/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { MINUTE_MS = 60000, EVERY_S = 30, HEIGHT = 6, SOON_MINUTES = 10 };

struct top_next {
    const struct cli *cli;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    bool has_tried, is_stopping;
    struct top_hour hour;
    struct error why;
};

struct top_hour top_hour_of(const struct forecast_sample *sample, int64_t now_wall_ms)
{
    struct top_hour hour = {.is_known = true,
                            .sampled = sample->sampled,
                            .first_wall_ms = now_wall_ms - now_wall_ms % MINUTE_MS};
    for (int i = 0; i < sample->minutes_n; i++) {
        int64_t minute = (sample->minutes[i].at_ms - hour.first_wall_ms) / MINUTE_MS;
        if (sample->minutes[i].at_ms >= hour.first_wall_ms && minute < TOP_MINUTES)
            hour.minutes[minute] += (int64_t)(sample->minutes[i].deliveries + 0.5);
    }
    return hour;
}

static int64_t within(const struct top_hour *hour, int minutes)
{
    int64_t sum = 0;
    for (int i = 0; i < minutes; i++)
        sum += hour->minutes[i];
    return sum;
}

void top_hour_print(const struct top_hour *hour, enum chart_letters letters, FILE *out)
{
    char all[TOP_NUMBER_MAX], soon[TOP_NUMBER_MAX];
    if (!hour->is_known)
        return;
    fprintf(out, "NEXT HOUR by minute: about %s deliveries, %s within 10 minutes\n",
            top_number((double)within(hour, TOP_MINUTES), all),
            top_number((double)within(hour, SOON_MINUTES), soon));
    chart_bars(hour->minutes, TOP_MINUTES, HEIGHT, letters, out);
    fprintf(out, "%10s  now       10        20        30        40        50     min\n", "");
}

json_t *top_hour_json(const struct top_hour *hour)
{
    if (!hour->is_known)
        return json_null();
    json_t *minutes = json_array();
    for (int i = 0; i < TOP_MINUTES; i++)
        json_array_append_new(minutes, json_integer(hour->minutes[i]));
    return json_pack("{s:o, s:I, s:o}", "from", instant_json(hour->first_wall_ms), "sampled",
                     (json_int_t)hour->sampled, "deliveries_by_minute", minutes);
}

/* Reads one sample with a handle. */
static int read_sample(struct top_next *next, rd_kafka_t *rk, struct top_hour *hour,
                       struct error *why)
{
    const struct cli *cli = next->cli;
    struct offsets offsets = {.config = cli->config};
    struct forecast_sample sample = {
        .cli = cli, .offsets = &offsets, .rk = rk, .timeout_ms = cli->timeout_ms};
    int err = offsets_read(&offsets, rk, cli->timeout_ms, why);
    if (err == 0)
        err = forecast_sample_read(&sample, why);
    if (err == 0)
        *hour = top_hour_of(&sample, clock_wall_ms());
    forecast_sample_deinit(&sample);
    offsets_deinit(&offsets);
    return err;
}

/* Reads one sample with a new handle, so that nothing is kept between two samples. */
static int look(struct top_next *next, struct top_hour *hour, struct error *why)
{
    rd_kafka_conf_t *conf = client_conf(next->cli->config, CLIENT_ALL, why);
    if (conf == NULL)
        return ERR_CONFIG;
    offsets_conf(next->cli->config, conf);
    rd_kafka_t *rk = client_new(RD_KAFKA_CONSUMER, conf, why);
    if (rk == NULL)
        return ERR_CONFIG;
    int err = read_sample(next, rk, hour, why);
    rd_kafka_destroy(rk);
    return err;
}

static void rest(struct top_next *next)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += EVERY_S;
    while (!next->is_stopping &&
           pthread_cond_timedwait(&next->changed, &next->mutex, &until) != ETIMEDOUT)
        ;
}

static void *run(void *ctx)
{
    struct top_next *next = ctx;
    pthread_mutex_lock(&next->mutex);
    while (!next->is_stopping) {
        struct top_hour hour = {0};
        struct error why = {{0}};
        pthread_mutex_unlock(&next->mutex);
        int err = look(next, &hour, &why);
        pthread_mutex_lock(&next->mutex);
        next->hour = hour;
        next->why = err == 0 ? (struct error){{0}} : why;
        next->has_tried = true;
        pthread_cond_broadcast(&next->changed);
        rest(next);
    }
    pthread_mutex_unlock(&next->mutex);
    return NULL;
}

struct top_next *top_next_start(const struct cli *cli)
{
    struct top_next *next = calloc(1, sizeof *next);
    if (next == NULL)
        return NULL;
    next->cli = cli;
    pthread_mutex_init(&next->mutex, NULL);
    pthread_cond_init(&next->changed, NULL);
    if (pthread_create(&next->thread, NULL, run, next) == 0)
        return next;
    pthread_cond_destroy(&next->changed);
    pthread_mutex_destroy(&next->mutex);
    free(next);
    return NULL;
}

struct top_hour top_next_take(struct top_next *next, bool wait, struct error *why)
{
    pthread_mutex_lock(&next->mutex);
    while (wait && !next->has_tried)
        pthread_cond_wait(&next->changed, &next->mutex);
    struct top_hour hour = next->hour;
    *why = next->why;
    pthread_mutex_unlock(&next->mutex);
    return hour;
}

void top_next_stop(struct top_next *next)
{
    if (next == NULL)
        return;
    pthread_mutex_lock(&next->mutex);
    next->is_stopping = true;
    pthread_cond_broadcast(&next->changed);
    pthread_mutex_unlock(&next->mutex);
    pthread_join(next->thread, NULL);
    pthread_cond_destroy(&next->changed);
    pthread_mutex_destroy(&next->mutex);
    free(next);
}
