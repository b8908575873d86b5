/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that write: send, cancel, replace, pause, resume and limit. */
#include "bridge/commands/api_run.h"

#include "bridge/admin/problem.h"
#include "bridge/base/clock.h"

#include <string.h>

enum { REQUESTS_MAX = 1000, CANCEL_WAIT_MAX_MS = 10 * 1000 };

static void refuse(struct admin_answer *answer, const char *detail)
{
    problem_answer(answer, (struct problem){400, "data", NULL}, "%s", detail);
}

static void refuse_memory(struct admin_answer *answer)
{
    problem_answer(answer, (struct problem){500, "internal", NULL}, "out of memory");
}

/* Returns a copy, or NULL without memory. json_copy can lose members then, and a pause would run
   without its end. */
static json_t *copy_options(const json_t *body)
{
    json_t *copy = json_copy((json_t *)body);
    if (json_object_size(copy) == json_object_size(body))
        return copy;
    json_decref(copy);
    return NULL;
}

/* Answers that a record may be stored: a client that sends it again may send it twice. */
static bool answer_unknown(const struct api_run *run, struct admin_answer *answer)
{
    if (!run->output.outcome_unknown || json_array_size(run->results) > 0)
        return false;
    const struct problem problem = {500, "outcome_unknown", NULL};
    if (run->code == EXIT_PARTIAL) /* the sentence says so */
        problem_answer(answer, problem, "%s", run->sentence);
    else
        problem_answer(answer, problem,
                       "stored or not, because no broker has answered in time: find shows it (%s)",
                       run->sentence);
    return true;
}

static void answer_results(const struct api_run *run, struct admin_answer *answer)
{
    if (answer_unknown(run, answer))
        return;
    bool failed = run->code != EXIT_DONE && run->code != EXIT_NOT_FOUND; /* its result says so */
    if (failed && json_array_size(run->results) == 0) {
        api_run_fail(run, answer);
        return;
    }
    json_t *problem =
        !failed
            ? json_null()
            : problem_json((struct problem){api_status_of(run->code), api_code_of(run->code), NULL},
                           run->sentence);
    answer->status = 200;
    answer->json = json_pack("{s:O, s:O, s:o}", "results", run->results, "warnings", run->warnings,
                             "problem", problem);
}

static const char *options_of(const char *command)
{
    return strcmp(command, "cancel") == 0 ? "wait all-lanes"
           : strcmp(command, "send") == 0 ? ""
                                          : "wait";
}

static bool is_allowed_to_wait(const char *command)
{
    return strcmp(command, "cancel") == 0 || strcmp(command, "replace") == 0;
}

/* Runs the command with these options. */
static void run_write(struct api_run *run, json_t *options, struct admin_answer *answer)
{
    struct error error = {""};
    if (atomic_load(&run->api->stopping)) {
        problem_answer(answer, (struct problem){503, "stopping", NULL}, "the process ends");
        return;
    }
    int err = api_run_init(run, options, &error);
    if (err != 0) {
        api_run_refuse(err, &error, answer);
    } else if (is_allowed_to_wait(run->command) &&
               arguments_number(&run->arguments, "--wait") > CANCEL_WAIT_MAX_MS) {
        refuse(answer, "wait: at most 10s");
    } else {
        run->output.producer = spare_take(&run->api->spare);
        api_run_go(run);
        if (run->output.producer != NULL)
            spare_keep(&run->api->spare, run->output.producer, clock_mono_ms());
        answer_results(run, answer);
    }
}

void api_write(void *ctx, const struct admin_route *route, const struct admin_request *request,
               struct admin_answer *answer)
{
    const char *command = route->details;
    json_t *requests = json_object_get(request->body, "requests");
    size_t n = json_array_size(requests);
    if (n == 0 || n > REQUESTS_MAX) {
        refuse(answer, "requests: must be a list of 1 to 1,000 objects");
        return;
    }
    json_t *options = copy_options(request->body);
    if (options == NULL) {
        refuse_memory(answer);
        return;
    }
    json_object_del(options, "requests");
    struct api_run run = {.api = ctx,
                          .command = command,
                          .names = options_of(command),
                          .input = requests,
                          .caller = request->call->caller};
    run_write(&run, options, answer);
    api_run_deinit(&run);
    json_decref(options);
}

/* Moves a text of the object to the operands. Returns false if it is none. */
static bool move_operand(json_t *options, const char *name, const char **operand)
{
    const json_t *value = json_object_get(options, name);
    *operand = json_string_value(value);
    return *operand != NULL && json_string_length(value) <= API_TEXT_MAX &&
           strlen(*operand) == json_string_length(value);
}

void api_control(void *ctx, const struct admin_route *route, const struct admin_request *request,
                 struct admin_answer *answer)
{
    const char *command = route->details;
    bool is_limit = strcmp(command, "limit") == 0;
    json_t *options = copy_options(request->body);
    struct api_run run = {.api = ctx,
                          .command = command,
                          .names = strcmp(command, "resume") == 0 ? "" : "for",
                          .caller = request->call->caller};
    if (options == NULL) {
        refuse_memory(answer);
    } else if (!move_operand(request->body, "targets", &run.operands[0]) ||
               (is_limit && !move_operand(request->body, "rate", &run.operands[1]))) {
        refuse(answer, is_limit ? "targets and rate: must be texts" : "targets: must be a text");
    } else {
        json_object_del(options, "targets");
        if (is_limit)
            json_object_del(options, "rate");
        run_write(&run, options, answer);
        api_run_deinit(&run);
    }
    json_decref(options);
}
