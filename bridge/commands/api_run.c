/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands with a receiver of their results (output.h). */
#include "bridge/commands/api_run.h"

#include "bridge/admin/problem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies a sentence about options of the command line without their dashes. */
static void take_sentence(const char *sentence, char out[ERROR_MAX])
{
    size_t n = 0;
    char before = ' ';
    for (const char *c = sentence; *c != '\0' && n < ERROR_MAX - 1; c++) {
        bool option = strchr(" '(", before) != NULL && strncmp(c, "--", 2) == 0 &&
                      isalpha((unsigned char)c[2]);
        c += option ? 2 : 0;
        before = *c;
        out[n++] = *c;
    }
    out[n] = '\0';
}

/* Keeps a result. When there is no room, the last one replaces the one before it: a summary comes
   last. A result that alone has no room is left out. */
static void take_result(void *ctx, json_t *value)
{
    struct api_run *run = ctx;
    size_t n = json_array_size(run->results), bytes = json_dumpb(value, NULL, 0, JSON_COMPACT);
    bool fits = n < API_RESULTS_MAX && run->bytes + bytes <= API_RESULTS_BYTES;
    run->cut |= !fits;
    if (fits) {
        run->bytes += bytes;
        json_array_append_new(run->results, value);
    } else if (n > 0 && bytes <= API_LAST_BYTES) {
        json_array_set_new(run->results, n - 1, value);
    } else {
        json_decref(value);
    }
}

static void take_complaint(void *ctx, int code, const char *sentence)
{
    struct api_run *run = ctx;
    char text[ERROR_MAX];
    take_sentence(sentence, text);
    if (code != EXIT_DONE)
        memcpy(run->sentence, text, sizeof text);
    else if (json_array_size(run->warnings) < API_RESULTS_MAX)
        json_array_append_new(run->warnings, json_string(text));
}

static bool take_read(void *ctx)
{
    struct api_run *run = ctx;
    api_pace(run->api);
    return run->read == NULL || run->read(run->ctx);
}

static void take_progress(void *ctx, double share)
{
    struct api_run *run = ctx;
    if (run->progress != NULL)
        run->progress(run->ctx, share);
}

/* Adds an option with a text, which the run keeps. */
static int add_text(struct api_run *run, const char *name, const char *text, struct error *error)
{
    json_t *kept = json_string(text);
    if (json_array_append_new(run->texts, kept) != 0)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    return arguments_add(&run->arguments, name, json_string_value(kept), error);
}

/* Returns the types of JSON that an option takes, for people. */
static const char *accepted(enum option_kind kind)
{
    switch (kind) {
    case OPTION_SWITCH:
        return "true or false";
    case OPTION_NUMBER:
        return "a whole number";
    case OPTION_AMOUNT:
    case OPTION_RATE:
        return "a whole number or a text of 1 to 1,000 bytes";
    case OPTION_DURATION:
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_CHOICE:
        break;
    }
    return "a text of 1 to 1,000 bytes";
}

static bool takes_text(enum option_kind kind, const json_t *value)
{
    size_t n = json_string_length(value);
    return kind != OPTION_SWITCH && kind != OPTION_NUMBER && n > 0 && n <= API_TEXT_MAX &&
           strlen(json_string_value(value)) == n;
}

static bool takes_number(enum option_kind kind)
{
    return kind == OPTION_NUMBER || kind == OPTION_AMOUNT || kind == OPTION_RATE;
}

static int add_one(struct api_run *run, const struct option *option, const json_t *value,
                   struct error *error)
{
    char number[32];
    const char *name = option->name + 2; /* without dashes */
    if (json_is_string(value) && takes_text(option->kind, value))
        return add_text(run, name, json_string_value(value), error);
    if (json_is_integer(value) && takes_number(option->kind)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        return add_text(run, name, number, error);
    }
    if (json_is_boolean(value) && option->kind == OPTION_SWITCH)
        return json_is_true(value) ? arguments_add(&run->arguments, name, NULL, error) : 0;
    return error_set(error, ERR_DATA, "%s: takes %s", name, accepted(option->kind));
}

static int add_option(struct api_run *run, const char *name, const json_t *value,
                      struct error *error)
{
    size_t i;
    json_t *item;
    int err = 0;
    char full[64];
    snprintf(full, sizeof full, "--%s", name);
    const struct option *option = admin_has_word(run->names, name)
                                      ? option_find(run->found->options, full, strlen(full))
                                      : NULL;
    if (option == NULL)
        return error_set(error, ERR_DATA, "unknown member '%.60s': %s", name,
                         run->names[0] == '\0' ? "there is none" : run->names);
    if (json_is_null(value))
        return 0;
    if (!json_is_array(value))
        return add_one(run, option, value, error);
    if (!option->repeatable)
        return error_set(error, ERR_DATA, "%.60s: takes one value, not a list", name);
    json_array_foreach(value, i, item)
    {
        err = err == 0 ? add_one(run, option, item, error) : err;
    }
    return err;
}

static int add_options(struct api_run *run, const json_t *options, struct error *error)
{
    const char *name;
    json_t *value;
    int err = 0;
    json_object_foreach((json_t *)options, name, value)
    {
        err = err == 0 ? add_option(run, name, value, error) : err;
    }
    if (err == 0 && run->always != NULL)
        err = arguments_add(&run->arguments, run->always, NULL, error);
    return err;
}

static int add_operands(struct api_run *run)
{
    struct arguments *a = &run->arguments;
    a->operands = calloc(API_OPERANDS_MAX, sizeof *a->operands);
    if (a->operands == NULL)
        return ERR_NO_MEMORY;
    for (int i = 0; run->operands[i] != NULL; i++)
        a->operands[a->operands_n++] = (char *)run->operands[i]; /* only read */
    return 0;
}

int api_run_init(struct api_run *run, const json_t *options, struct error *error)
{
    run->found = command_find(run->command);
    run->arguments = (struct arguments){.own = run->found->options};
    run->config = api_config_take(run->api);
    snprintf(run->by, sizeof run->by, "admin API, %s",
             run->caller == NULL ? "unknown" : run->caller);
    run->output = (struct output){.by = run->by,
                                  .room = API_RESULTS_BYTES,
                                  .ctx = run,
                                  .result = take_result,
                                  .sentence = take_complaint,
                                  .progress = take_progress,
                                  .read = take_read};
    run->cli = (struct cli){.config = &run->config->config,
                            .needs = run->found->needs,
                            .arguments = &run->arguments,
                            .json = true,
                            .timeout_ms = API_TIMEOUT_MS,
                            .input = run->input,
                            .output = &run->output};
    run->results = json_array();
    run->warnings = json_array();
    run->texts = json_array();
    if (add_operands(run) != 0 || run->results == NULL || run->warnings == NULL ||
        run->texts == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    struct error raw = {""};
    int err = add_options(run, options, &raw);
    take_sentence(raw.text, error->text);
    return err;
}

void api_run_go(struct api_run *run)
{
    run->code = run->found->run(&run->cli);
    if (run->code != EXIT_DONE && run->sentence[0] == '\0')
        snprintf(run->sentence, sizeof run->sentence, "%s ended with code %d", run->command,
                 run->code);
}

void api_run_deinit(struct api_run *run)
{
    arguments_deinit(&run->arguments);
    json_decref(run->results);
    json_decref(run->warnings);
    json_decref(run->texts);
    if (run->config != NULL)
        api_config_drop(run->config);
}

int api_status_of(int code)
{
    switch ((enum exit_code)code) {
    case EXIT_DONE:
        return 200;
    case EXIT_PARTIAL: /* a cancel without an answer yet, or a redrive that can continue */
        return 202;
    case EXIT_NOT_FOUND:
        return 404;
    case EXIT_USAGE:
    case EXIT_DATA:
        return 400;
    case EXIT_UNREACHABLE:
        return 503;
    case EXIT_INTERNAL:
    case EXIT_CONFIG:
        break;
    }
    return 500;
}

const char *api_code_of(int code)
{
    switch ((enum exit_code)code) {
    case EXIT_USAGE:
    case EXIT_DATA:
        return "data";
    case EXIT_UNREACHABLE:
        return "unreachable";
    case EXIT_CONFIG:
        return "config";
    case EXIT_PARTIAL:
        return "partial";
    case EXIT_NOT_FOUND:
        return "not_found";
    case EXIT_DONE:
    case EXIT_INTERNAL:
        break;
    }
    return "internal";
}

void api_run_refuse(int err, const struct error *error, struct admin_answer *answer)
{
    bool data = err == ERR_DATA;
    problem_answer(answer, (struct problem){data ? 400 : 500, data ? "data" : "internal", NULL},
                   "%s", error->text);
}

void api_run_fail(const struct api_run *run, struct admin_answer *answer)
{
    int status = api_status_of(run->code);
    answer->retry_after_s = status == 503 ? 5 : 0;
    problem_answer(answer, (struct problem){status, api_code_of(run->code), NULL}, "%s",
                   run->sentence);
}
