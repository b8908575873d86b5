/* SPDX-License-Identifier: Apache-2.0 */
/* api_run: one run of a command for the admin API. Its options come from a JSON object, and its
   results and sentences are kept. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_API_RUN_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_API_RUN_H

#include "bridge/admin/message.h"
#include "bridge/commands/api_parts.h"

enum { API_OPERANDS_MAX = 2, API_BY_MAX = 128 };
enum {
    API_TEXT_MAX = 1000,
    API_TIMEOUT_MS = 5000,
    API_RESULTS_MAX = 1000,
    API_RESULTS_BYTES = 8 << 20,
    API_LAST_BYTES = 1 << 20
};

/* The caller sets the first members. */
struct api_run {
    struct api *api;
    const char *command;
    const char *names;   /* options that the object may have, separated by spaces */
    const char *always;  /* an option without a value that is set; NULL: none */
    const json_t *input; /* borrowed; for cli->input */
    const char *caller;  /* the client; NULL: unknown */
    const char *operands[API_OPERANDS_MAX + 1]; /* borrowed; ends with NULL */
    void *ctx;                                  /* of the next two; both may be NULL */
    bool (*read)(void *ctx);
    void (*progress)(void *ctx, double share);

    struct api_config *config;
    const struct command *found;
    struct cli cli;
    struct arguments arguments;
    struct output output;
    json_t *texts; /* owned; memory of the values */
    char by[API_BY_MAX];

    json_t *results;  /* owned; the first ones, and the last one */
    json_t *warnings; /* owned; sentences */
    bool cut;         /* results are missing */
    size_t bytes;     /* of the results */
    int code;         /* exit code */
    char sentence[ERROR_MAX];
};

/* Reads the options. Returns 0, ERR_NO_MEMORY, or ERR_DATA with a sentence. Call api_run_deinit in
   any case. */
int api_run_init(struct api_run *run, const json_t *options, struct error *error) must_check;

/* Runs the command. Sets code, and sentence if it failed. */
void api_run_go(struct api_run *run);

void api_run_deinit(struct api_run *run);

/* Returns the status of HTTP for an exit code, and the code of a problem. */
int api_status_of(int code);
const char *api_code_of(int code);

/* Answers with the error of api_run_init. */
void api_run_refuse(int err, const struct error *error, struct admin_answer *answer);

/* Answers with the sentence of a run that has failed. */
void api_run_fail(const struct api_run *run, struct admin_answer *answer);

#endif
