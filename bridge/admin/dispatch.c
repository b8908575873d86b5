/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a call step by step, and passes it to its route. */
#include "bridge/admin/dispatch.h"

#include "bridge/admin/guard.h"
#include "bridge/admin/problem.h"
#include "bridge/admin/shape.h"
#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "bridge/base/log.h"
#include "bridge/base/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { CALLS_PER_S = 200, CALLS_BURST = 400 };
enum { WRITES_PER_S = 4, WRITES_BURST = 50 }; /* the log has room for 100 lines in 10 s */
enum { ALLOW_MAX = 64, QUOTED_MAX = 100, WHAT_MAX = 1024 };

void dispatch_init(struct dispatch *d)
{
    pthread_mutex_init(&d->mutex, NULL);
    if (getrandom(&d->seed, sizeof d->seed, 0) != sizeof d->seed)
        d->seed = LIMIT_KEY;
    d->writes = (struct quota){.per_s = WRITES_PER_S, .burst = WRITES_BURST};
    for (int i = 0; i < DISPATCH_ADDRESSES; i++)
        d->calls[i] = (struct quota){.per_s = CALLS_PER_S, .burst = CALLS_BURST};
}

void dispatch_deinit(struct dispatch *d)
{
    pthread_mutex_destroy(&d->mutex);
}

const char *admin_param(const struct admin_call *call, const char *name)
{
    for (int i = 0; i < call->params_n; i++)
        if (strcmp(call->params[i].name, name) == 0)
            return call->params[i].value == NULL ? "" : call->params[i].value;
    return NULL;
}

static bool refuse(struct admin_answer *answer, int status, const char *code, const char *detail)
{
    problem_answer(answer, (struct problem){status, code, NULL}, "%s", detail);
    return false;
}

/* Returns whether the path fits the pattern, and copies the part for {id}. */
static bool path_fits(const char *pattern, const char *path, char id[ADMIN_ID_MAX])
{
    static const char HOLE[] = "{id}";
    id[0] = '\0';
    const char *hole = strstr(pattern, HOLE);
    if (hole == NULL)
        return strcmp(pattern, path) == 0;
    size_t head = (size_t)(hole - pattern);
    if (strncmp(pattern, path, head) != 0)
        return false;
    const char *tail = hole + sizeof HOLE - 1;
    size_t n = strcspn(path + head, "/");
    if (n == 0 || n >= ADMIN_ID_MAX || strcmp(path + head + n, tail) != 0)
        return false;
    memcpy(id, path + head, n);
    id[n] = '\0';
    return true;
}

static bool method_fits(const struct admin_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* Answers that the path has no such method, with the methods that it has. */
static void refuse_method(const struct dispatch *d, const struct admin_call *call,
                          struct admin_answer *answer)
{
    char id[ADMIN_ID_MAX], *allow = calloc(1, ALLOW_MAX);
    for (const struct admin_route *r = d->routes; r->path != NULL && allow != NULL; r++) {
        if (!path_fits(r->path, call->path, id))
            continue;
        size_t n = strlen(allow);
        snprintf(allow + n, ALLOW_MAX - n, "%s%s%s", n > 0 ? ", " : "", r->method,
                 strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
    }
    answer->allow = allow;
    problem_answer(answer, (struct problem){405, "method_not_allowed", NULL},
                   "this path allows %s only", allow == NULL ? "other methods" : allow);
}

static const struct admin_route *find_route(const struct dispatch *d, struct admin_request *request,
                                            struct admin_answer *answer)
{
    const struct admin_call *call = request->call;
    bool path_known = false;
    for (const struct admin_route *route = d->routes; route->path != NULL; route++) {
        if (!path_fits(route->path, call->path, request->id))
            continue;
        if (method_fits(route, call->method))
            return route;
        path_known = true;
    }
    if (path_known)
        refuse_method(d, call, answer);
    else
        refuse(answer, 404, "not_found", "there is no such path: /openapi.json lists all");
    return NULL;
}

/* Returns the quota of the client's address. Some addresses share one. */
static struct quota *quota_of(struct dispatch *d, const char *caller)
{
    const char *port = strrchr(caller, ':');
    struct bytes address =
        bytes_of(caller, port == NULL ? strlen(caller) : (size_t)(port - caller));
    return &d->calls[limit_key(d->seed, address) % DISPATCH_ADDRESSES];
}

static bool check_rate(struct dispatch *d, struct quota *quota, const char *detail,
                       struct admin_answer *answer)
{
    pthread_mutex_lock(&d->mutex);
    bool passes = quota_take(quota, clock_us(CLOCK_BOOTTIME));
    pthread_mutex_unlock(&d->mutex);
    if (passes)
        return true;
    answer->retry_after_s = 1;
    return refuse(answer, 429, "too_many_calls", detail);
}

static bool check_host(const struct dispatch *d, const struct admin_call *call,
                       struct admin_answer *answer)
{
    return guard_host(call, d->listen, d->token_path != NULL) ||
           refuse(answer, 421, "wrong_host",
                  "the header Host does not name this server: use its address, or set admin_token");
}

static bool check_origin(const struct admin_route *route, const struct admin_call *call,
                         struct admin_answer *answer)
{
    return guard_origin(call) || (route->access == ACCESS_STATIC && guard_navigation(call)) ||
           refuse(answer, 403, "wrong_origin", "a page of another site may not call this API");
}

static bool check_token(struct dispatch *d, const struct admin_route *route,
                        const struct admin_call *call, struct admin_answer *answer)
{
    char token[TOKEN_MAX + 1];
    struct error error;
    if (route->access == ACCESS_STATIC || (d->token_path == NULL && route->access == ACCESS_OPEN))
        return true;
    if (d->token_path == NULL) {
        problem_answer(answer, (struct problem){403, "forbidden", "admin_token"},
                       "this call needs a token: set admin_token, and restart");
        return false;
    }
    if (guard_read_token(d->token_path, token, &error) != 0) {
        log_warn("admin token cannot be read, all calls are refused", F_TEXT("reason", error.text));
        problem_answer(answer, (struct problem){503, "token_unreadable", "admin_token"},
                       "the file of admin_token cannot be used, the log has the reason");
        return false;
    }
    bool passes = guard_token(call->authorization, token);
    explicit_bzero(token, sizeof token);
    if (passes)
        return true;
    if (call->authorization != NULL)
        log_warn("admin API call with a wrong token refused", F_TEXT("caller", call->caller),
                 F_TEXT("path", call->path));
    answer->authenticate = true;
    return refuse(answer, 401, "unauthorized",
                  "send the token in the file of admin_token, as Authorization: Bearer TOKEN");
}

bool admin_has_word(const char *names, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = names; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, " ");
        if (len == n && memcmp(at, word, n) == 0)
            return true;
        at += len + (at[len] == ' ');
    }
    return false;
}

static bool check_params(const struct admin_route *route, const struct admin_call *call,
                         struct admin_answer *answer)
{
    char quoted[QUOTED_MAX];
    if (call->too_many_params)
        return refuse(answer, 400, "bad_parameter", "too many parameters");
    for (int i = 0; i < call->params_n; i++) {
        const char *name = call->params[i].name;
        quote_text(name, quoted, sizeof quoted);
        if (!admin_has_word(route->params, name)) {
            problem_answer(answer, (struct problem){400, "bad_parameter", NULL},
                           "unknown parameter %s", quoted);
            return false;
        }
        if (admin_param(call, name) != call->params[i].value) {
            problem_answer(answer, (struct problem){400, "bad_parameter", NULL},
                           "the parameter %s is given twice, or has no value", quoted);
            return false;
        }
    }
    return true;
}

static bool is_json(const char *type)
{
    static const char JSON[] = "application/json";
    const size_t n = sizeof JSON - 1;
    return type != NULL && strncasecmp(type, JSON, n) == 0 &&
           (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

static bool read_body(const struct admin_route *route, struct admin_request *request,
                      struct admin_answer *answer)
{
    json_error_t fault;
    const struct admin_call *call = request->call;
    if (call->body_too_large)
        return refuse(answer, 413, "too_large", "the body of a call is at most 4 MiB");
    if (!route->has_body)
        return call->body.len == 0 || refuse(answer, 400, "bad_body", "this call takes no body");
    if (!is_json(call->content_type))
        return refuse(answer, 415, "not_json", "Content-Type must be application/json");
    if (!shape_fits(call->body))
        return refuse(answer, 413, "too_large",
                      "the body has too many values, or lists in lists in lists");
    request->body = json_loadb(call->body.data == NULL ? "" : call->body.data, call->body.len,
                               JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    if (json_is_object(request->body))
        return true;
    problem_answer(answer, (struct problem){400, "bad_body", NULL},
                   "the body is not a JSON object%s%s", request->body == NULL ? ": " : "",
                   request->body == NULL ? fault.text : "");
    return false;
}

/* Writes the body without values and headers, which are payload. */
static void describe(const json_t *body, char what[WHAT_MAX])
{
    json_t *copy = json_deep_copy(body), *requests = json_object_get(copy, "requests"), *request;
    size_t i, n = 0;
    json_array_foreach(requests, i, request)
    {
        json_object_del(request, "value");
        json_object_del(request, "headers");
    }
    if (copy != NULL)
        n = json_dumpb(copy, what, WHAT_MAX - 1, JSON_COMPACT | JSON_ENSURE_ASCII);
    what[n < WHAT_MAX ? n : WHAT_MAX - 1] = '\0';
    json_decref(copy);
}

static json_int_t requests_of(const struct admin_request *request)
{
    return (json_int_t)json_array_size(json_object_get(request->body, "requests"));
}

/* Logs a write before it runs and after it. Level warn: these lines are a record of changes, which
   stays when info is off. */
static void log_begin(const struct admin_request *request)
{
    char what[WHAT_MAX] = "";
    if (request->body != NULL)
        describe(request->body, what);
    log_warn("admin API write begins", F_TEXT("caller", request->call->caller),
             F_TEXT("method", request->call->method), F_TEXT("path", request->call->path),
             F_INT("requests", requests_of(request)), F_TEXT("body", what));
}

static void log_end(const struct admin_request *request, int status)
{
    log_warn("admin API write answered", F_TEXT("caller", request->call->caller),
             F_TEXT("method", request->call->method), F_TEXT("path", request->call->path),
             F_INT("requests", requests_of(request)), F_INT("status", status));
}

const struct admin_route *dispatch_begin(struct dispatch *d, struct admin_request *request,
                                         struct admin_answer *answer)
{
    const struct admin_call *call = request->call;
    *answer = (struct admin_answer){0};
    if (!check_rate(d, quota_of(d, call->caller), "too many calls from this address", answer) ||
        !check_host(d, call, answer))
        return NULL;
    const struct admin_route *route = find_route(d, request, answer);
    if (route == NULL || !check_origin(route, call, answer) ||
        !check_token(d, route, call, answer) || !check_params(route, call, answer))
        return NULL;
    return route;
}

void dispatch_end(struct dispatch *d, const struct admin_route *route,
                  struct admin_request *request, struct admin_answer *answer)
{
    *answer = (struct admin_answer){0};
    bool passes =
        read_body(route, request, answer) &&
        (!route->writes ||
         check_rate(d, &d->writes, "too many writes: put up to 1,000 requests into one", answer));
    if (passes && route->writes)
        log_begin(request);
    if (passes)
        route->answer(d->ctx, route, request, answer);
    if (passes && answer->json == NULL && answer->file.data == NULL) {
        answer->location[0] = '\0';
        (void)refuse(answer, 500, "internal", "out of memory");
    }
    if (passes && route->writes)
        log_end(request, answer->status);
    json_decref(request->body);
    request->body = NULL;
}

void dispatch_answer(struct dispatch *d, const struct admin_call *call, struct admin_answer *answer)
{
    struct admin_request request = {.call = call};
    const struct admin_route *route = dispatch_begin(d, &request, answer);
    if (route != NULL)
        dispatch_end(d, route, &request, answer);
}
