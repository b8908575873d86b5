/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that read offsets: levels, lanes and forecast, and the processes of the group. One call at
   a time reads, and its answer serves all calls of the next moment. */
#include "bridge/commands/api_run.h"

#include "bridge/admin/problem.h"
#include "bridge/base/clock.h"

enum { FAILED_MS = 1000, OLD_MS = 60 * 1000, KEEP_MS = 30 * 1000, TURN_S = 1 };

/* Answers are shared between threads: their numbers of references must be atomic. */
#if !JSON_HAVE_ATOMIC_BUILTINS && !JSON_HAVE_SYNC_BUILTINS
#error "jansson without atomic references"
#endif

/* Runs the command with the kept consumer. */
static void run_kept(struct api *api, struct api_run *run, struct admin_answer *answer)
{
    struct error error = {""};
    if (api_run_init(run, NULL, &error) != 0) {
        problem_answer(answer, (struct problem){500, "internal", NULL}, "%s", error.text);
        return;
    }
    run->output.kept = api->kept;
    api_run_go(run);
    api->kept = run->output.kept;
    api->kept_mono_ms = clock_mono_ms();
    if (run->code != EXIT_DONE || json_array_size(run->results) == 0) {
        api_run_fail(run, answer);
        return;
    }
    answer->status = 200;
    answer->json = json_incref(json_array_get(run->results, 0));
}

/* Copies the last answer, if it is fresh or, with old_too, of the last minute. Returns false if it
   is not. */
static bool copy_answer(struct api *api, int number, bool old_too, struct admin_answer *answer)
{
    pthread_mutex_lock(&api->reads_mutex);
    const struct api_read *read = &api->reads[number];
    int64_t until_mono_ms = old_too ? read->at_mono_ms + OLD_MS : read->fresh_until_mono_ms;
    bool fits = read->answer.json != NULL && clock_mono_ms() < until_mono_ms;
    if (fits) {
        *answer = read->answer;
        answer->json = json_incref(read->answer.json);
    }
    pthread_mutex_unlock(&api->reads_mutex);
    return fits;
}

/* Reads and keeps the answer, also that of a failure. Call with reading_mutex. */
static void read_now(struct api *api, const struct api_read_of *of)
{
    struct admin_answer fresh = {0};
    struct api_run run = {.api = api, .command = of->command, .names = "", .always = of->always};
    run_kept(api, &run, &fresh);
    api_run_deinit(&run);
    pthread_mutex_lock(&api->reads_mutex);
    struct api_read *read = &api->reads[of->number];
    json_decref(read->answer.json);
    int64_t now_mono_ms = clock_mono_ms();
    *read = (struct api_read){fresh, now_mono_ms,
                              now_mono_ms + (fresh.status == 200 ? of->fresh_ms : FAILED_MS)};
    pthread_mutex_unlock(&api->reads_mutex);
}

/* Answers that another call reads, or that the process ends. */
static void answer_busy(const struct api *api, struct admin_answer *answer)
{
    bool stopping = atomic_load(&api->stopping);
    answer->retry_after_s = 1;
    problem_answer(answer, (struct problem){503, stopping ? "stopping" : "busy", NULL}, "%s",
                   stopping ? "the process ends" : "another call waits for Kafka: try again");
}

/* Waits a moment for the turn to read. Returns false if it does not come. */
static bool take_turn(struct api *api)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TURN_S;
    return pthread_mutex_timedlock(&api->reading_mutex, &until) == 0;
}

void api_read(void *ctx, const struct admin_route *route, const struct admin_request *request,
              struct admin_answer *answer)
{
    struct api *api = ctx;
    const struct api_read_of *of = route->details;
    (void)request;
    if (copy_answer(api, of->number, false, answer))
        return;
    if (!take_turn(api)) {
        if (!copy_answer(api, of->number, true, answer))
            answer_busy(api, answer);
        return;
    }
    bool stopping = atomic_load(&api->stopping);
    if (!stopping && !copy_answer(api, of->number, false, answer)) {
        read_now(api, of);
        (void)copy_answer(api, of->number, true, answer);
    }
    pthread_mutex_unlock(&api->reading_mutex);
    if (answer->status == 0)
        answer_busy(api, answer);
}

void api_processes(void *ctx, const struct admin_route *route, const struct admin_request *request,
                   struct admin_answer *answer)
{
    struct api *api = ctx;
    struct error error = {""};
    (void)route, (void)request;
    if (atomic_load(&api->stopping) || !take_turn(api)) {
        answer_busy(api, answer);
        return;
    }
    struct api_config *config = api_config_take(api);
    struct output silent = {0};
    const struct cli cli = {
        .config = &config->config, .timeout_ms = API_TIMEOUT_MS, .output = &silent};
    int err = top_members_look(&api->members, &cli, &error);
    bool lasts = err == ERR_CONFIG || err == ERR_TOPICS;
    if (err != 0) {
        problem_answer(answer,
                       (struct problem){lasts ? 500 : 503, lasts ? "config" : "unreachable", NULL},
                       "%s", error.text);
    } else {
        answer->status = 200;
        answer->json = json_pack("{s:o, s:o}", "processes", top_members_json(&api->members),
                                 "differences", top_members_differences(&api->members));
    }
    pthread_mutex_unlock(&api->reading_mutex);
    api_config_drop(config);
}

void api_read_expire(struct api *api)
{
    if (pthread_mutex_trylock(&api->reading_mutex) != 0)
        return;
    rd_kafka_t *idle = NULL;
    if (clock_mono_ms() - api->kept_mono_ms > KEEP_MS) {
        idle = api->kept;
        api->kept = NULL;
    }
    pthread_mutex_unlock(&api->reading_mutex);
    if (idle != NULL)
        rd_kafka_destroy(idle);
}

void api_read_deinit(struct api *api)
{
    top_members_deinit(&api->members);
    for (int i = 0; i < API_READS; i++)
        json_decref(api->reads[i].answer.json);
    if (api->kept != NULL)
        rd_kafka_destroy(api->kept);
}
