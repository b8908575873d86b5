/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, reloads and stops the workers. */
#include "bridge/service/service.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/service/canary.h"
#include "bridge/service/companions.h"
#include "bridge/service/heartbeat.h"
#include "bridge/service/start_check.h"
#include "bridge/service/worker.h"
#include "consumer/admin/request_limit.h"
#include "consumer/admin/topics.h"
#include "consumer/client/client.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ALIVE_MS = 60 * 1000, RELOAD_MS = 10 * 1000, RELOAD_STEP_MS = 10 };

struct service {
    const struct config *config;
    const struct clock *clock; /* NULL: the system's */
    struct config *live;       /* the configuration that the workers have applied; NULL: config */
    struct worker **workers;
    int workers_n;
    int failure_fd;                     /* an eventfd; workers that fail write to it */
    atomic_int lanes, refusals, faults; /* of the last check */
    atomic_uint hash;                   /* of the configuration of the workers */
    size_t record_max_bytes;       /* the largest record that brokers accept, of the last query */
    struct canary *canary;         /* NULL: none */
    struct companions *companions; /* NULL: none */
    struct heartbeat heartbeat;
};

/* Counts the findings before it logs them, so that the metrics have each one that the log has. */
static void record_findings(struct service *s, const struct findings *findings)
{
    atomic_store(&s->refusals, findings_count(findings, FINDING_REFUSE));
    atomic_store(&s->faults, findings_count(findings, FINDING_FAULT));
    start_check_log(findings);
}

/* Connects a handle for admin requests. The caller destroys it soon, since even an idle handle
   costs a thousandth of a core. */
static rd_kafka_t *connect_admin(const struct config *config, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    return conf == NULL ? NULL : client_new(RD_KAFKA_PRODUCER, conf, error);
}

/* Returns whether brokers reported their limit. Logs a missing answer only once: without the right
   it is missing at each check. */
static bool query_request_limit(struct service *s, rd_kafka_t *admin)
{
    bool known;
    struct error error;
    size_t record_max_bytes = request_limit_ask(admin, START_QUERY_MS, &known, &error);
    if (!known && s->record_max_bytes == 0)
        log_warn("cannot read socket.request.max.bytes, assuming Kafka's default: allow "
                 "DescribeConfigs on the cluster",
                 F_COUNT("record_max_bytes", record_max_bytes), F_TEXT("reason", error.text));
    if (known || s->record_max_bytes == 0)
        s->record_max_bytes = record_max_bytes;
    return known;
}

static int out_of_memory(struct error *error)
{
    return error_set(error, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
}

static struct commit_limits query_commit_limits(rd_kafka_t *admin)
{
    struct commit_limits limits;
    struct admin asked = {.rk = admin, .timeout_ms = START_QUERY_MS};
    commit_limits_ask(&asked, &limits);
    if (limits.error.text[0] != '\0')
        log_info("cannot read the brokers' limits for commits, assuming Kafka's defaults",
                 F_COUNT("metadata_bytes", limits.text_max),
                 F_MS("commit_again_ms", limits.again_ms), F_TEXT("reason", limits.error.text));
    return limits;
}

static int start_workers(struct service *s, int lanes, struct commit_limits commits,
                         struct error *error)
{
    s->workers = calloc((size_t)s->config->workers, sizeof(struct worker *));
    if (s->workers == NULL)
        return out_of_memory(error);
    for (; s->workers_n < s->config->workers; s->workers_n++) {
        struct worker_config config = {.config = s->config,
                                       .number = s->workers_n,
                                       .lanes = lanes,
                                       .commits = commits,
                                       .record_max_bytes = s->record_max_bytes,
                                       .clock = s->clock,
                                       .failure_fd = s->failure_fd};
        int err = worker_start(&config, &s->workers[s->workers_n], error);
        if (err != 0)
            return err;
    }
    return 0;
}

/* The canary is optional: a failure to start it is logged and ignored. */
static void start_canary(struct service *s)
{
    struct error error = {""};
    if (s->config->canary_ms == 0)
        return;
    s->canary = canary_start(s->config, &error);
    if (s->canary == NULL)
        log_error("cannot start the canary, continuing without it: run 'delaybridge check'",
                  F_TEXT("reason", error.text));
}

static int owned_lanes(void *ctx)
{
    const struct service *s = ctx;
    uint64_t n = 0;
    for (int i = 0; i < s->workers_n; i++)
        n += counter_read(&worker_stats(s->workers[i])->lanes);
    return (int)n;
}

int service_start(const struct config *config, const struct clock *clock, struct service **service,
                  struct error *error)
{
    struct service *s = calloc(1, sizeof *s);
    if (s == NULL)
        return out_of_memory(error);
    s->config = config;
    s->clock = clock;
    s->heartbeat.last_mono_ms = clock_mono_ms();
    atomic_store(&s->hash, config_hash(config));
    s->failure_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s->failure_fd == -1) {
        free(s);
        return error_set(error, ERR_NO_MEMORY, "out of file descriptors");
    }
    struct findings findings = {0};
    struct commit_limits commits = {0};
    rd_kafka_t *admin = connect_admin(config, error);
    int err = admin == NULL ? ERR_CONFIG : start_check(config, admin, &findings, error);
    int lanes = findings.partitions;
    atomic_store(&s->lanes, lanes);
    record_findings(s, &findings);
    findings_deinit(&findings);
    if (err == 0) {
        commits = query_commit_limits(admin);
        (void)query_request_limit(s, admin);
    }
    if (admin != NULL)
        rd_kafka_destroy(admin);
    if (err == 0)
        err = start_workers(s, lanes, commits, error);
    if (err == 0) {
        start_canary(s);
        struct companions_config companions = {config, lanes, owned_lanes, s};
        s->companions = companions_start(&companions);
    }
    if (err != 0) {
        (void)service_stop(s);
        return err;
    }
    log_info("started", F_INT("lanes", lanes),
             F_INT("levels", config->ladder.n + config->retired_n),
             F_INT("workers", config->workers), F_TEXT("group", config->group),
             F_TEXT("schedule", config->schedule));
    *service = s;
    return 0;
}

void service_stats(const struct service *s, struct stats *sum)
{
    memset(sum, 0, sizeof *sum);
    for (int i = 0; i < s->workers_n; i++)
        stats_sum(sum, worker_stats(s->workers[i]));
}

void service_heartbeat(struct service *s)
{
    static struct stats now; /* large; only the main thread calls this */
    service_stats(s, &now);
    heartbeat_log(&s->heartbeat, &now, clock_mono_ms());
}

/* running: the live keys of the last reload, and the others as they were at the start. */
static void recheck(struct service *s, const struct config *running)
{
    struct findings findings;
    struct error error;
    rd_kafka_t *admin = connect_admin(running, &error);
    if (admin == NULL)
        return;
    if (topics_check(admin, running, START_QUERY_MS, &findings, &error) == 0) {
        producers_check(running, START_QUERY_MS, &findings);
        atomic_store(&s->lanes, findings.partitions);
        record_findings(s, &findings);
        findings_deinit(&findings);
        bool known = query_request_limit(s, admin);
        for (int i = 0; known && i < s->workers_n; i++)
            worker_limit(s->workers[i], s->record_max_bytes);
    } /* otherwise Kafka is unreachable, which the clients log */
    rd_kafka_destroy(admin);
}

void service_recheck(struct service *s)
{
    static struct config running; /* large; only the main thread calls this */
    running = *s->config;
    if (config_copy_live(&running, s->live != NULL ? s->live : s->config) != 0)
        return;
    recheck(s, &running);
    config_free_live(&running);
}

int service_check(struct service *s, const struct config *fresh, struct error *error)
{
    struct findings findings = {0};
    rd_kafka_t *admin = connect_admin(fresh, error);
    int err = admin == NULL ? ERR_CONFIG : start_check(fresh, admin, &findings, error);
    if (err == 0)
        record_findings(s, &findings);
    else
        start_check_log(&findings);
    findings_deinit(&findings);
    if (admin != NULL)
        rd_kafka_destroy(admin);
    return err;
}

void service_reload(struct service *s, struct config *fresh)
{
    for (int i = 0; i < s->workers_n; i++)
        worker_reload(s->workers[i], fresh);
    int64_t until_ms = clock_mono_ms() + RELOAD_MS;
    for (int i = 0; i < s->workers_n; i++) {
        while (worker_live(s->workers[i]) != fresh && clock_mono_ms() < until_ms)
            poll(NULL, 0, RELOAD_STEP_MS);
        if (worker_live(s->workers[i]) != fresh) {
            log_warn("worker stalled, applying the new configuration when it resumes",
                     F_INT("worker", i));
            return; /* the worker may still read the old configuration: do not free it */
        }
    }
    if (s->live != NULL) {
        config_deinit(s->live);
        free(s->live);
    }
    s->live = fresh;
    atomic_store(&s->hash, config_hash(fresh));
    if (s->companions != NULL)
        companions_update(s->companions, fresh);
}

bool service_is_alive(const struct service *s)
{
    bool alive = true;
    for (int i = 0; i < s->workers_n; i++)
        alive &= clock_mono_ms() - worker_turned_mono_ms(s->workers[i]) < ALIVE_MS;
    return alive;
}

bool service_is_ready(const struct service *s, char *why, size_t why_size)
{
    for (int i = 0; i < s->workers_n; i++) {
        if (worker_joined(s->workers[i]))
            continue;
        snprintf(why, why_size, "worker %d of %d has no lanes assigned: joining, or Kafka is away",
                 i, s->workers_n);
        return false;
    }
    return true;
}

int service_lanes(const struct service *s)
{
    return atomic_load(&s->lanes);
}

int service_refusals(const struct service *s)
{
    return atomic_load(&s->refusals);
}

uint32_t service_config_hash(const struct service *s)
{
    return atomic_load(&s->hash);
}

int service_faults(const struct service *s)
{
    return atomic_load(&s->faults);
}

const struct canary_stats *service_canary(const struct service *s)
{
    return s->canary == NULL ? NULL : canary_stats(s->canary);
}

struct watched service_watched(const struct service *s)
{
    return s->companions == NULL ? (struct watched){.open_records = -1}
                                 : companions_watched(s->companions);
}

bool service_failed(const struct service *s)
{
    bool failed = false;
    for (int i = 0; i < s->workers_n; i++)
        failed |= worker_failed(s->workers[i]);
    return failed;
}

int service_failure_fd(const struct service *s)
{
    return s->failure_fd;
}

size_t service_stop(struct service *s)
{
    size_t in_flight = 0;
    for (int i = 0; i < s->workers_n; i++)
        worker_stop(s->workers[i]);
    if (s->canary != NULL)
        canary_stop(s->canary);
    if (s->companions != NULL)
        companions_stop_watch(s->companions);
    for (int i = 0; i < s->workers_n; i++)
        in_flight += worker_join(s->workers[i]);
    if (s->companions != NULL)
        companions_stop(s->companions); /* it counts the lanes of the workers */
    for (int i = 0; i < s->workers_n; i++)
        worker_free(s->workers[i]);
    free(s->workers);
    if (s->live != NULL)
        config_deinit(s->live);
    free(s->live);
    close(s->failure_fd);
    free(s);
    return in_flight;
}
