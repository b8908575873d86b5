/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that read offsets: levels, lanes and forecast, and the processes of the group. One call at
   a time reads, and its answer serves all calls of the next second. */
#include "bridge/commands/api_run.h"

#include "bridge/admin/problem.h"
#include "bridge/base/clock.h"

enum { FRESH_MS = 1000, KEEP_MS = 30 * 1000 };

/* Runs the command with the kept consumer. */
static void read_now(struct api *api, struct api_run *run, struct api_read *read,
                     struct admin_answer *answer)
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
    json_decref(read->answer);
    read->answer = json_incref(json_array_get(run->results, 0));
    read->at_mono_ms = clock_mono_ms();
}

void api_read(void *ctx, const struct admin_route *route, const struct admin_request *request,
              struct admin_answer *answer)
{
    struct api *api = ctx;
    const struct api_read_of *of = route->details;
    (void)request;
    pthread_mutex_lock(&api->reads_mutex);
    struct api_read *read = &api->reads[of->number];
    if (read->answer == NULL || clock_mono_ms() - read->at_mono_ms >= FRESH_MS) {
        struct api_run run = {
            .api = api, .command = of->command, .names = "", .always = of->always};
        read_now(api, &run, read, answer);
        api_run_deinit(&run);
    }
    if (answer->status == 0) {
        answer->status = 200;
        answer->json = json_deep_copy(read->answer); /* its numbers of references are not atomic */
    }
    pthread_mutex_unlock(&api->reads_mutex);
}

void api_processes(void *ctx, const struct admin_route *route, const struct admin_request *request,
                   struct admin_answer *answer)
{
    struct api *api = ctx;
    struct api_config *config = api_config_take(api);
    const struct cli cli = {.config = &config->config, .timeout_ms = API_TIMEOUT_MS};
    (void)route, (void)request;
    pthread_mutex_lock(&api->reads_mutex);
    top_members_look(&api->members, &cli);
    answer->status = 200;
    answer->json = json_pack("{s:o, s:o}", "processes", top_members_json(&api->members),
                             "differences", top_members_differences(&api->members));
    pthread_mutex_unlock(&api->reads_mutex);
    api_config_drop(config);
}

void api_read_expire(struct api *api)
{
    if (pthread_mutex_trylock(&api->reads_mutex) != 0)
        return;
    rd_kafka_t *idle = NULL;
    if (clock_mono_ms() - api->kept_mono_ms > KEEP_MS) {
        idle = api->kept;
        api->kept = NULL;
    }
    pthread_mutex_unlock(&api->reads_mutex);
    if (idle != NULL)
        rd_kafka_destroy(idle);
}

void api_read_deinit(struct api *api)
{
    top_members_deinit(&api->members);
    for (int i = 0; i < API_READS; i++)
        json_decref(api->reads[i].answer);
    if (api->kept != NULL)
        rd_kafka_destroy(api->kept);
}
