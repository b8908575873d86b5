/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: runs that take long. Each has a thread. The last ones are kept with their results. */
#include "bridge/commands/api_run.h"

#include "bridge/admin/problem.h"
#include "bridge/base/clock.h"
#include "bridge/commands/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { JOB_WAIT_MAX_MS = 5000, EXPIRE_MS = 3600 * 1000, KEPT_BYTES = 32 << 20 };

/* Guarded by jobs_mutex, except run while the job runs, and the atomic members. */
struct api_job {
    char id[2 * sizeof(uint64_t) + 1];
    const struct api_job_of *of;
    json_t *options; /* owned; as in the call */
    bool writes;
    bool awaited;                           /* a call waits for its end: it is not freed */
    int64_t started_wall_ms, ended_wall_ms; /* ended: 0: it runs */
    struct api_run run;
    pthread_t thread;
    atomic_bool stop;
    atomic_llong read_n;
    atomic_int permille; /* progress; below 0: not known */
};

static bool is_running(const struct api_job *job)
{
    return job->ended_wall_ms == 0;
}

static const char *state_of(const struct api_job *job)
{
    if (is_running(job))
        return atomic_load(&job->stop) ? "stopping" : "running";
    if (atomic_load(&job->stop))
        return "stopped";
    return job->run.code == EXIT_DONE || job->run.code == EXIT_NOT_FOUND ? "done" : "failed";
}

static bool on_read(void *ctx)
{
    struct api_job *job = ctx;
    atomic_fetch_add_explicit(&job->read_n, 1, memory_order_relaxed);
    return !atomic_load(&job->stop);
}

static void on_progress(void *ctx, double share)
{
    struct api_job *job = ctx;
    atomic_store(&job->permille, share >= 1 ? 1000 : (int)(share * 1000));
}

/* A job that is done is complete, also if its search has ended before the last record. */
static json_t *progress_json(const struct api_job *job)
{
    int permille = strcmp(state_of(job), "done") == 0 ? 1000 : atomic_load(&job->permille);
    return permille < 0 ? json_null() : json_real((double)permille / 1000);
}

/* Returns the job, with its results if they are wanted and complete. Call with the lock. */
static json_t *job_json(const struct api_job *job, bool results)
{
    bool ended = !is_running(job);
    bool failed = ended && job->run.code != EXIT_DONE && job->run.code != EXIT_NOT_FOUND;
    json_t *json = json_pack("{s:s, s:s, s:s, s:O, s:o, s:o}", "id", job->id, "kind",
                             job->of->command, "state", state_of(job), "options", job->options,
                             "started", instant_json(job->started_wall_ms), "ended",
                             ended ? instant_json(job->ended_wall_ms) : json_null());
    json_object_update_new(
        json, json_pack("{s:o, s:I, s:o}", "progress", progress_json(job), "records_read",
                        (json_int_t)atomic_load(&job->read_n), "problem",
                        failed ? problem_json((struct problem){api_status_of(job->run.code),
                                                               api_code_of(job->run.code), NULL},
                                              job->run.sentence)
                               : json_null()));
    if (results)
        json_object_update_new(
            json, json_pack("{s:o, s:o, s:b}", "results",
                            ended ? json_incref(job->run.results) : json_array(), "warnings",
                            ended ? json_incref(job->run.warnings) : json_array(), "results_cut",
                            ended && job->run.cut));
    return json;
}

static void *run_job(void *ctx)
{
    struct api_job *job = ctx;
    struct api *api = job->run.api;
    api_run_go(&job->run);
    pthread_mutex_lock(&api->jobs_mutex);
    job->ended_wall_ms = clock_wall_ms();
    pthread_cond_broadcast(&api->jobs_changed);
    pthread_mutex_unlock(&api->jobs_mutex);
    return NULL;
}

static void free_job(struct api_job *job)
{
    api_run_deinit(&job->run);
    json_decref(job->options);
    free(job);
}

static struct api_job *find_job(const struct api *api, const char *id)
{
    for (int i = 0; i < api->jobs_n; i++)
        if (strcmp(api->jobs[i]->id, id) == 0)
            return api->jobs[i];
    return NULL;
}

static void remove_job(struct api *api, int i)
{
    pthread_join(api->jobs[i]->thread, NULL);
    free_job(api->jobs[i]);
    memmove(&api->jobs[i], &api->jobs[i + 1],
            (size_t)(api->jobs_n - i - 1) * sizeof(struct api_job *));
    api->jobs_n--;
}

/* Frees jobs that ended long ago. Frees the oldest ended ones, too, if there are too many jobs, or
   if results of two more have no room. Returns false if too many run. */
static bool make_room(struct api *api)
{
    size_t bytes = API_JOBS_RUNNING_MAX * (size_t)API_RESULTS_BYTES;
    int64_t now_wall_ms = clock_wall_ms();
    for (int i = 0; i < api->jobs_n; i++)
        bytes += is_running(api->jobs[i]) ? 0 : api->jobs[i]->run.bytes;
    for (int i = 0; i < api->jobs_n;) {
        const struct api_job *job = api->jobs[i];
        bool leaves = !is_running(job) && !job->awaited &&
                      (api->jobs_n == API_JOBS_MAX || bytes > KEPT_BYTES ||
                       now_wall_ms - job->ended_wall_ms > EXPIRE_MS);
        if (leaves) {
            bytes -= job->run.bytes;
            remove_job(api, i);
        }
        i += !leaves;
    }
    return api->jobs_n < API_JOBS_MAX;
}

/* Returns why the job may not start now, or NULL. Call with the lock. */
static const char *too_many(const struct api *api, const struct api_job *job)
{
    int running = 0;
    for (int i = 0; i < api->jobs_n; i++) {
        if (!is_running(api->jobs[i]))
            continue;
        running++;
        if (job->writes && api->jobs[i]->writes)
            return "a redrive runs already: stop it, or wait for its end";
    }
    return running >= API_JOBS_RUNNING_MAX ? "two jobs run already: stop one, or wait for its end"
                                           : NULL;
}

static bool start_thread(struct api *api, struct api_job *job)
{
    job->started_wall_ms = clock_wall_ms();
    if (!make_room(api) || pthread_create(&job->thread, NULL, run_job, job) != 0)
        return false;
    api->jobs[api->jobs_n++] = job;
    return true;
}

/* Waits until the job ends, wait_ms at most. Call with the lock. */
static void await(struct api *api, struct api_job *job, int64_t wait_ms)
{
    struct timespec until;
    job->awaited = true;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + wait_ms % 1000 * 1000000;
    until.tv_sec += wait_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    while (is_running(job) && !atomic_load(&job->stop) &&
           pthread_cond_timedwait(&api->jobs_changed, &api->jobs_mutex, &until) == 0)
        continue;
    job->awaited = false;
}

/* Starts the job and answers with it. On failure, the job is freed. */
static void start(struct api *api, struct api_job *job, int64_t wait_ms,
                  struct admin_answer *answer)
{
    pthread_mutex_lock(&api->jobs_mutex);
    const char *why = atomic_load(&api->stopping) ? "the process ends" : too_many(api, job);
    if (why != NULL) {
        problem_answer(answer, (struct problem){409, "too_many_jobs", NULL}, "%s", why);
    } else if (!start_thread(api, job)) {
        problem_answer(answer, (struct problem){500, "internal", NULL}, "cannot start a thread");
    } else {
        await(api, job, wait_ms);
        answer->status = is_running(job) ? 202 : 200;
        answer->json = job_json(job, true);
        snprintf(answer->location, sizeof answer->location, "/api/v1/jobs/%s", job->id);
        job = NULL;
    }
    pthread_mutex_unlock(&api->jobs_mutex);
    if (job != NULL)
        free_job(job);
}

static struct api_job *new_job(struct api *api, const struct api_job_of *of, const json_t *options)
{
    uint64_t random;
    struct api_job *job = calloc(1, sizeof *job);
    if (job == NULL || getrandom(&random, sizeof random, 0) != sizeof random) {
        free(job);
        return NULL;
    }
    snprintf(job->id, sizeof job->id, "%016" PRIx64, random);
    job->of = of;
    job->options = json_deep_copy(options);
    job->writes =
        strcmp(of->command, "redrive") == 0 && !json_is_true(json_object_get(options, "dry-run"));
    atomic_store(&job->permille, -1);
    job->run = (struct api_run){.api = api,
                                .command = of->command,
                                .names = of->options,
                                .ctx = job,
                                .read = on_read,
                                .progress = on_progress};
    return job;
}

/* Reads the parameter wait_ms. Returns false after it has answered that it is no such number. */
static bool read_wait(const struct admin_call *call, int64_t *wait_ms, struct admin_answer *answer)
{
    static const struct option WAIT = {
        .name = "wait_ms", .kind = OPTION_NUMBER, .most = JOB_WAIT_MAX_MS, .value = "N"};
    struct option_value value;
    struct error error;
    const char *text = admin_param(call, "wait_ms");
    *wait_ms = 0;
    if (text == NULL)
        return true;
    if (option_read(&WAIT, text, &value, &error) == 0) {
        *wait_ms = value.number;
        return true;
    }
    problem_answer(answer, (struct problem){400, "data", NULL}, "%s", error.text);
    return false;
}

void api_job_start(void *ctx, const struct admin_route *route, const struct admin_request *request,
                   struct admin_answer *answer)
{
    struct error error = {""};
    int64_t wait_ms;
    if (!read_wait(request->call, &wait_ms, answer))
        return;
    struct api_job *job = new_job(ctx, route->details, request->body);
    int err = job == NULL ? error_set(&error, ERR_NO_MEMORY, "out of memory")
                          : api_run_init(&job->run, request->body, &error);
    if (err == 0) {
        start(ctx, job, wait_ms, answer);
        return;
    }
    api_run_refuse(err, &error, answer);
    if (job != NULL)
        free_job(job);
}

void api_job_list(void *ctx, const struct admin_route *route, const struct admin_request *request,
                  struct admin_answer *answer)
{
    struct api *api = ctx;
    json_t *list = json_array();
    (void)route, (void)request;
    pthread_mutex_lock(&api->jobs_mutex);
    for (int i = api->jobs_n - 1; i >= 0; i--)
        json_array_append_new(list, job_json(api->jobs[i], false));
    pthread_mutex_unlock(&api->jobs_mutex);
    answer->status = 200;
    answer->json = json_pack("{s:o}", "jobs", list);
}

static void answer_job(struct api *api, const char *id, bool stop, struct admin_answer *answer)
{
    pthread_mutex_lock(&api->jobs_mutex);
    struct api_job *job = find_job(api, id);
    if (job == NULL) {
        problem_answer(answer, (struct problem){404, "not_found", NULL},
                       "there is no such job, or it ended long ago");
    } else {
        if (stop && is_running(job))
            atomic_store(&job->stop, true);
        answer->status = 200;
        answer->json = job_json(job, true);
    }
    pthread_cond_broadcast(&api->jobs_changed);
    pthread_mutex_unlock(&api->jobs_mutex);
}

void api_job_show(void *ctx, const struct admin_route *route, const struct admin_request *request,
                  struct admin_answer *answer)
{
    (void)route;
    answer_job(ctx, request->id, false, answer);
}

void api_job_stop(void *ctx, const struct admin_route *route, const struct admin_request *request,
                  struct admin_answer *answer)
{
    (void)route;
    answer_job(ctx, request->id, true, answer);
}

void api_jobs_end(struct api *api)
{
    pthread_mutex_lock(&api->jobs_mutex);
    for (int i = 0; i < api->jobs_n; i++)
        if (is_running(api->jobs[i]))
            atomic_store(&api->jobs[i]->stop, true);
    pthread_cond_broadcast(&api->jobs_changed);
    pthread_mutex_unlock(&api->jobs_mutex);
}

void api_jobs_deinit(struct api *api)
{
    for (int i = 0; i < api->jobs_n; i++) {
        pthread_join(api->jobs[i]->thread, NULL);
        free_job(api->jobs[i]);
    }
    api->jobs_n = 0;
}
