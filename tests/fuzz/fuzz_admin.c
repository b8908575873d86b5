/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_admin: any call of the admin API gets one answer with a status of its contract. A route that
   needs a token is reached only with the token. The body of a search is read as its options. The
   lines of the input are method, path, Host, Origin, Authorization, Content-Type, and a parameter;
   the rest is the body. */
#include "bridge/commands/api_run.h"

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS = 7, FIELD_MAX = 256 };

static const char TOKEN[] = "0123456789abcdef";
static char token_path[] = "/tmp/delaybridge-fuzz-XXXXXX";
static struct api api;
static struct dispatch open_calls, token_calls;
static const struct admin_route *reached;

static void answer_it(void *ctx, const struct admin_route *route,
                      const struct admin_request *request, struct admin_answer *answer)
{
    (void)ctx;
    reached = route;
    assert(route->has_body == (request->body != NULL));
    answer->status = 200;
    answer->json = json_object();
}

/* Reads the options of a search, as a job does before it starts. */
static void answer_search(void *ctx, const struct admin_route *route,
                          const struct admin_request *request, struct admin_answer *answer)
{
    const struct api_job_of *of = route->details;
    struct api_run run = {.api = &api, .command = of->command, .names = of->options};
    struct error error = {""};
    int err = api_run_init(&run, request->body, &error);
    assert(err == 0 || (err == ERR_DATA && error.text[0] != '\0'));
    api_run_deinit(&run);
    answer_it(ctx, route, request, answer);
}

static const struct api_job_of FIND = {"find", "id key source due sent until limit"},
                               REDRIVE = {"redrive", "code target since until keep-due "
                                                     "restart-delay drop-expiry with-cancels "
                                                     "dry-run limit rate"};
static const struct admin_route ROUTES[] = {
    {"GET", "/file", ACCESS_STATIC, false, false, NULL, NULL, answer_it},
    {"GET", "/open", ACCESS_OPEN, false, false, "a b", NULL, answer_it},
    {"POST", "/find", ACCESS_TOKEN, false, true, "a", &FIND, answer_search},
    {"POST", "/redrive", ACCESS_TOKEN, true, true, NULL, &REDRIVE, answer_search},
    {"GET", "/jobs/{id}", ACCESS_TOKEN, false, false, NULL, NULL, answer_it},
    {"DELETE", "/jobs/{id}", ACCESS_TOKEN, true, false, NULL, NULL, answer_it},
    {.path = NULL},
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct api_config config = {.users = 1};
    struct error error;
    int flags_n = 0, fd = mkstemp(token_path);
    (void)argc, (void)argv;
    assert(fd >= 0 && write(fd, TOKEN, strlen(TOKEN)) == (ssize_t)strlen(TOKEN));
    close(fd);
    assert(config_load(&config.config, "/dev/null", &flags_n, NULL, NULL, &error) == 0);
    api.config = &config;
    pthread_mutex_init(&api.config_mutex, NULL);
    open_calls = (struct dispatch){.routes = ROUTES, .listen = "127.0.0.1:9405"};
    token_calls = open_calls;
    token_calls.token_path = token_path;
    dispatch_init(&open_calls);
    dispatch_init(&token_calls);
    log_init(LOG_ERROR, LOG_JSON);
    return 0;
}

/* Cuts the next line off, at most FIELD_MAX - 1 bytes of it. An empty one is NULL. */
static const char *cut(const uint8_t **data, size_t *size, char out[FIELD_MAX])
{
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t n = end == NULL ? *size : (size_t)(end - *data);
    size_t kept = n < FIELD_MAX ? n : FIELD_MAX - 1;
    memcpy(out, *data, kept);
    out[kept] = '\0';
    n += end != NULL;
    *data += n;
    *size -= n;
    return out[0] == '\0' ? NULL : out;
}

static void ask(struct dispatch *dispatch, struct admin_call *call)
{
    static const int STATUSES[] = {200, 400, 401, 403, 404, 405, 413, 415, 421, 429};
    struct admin_answer answer;
    bool known = false;
    static unsigned n;
    char caller[32];
    snprintf(caller, sizeof caller, "10.0.%u.%u:1", n / 100 % 256, n / 25600 % 256); /* no 429 */
    n++;
    call->caller = caller;
    reached = NULL;
    dispatch_answer(dispatch, call, &answer);
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++)
        known |= answer.status == STATUSES[i];
    assert(known && answer.json != NULL && (answer.status == 200) == (reached != NULL));
    assert(answer.status == 200 || json_object_get(answer.json, "code") != NULL);
    assert(answer.status != 405 || answer.allow != NULL);
    if (reached != NULL && reached->access == ACCESS_TOKEN)
        assert(dispatch->token_path != NULL && call->authorization != NULL &&
               strcmp(call->authorization + strlen("Bearer "), TOKEN) == 0);
    json_decref(answer.json);
    free((void *)answer.allow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[FIELDS][FIELD_MAX];
    struct admin_call call = {0};
    call.method = cut(&data, &size, text[0]);
    call.path = cut(&data, &size, text[1]);
    call.host = cut(&data, &size, text[2]);
    call.origin = cut(&data, &size, text[3]);
    call.authorization = cut(&data, &size, text[4]);
    call.content_type = cut(&data, &size, text[5]);
    call.params[0].name = cut(&data, &size, text[6]);
    call.params_n = call.params[0].name != NULL;
    char *equals = strchr(text[6], '=');
    if (call.params_n == 1 && equals != NULL) {
        *equals = '\0';
        call.params[0].value = equals + 1;
    }
    if (call.method == NULL)
        call.method = "GET";
    if (call.path == NULL)
        call.path = "/";
    call.body = bytes_of(data, size);
    ask(&open_calls, &call);
    ask(&token_calls, &call);
    return 0;
}
