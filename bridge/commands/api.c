/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and stops the admin API. Samples the figures of each second. */
#include "bridge/commands/api_parts.h"

#include "bridge/admin/guard.h"
#include "bridge/base/background.h"
#include "bridge/base/clock.h"
#include "bridge/base/log.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_MS = 1000, STEP_MS = 100, PACE_RECORDS = 500, SECOND_US = 1000000, SECOND_MS = 1000 };
enum { BODY = 1, WRITES = 1, READS = 0, NO_BODY = 0 };

/* DELIVERIES reads a hundredth of all waiting records. */
static const struct api_read_of LEVELS = {"levels", NULL, 0, SECOND_MS},
                                LANES = {"levels", "lanes", 1, SECOND_MS},
                                FORECAST = {"forecast", NULL, 2, SECOND_MS},
                                DELIVERIES = {"forecast", "deliveries", 3, 10 * SECOND_MS};
static const struct api_job_of FIND = {"find", "id key source due sent until limit"},
                               EVENTS = {"events", "id key source"},
                               DEAD_LETTERS = {"dead-letters", "code target since until show"},
                               REDRIVE = {"redrive",
                                          "code target since until keep-due restart-delay "
                                          "drop-expiry with-cancels dry-run limit rate"};

/* The first DEV_ROUTES exist in dev only. A move of the clock does not count as a write, since
   tests may move it more often than the log has room for. */
enum { DEV_ROUTES = 2 };
static const struct admin_route ROUTES[] = {
    {"GET", "/api/dev/clock", ACCESS_OPEN, READS, NO_BODY, NULL, NULL, api_clock},
    {"POST", "/api/dev/clock", ACCESS_OPEN, READS, BODY, NULL, NULL, api_clock_forward},
    {"GET", "/", ACCESS_STATIC, READS, NO_BODY, NULL, NULL, api_page},
    {"GET", "/page/{id}", ACCESS_STATIC, READS, NO_BODY, NULL, NULL, api_page},
    {"GET", "/openapi.json", ACCESS_STATIC, READS, NO_BODY, NULL, NULL, api_openapi},
    {"GET", "/api/v1/status", ACCESS_OPEN, READS, NO_BODY, NULL, NULL, api_status},
    {"GET", "/api/v1/levels", ACCESS_OPEN, READS, NO_BODY, NULL, &LEVELS, api_read},
    {"GET", "/api/v1/lanes", ACCESS_OPEN, READS, NO_BODY, NULL, &LANES, api_read},
    {"GET", "/api/v1/forecast", ACCESS_OPEN, READS, NO_BODY, NULL, &FORECAST, api_read},
    {"GET", "/api/v1/targets", ACCESS_OPEN, READS, NO_BODY, NULL, NULL, api_targets},
    {"GET", "/api/v1/processes", ACCESS_TOKEN, READS, NO_BODY, NULL, NULL, api_processes},
    {"GET", "/api/v1/forecast/deliveries", ACCESS_TOKEN, READS, NO_BODY, NULL, &DELIVERIES,
     api_read},
    {"GET", "/api/v1/history", ACCESS_TOKEN, READS, NO_BODY, "since", NULL, api_history},
    {"GET", "/api/v1/config", ACCESS_TOKEN, READS, NO_BODY, NULL, NULL, api_show_config},
    {"GET", "/api/v1/jobs", ACCESS_TOKEN, READS, NO_BODY, NULL, NULL, api_job_list},
    {"GET", "/api/v1/jobs/{id}", ACCESS_TOKEN, READS, NO_BODY, NULL, NULL, api_job_show},
    {"POST", "/api/v1/jobs/{id}/stop", ACCESS_TOKEN, WRITES, NO_BODY, NULL, NULL, api_job_stop},
    {"POST", "/api/v1/find", ACCESS_TOKEN, READS, BODY, "wait_ms", &FIND, api_job_start},
    {"POST", "/api/v1/events", ACCESS_TOKEN, READS, BODY, "wait_ms", &EVENTS, api_job_start},
    {"POST", "/api/v1/dead-letters", ACCESS_TOKEN, READS, BODY, "wait_ms", &DEAD_LETTERS,
     api_job_start},
    {"POST", "/api/v1/redrive", ACCESS_TOKEN, WRITES, BODY, "wait_ms", &REDRIVE, api_job_start},
    {"POST", "/api/v1/send", ACCESS_TOKEN, WRITES, BODY, NULL, "send", api_write},
    {"POST", "/api/v1/cancel", ACCESS_TOKEN, WRITES, BODY, NULL, "cancel", api_write},
    {"POST", "/api/v1/replace", ACCESS_TOKEN, WRITES, BODY, NULL, "replace", api_write},
    {"POST", "/api/v1/pause", ACCESS_TOKEN, WRITES, BODY, NULL, "pause", api_control},
    {"POST", "/api/v1/limit", ACCESS_TOKEN, WRITES, BODY, NULL, "limit", api_control},
    {"POST", "/api/v1/resume", ACCESS_TOKEN, WRITES, BODY, NULL, "resume", api_control},
    {.path = NULL},
};

struct api_config *api_config_take(struct api *api)
{
    pthread_mutex_lock(&api->config_mutex);
    struct api_config *config = api->config;
    atomic_fetch_add(&config->users, 1);
    pthread_mutex_unlock(&api->config_mutex);
    return config;
}

void api_config_drop(struct api_config *config)
{
    if (atomic_fetch_sub(&config->users, 1) > 1)
        return;
    if (config->owned)
        config_free_live(&config->config);
    free(config);
}

/* Uses this configuration from the next call on. Takes it. */
static void set_config(struct api *api, struct api_config *config)
{
    atomic_store(&config->users, 1);
    pthread_mutex_lock(&api->config_mutex);
    struct api_config *old = api->config;
    api->config = config;
    pthread_mutex_unlock(&api->config_mutex);
    if (old != NULL)
        api_config_drop(old);
}

void api_reload(struct api *api, const struct config *fresh)
{
    struct api_config *config = calloc(1, sizeof *config);
    if (config == NULL)
        return;
    config->config = *api->cli->config;
    if (config_copy_live(&config->config, fresh) != 0) {
        free(config);
        return;
    }
    config->owned = true;
    set_config(api, config);
}

/* Pays for many records at a time. */
void api_pace(struct api *api)
{
    if (atomic_fetch_add(&api->read_n, 1) % PACE_RECORDS != 0 || !atomic_load(&api->due))
        return;
    pthread_mutex_lock(&api->pace_mutex);
    int64_t now_us = clock_us(CLOCK_BOOTTIME);
    int64_t paid_us = api->paid_mono_us > now_us ? api->paid_mono_us : now_us;
    api->paid_mono_us = paid_us + (int64_t)PACE_RECORDS * SECOND_US / API_READ_PER_S;
    pthread_mutex_unlock(&api->pace_mutex);
    poll(NULL, 0, (int)((paid_us - now_us + 999) / 1000));
}

static void sample(void *ctx, const struct metrics *metrics, const char *why)
{
    struct api *api = ctx;
    (void)why;
    pthread_mutex_lock(&api->history_mutex);
    history_add(api->history, metrics->stats, clock_wall_ms(), clock_mono_ms());
    bool delivers =
        api->history->n > 0 && history_at(api->history, api->history->n - 1)->deliveries > 0;
    pthread_mutex_unlock(&api->history_mutex);
    target_recent_add(&api->recent, metrics->stats, clock_mono_ms());
    atomic_store(&api->due, delivers || counter_read(&metrics->stats->buffered_records) > 0);
}

static void *run_sampler(void *ctx)
{
    struct api *api = ctx;
    int64_t next_mono_ms = clock_mono_ms();
    while (!atomic_load(&api->ending)) {
        if (clock_mono_ms() >= next_mono_ms) {
            monitor_read(api->monitor, sample, api);
            api_read_expire(api);
            spare_expire(&api->spare, clock_mono_ms());
            next_mono_ms += SAMPLE_MS;
            if (next_mono_ms <= clock_mono_ms()) /* the machine slept */
                next_mono_ms = clock_mono_ms() + SAMPLE_MS;
        }
        poll(NULL, 0, STEP_MS);
    }
    return NULL;
}

static void free_api(struct api *api)
{
    history_free(api->history);
    if (api->config != NULL)
        api_config_drop(api->config);
    dispatch_deinit(&api->dispatch);
    spare_deinit(&api->spare);
    pthread_mutex_destroy(&api->config_mutex);
    pthread_mutex_destroy(&api->history_mutex);
    pthread_mutex_destroy(&api->pace_mutex);
    pthread_mutex_destroy(&api->reads_mutex);
    pthread_mutex_destroy(&api->reading_mutex);
    pthread_mutex_destroy(&api->jobs_mutex);
    pthread_cond_destroy(&api->jobs_changed);
    free(api);
}

static struct api *new_api(const struct cli *cli, struct monitor *monitor)
{
    pthread_condattr_t monotonic;
    struct api *api = calloc(1, sizeof *api);
    struct api_config *config = calloc(1, sizeof *config);
    if (api == NULL || config == NULL) {
        free(api);
        free(config);
        return NULL;
    }
    *api =
        (struct api){.cli = cli,
                     .monitor = monitor,
                     .started_wall_ms = clock_wall_ms(),
                     .history = history_new(),
                     .dispatch = {.routes = cli->dev_clock != NULL ? ROUTES : ROUTES + DEV_ROUTES,
                                  .ctx = api,
                                  .listen = cli->config->admin,
                                  .token_path = cli->config->admin_token}};
    dispatch_init(&api->dispatch);
    pthread_mutex_init(&api->config_mutex, NULL);
    pthread_mutex_init(&api->history_mutex, NULL);
    pthread_mutex_init(&api->pace_mutex, NULL);
    pthread_mutex_init(&api->reads_mutex, NULL);
    pthread_mutex_init(&api->reading_mutex, NULL);
    spare_init(&api->spare);
    pthread_mutex_init(&api->jobs_mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&api->jobs_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    config->config = *cli->config;
    set_config(api, config);
    if (api->history != NULL)
        return api;
    free_api(api);
    return NULL;
}

struct starting {
    struct api *api;
    struct error *error;
};

static int start_threads(void *ctx)
{
    struct starting *s = ctx;
    if (pthread_create(&s->api->sampler, NULL, run_sampler, s->api) != 0)
        return error_set(s->error, ERR_NO_MEMORY, "admin: cannot start a thread");
    s->api->server = server_start(&s->api->dispatch, s->error);
    if (s->api->server != NULL)
        return 0;
    atomic_store(&s->api->ending, true);
    pthread_join(s->api->sampler, NULL);
    return ERR_CONFIG;
}

int api_check(const struct config *config, struct error *error)
{
    char token[TOKEN_MAX + 1];
    if (config->admin == NULL || config->admin_token == NULL)
        return 0;
    if (guard_read_token(config->admin_token, token, error) != 0)
        return ERR_CONFIG;
    explicit_bzero(token, sizeof token);
    return 0;
}

struct api *api_start(const struct cli *cli, struct monitor *monitor, struct error *error)
{
    if (api_check(cli->config, error) != 0)
        return NULL;
    struct api *api = new_api(cli, monitor);
    if (api == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    /* Calls, jobs and their clients of Kafka must not take the processor from deliveries. */
    (void)error_set(error, ERR_NO_MEMORY, "admin: cannot start a thread");
    if (background_start(start_threads, &(struct starting){api, error}) != 0) {
        free_api(api);
        return NULL;
    }
    log_info("listening for admin API calls", F_TEXT("address", cli->config->admin),
             F_INT("port", server_port(api->server)),
             F_BOOL("token", cli->config->admin_token != NULL));
    return api;
}

int api_port(const struct api *api)
{
    return server_port(api->server);
}

void api_drain(struct api *api)
{
    atomic_store(&api->stopping, true);
    api_jobs_end(api);
}

void api_stop(struct api *api)
{
    if (api == NULL)
        return;
    api_drain(api);
    server_stop(api->server);
    api_jobs_end(api); /* of a call during the stop */
    api_jobs_deinit(api);
    atomic_store(&api->ending, true);
    pthread_join(api->sampler, NULL);
    api_read_deinit(api);
    free_api(api);
}
