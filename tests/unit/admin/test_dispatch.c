/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch: each check, its order and its problem. */
#include "bridge/admin/dispatch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char token_path[] = "/tmp/delaybridge-token-XXXXXX";
static const char TOKEN[] = "0123456789abcdef";
static int calls; /* that a route has answered */
static char seen_id[ADMIN_ID_MAX];

static void answer_it(void *ctx, const struct admin_route *route,
                      const struct admin_request *request, struct admin_answer *answer)
{
    (void)ctx;
    calls++;
    strcpy(seen_id, request->id);
    answer->status = 200;
    answer->json = json_pack("{s:s, s:b}", "path", route->path, "body", request->body != NULL);
}

static const struct admin_route ROUTES[] = {
    {"GET", "/file", ACCESS_STATIC, false, false, NULL, NULL, answer_it},
    {"GET", "/open", ACCESS_OPEN, false, false, "lane level", NULL, answer_it},
    {"GET", "/jobs", ACCESS_TOKEN, false, false, NULL, NULL, answer_it},
    {"POST", "/jobs", ACCESS_TOKEN, true, true, NULL, NULL, answer_it},
    {"GET", "/jobs/{id}", ACCESS_TOKEN, false, false, NULL, NULL, answer_it},
    {"DELETE", "/jobs/{id}", ACCESS_TOKEN, true, false, NULL, NULL, answer_it},
    {.path = NULL},
};

static struct dispatch dispatch = {.routes = ROUTES, .listen = "127.0.0.1:9405"};
static struct admin_answer answer;

static void start(void)
{
    int fd = mkstemp(token_path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, TOKEN, strlen(TOKEN)), (ssize_t)strlen(TOKEN));
    close(fd);
    dispatch_init(&dispatch);
}

static void stop(void)
{
    json_decref(answer.json);
    free((void *)answer.allow);
    dispatch_deinit(&dispatch);
    unlink(token_path);
}
TestSuite(dispatch, .init = start, .fini = stop);

static struct admin_call call_of(const char *method, const char *path)
{
    return (struct admin_call){
        .method = method, .path = path, .host = "127.0.0.1:9405", .caller = "127.0.0.1:1"};
}

/* Makes the call and returns the status. */
static int status_of(struct admin_call call)
{
    json_decref(answer.json);
    free((void *)answer.allow);
    dispatch_answer(&dispatch, &call, &answer);
    return answer.status;
}

static const char *text_of(const char *member)
{
    const char *text = json_string_value(json_object_get(answer.json, member));
    return text == NULL ? "" : text;
}

static void is_problem(const char *code)
{
    cr_expect_str_eq(answer.type == NULL ? "" : answer.type, "application/problem+json");
    cr_expect_str_eq(text_of("code"), code);
    cr_expect_str_eq(text_of("type"), "about:blank");
    cr_expect(text_of("title")[0] != '\0' && text_of("detail")[0] != '\0');
    cr_expect_eq(json_integer_value(json_object_get(answer.json, "status")), answer.status);
}

static struct admin_call with_token(struct admin_call call)
{
    dispatch.token_path = token_path;
    call.authorization = "Bearer 0123456789abcdef";
    return call;
}

Test(dispatch, without_a_configured_token_only_open_routes_answer)
{
    cr_expect_eq(status_of(call_of("GET", "/open")), 200);
    cr_expect_eq(status_of(call_of("HEAD", "/open")), 200);
    cr_expect_eq(status_of(call_of("GET", "/file")), 200);
    cr_expect_eq(calls, 3);
    static const char *const CLOSED[][2] = {
        {"GET", "/jobs"}, {"POST", "/jobs"}, {"GET", "/jobs/7"}, {"DELETE", "/jobs/7"}};
    for (size_t i = 0; i < sizeof CLOSED / sizeof *CLOSED; i++) {
        struct admin_call call = call_of(CLOSED[i][0], CLOSED[i][1]);
        call.authorization = "Bearer 0123456789abcdef";
        cr_expect_eq(status_of(call), 403);
        is_problem("forbidden");
        cr_expect_str_eq(text_of("key"), "admin_token");
    }
    cr_expect_eq(calls, 3);
}

Test(dispatch, with_a_configured_token_each_call_presents_it)
{
    struct admin_call open = call_of("GET", "/open");
    dispatch.token_path = token_path;
    cr_expect_eq(status_of(call_of("GET", "/file")), 200);
    cr_expect_eq(status_of(open), 401);
    is_problem("unauthorized");
    cr_expect(answer.authenticate);
    open.authorization = "Bearer 0123456789abcdeg";
    cr_expect_eq(status_of(open), 401);
    cr_expect_eq(calls, 1);
    cr_expect_eq(status_of(with_token(open)), 200);
    cr_expect_eq(status_of(with_token(call_of("GET", "/jobs/7"))), 200);
    cr_expect_str_eq(seen_id, "7");
}

Test(dispatch, changed_token_counts_from_the_next_call)
{
    struct admin_call call = with_token(call_of("GET", "/jobs"));
    cr_expect_eq(status_of(call), 200);
    FILE *file = fopen(token_path, "w");
    cr_assert_not_null(file);
    fputs("fedcba9876543210\n", file);
    fclose(file);
    cr_expect_eq(status_of(call), 401);
    call.authorization = "Bearer fedcba9876543210";
    cr_expect_eq(status_of(call), 200);
    unlink(token_path);
    cr_expect_eq(status_of(call), 503);
    is_problem("token_unreadable");
}

Test(dispatch, unknown_path_and_unknown_method_have_their_own_status)
{
    static const char *const UNKNOWN[] = {
        "/", "/open/", "/jobs/", "/jobs/7/x", "/ope", "", "/jobs/01234567890123456789012345678901"};
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
        cr_expect_eq(status_of(call_of("GET", UNKNOWN[i])), 404, "%s", UNKNOWN[i]);
        is_problem("not_found");
    }
    cr_expect_eq(status_of(call_of("PUT", "/jobs/7")), 405);
    is_problem("method_not_allowed");
    cr_expect_str_eq(answer.allow, "GET, HEAD, DELETE");
    cr_expect_eq(status_of(call_of("OPTIONS", "/open")), 405);
    cr_expect_str_eq(answer.allow, "GET, HEAD");
}

Test(dispatch, foreign_host_and_origin_are_refused)
{
    struct admin_call call = call_of("GET", "/open");
    call.host = "evil.example";
    cr_expect_eq(status_of(call), 421);
    is_problem("wrong_host");
    call.host = "127.0.0.1:9405";
    call.origin = "http://evil.example";
    cr_expect_eq(status_of(call), 403);
    is_problem("wrong_origin");
    cr_expect_eq(calls, 0);
}

Test(dispatch, link_of_another_site_opens_files_only)
{
    static const int STATUSES[][2] = {{200, 403}, {403, 403}};
    for (int frame = 0; frame < 2; frame++) {
        struct admin_call call = call_of("GET", "/file");
        call.fetch_site = "cross-site";
        call.fetch_mode = "navigate";
        call.fetch_dest = frame ? "iframe" : "document";
        cr_expect_eq(status_of(call), STATUSES[frame][0]);
        call.path = "/open";
        cr_expect_eq(status_of(call), STATUSES[frame][1]);
    }
    cr_expect_eq(calls, 1);
}

Test(dispatch, parameters_are_known_and_given_once)
{
    struct admin_call call = call_of("GET", "/open");
    call.params[0] = (struct admin_param){"lane", "3"};
    call.params_n = 1;
    cr_expect_eq(status_of(call), 200);
    call.params[1] = (struct admin_param){"lane", "4"};
    call.params_n = 2;
    cr_expect_eq(status_of(call), 400);
    is_problem("bad_parameter");
    call.params[1] = (struct admin_param){"lan", "4"};
    cr_expect_eq(status_of(call), 400);
    cr_expect(strstr(text_of("detail"), "\"lan\"") != NULL, "%s", text_of("detail"));
    call.params[1] = (struct admin_param){"", "4"};
    cr_expect_eq(status_of(call), 400);
    call.params_n = 1;
    call.params[0].value = NULL;
    cr_expect_eq(status_of(call), 400);
    call.params_n = 0;
    call.too_many_params = true;
    cr_expect_eq(status_of(call), 400);
}

static int status_of_body(const char *type, const char *body)
{
    struct admin_call call = with_token(call_of("POST", "/jobs"));
    call.content_type = type;
    call.body = bytes_text(body);
    return status_of(call);
}

Test(dispatch, body_is_a_json_object)
{
    cr_expect_eq(status_of_body("application/json", "{\"a\": 1}"), 200);
    cr_expect_eq(status_of_body("Application/JSON; charset=utf-8", "{}"), 200);
    cr_expect_eq(calls, 2);
    cr_expect_eq(status_of_body("text/plain", "{}"), 415);
    is_problem("not_json");
    cr_expect_eq(status_of_body(NULL, "{}"), 415);
    cr_expect_eq(status_of_body("application/jsonp", "{}"), 415);
    static const char *const BAD[] = {"", "[]", "1", "{", "{\"a\":1,\"a\":2}", "{} {}", "\xff"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        cr_expect_eq(status_of_body("application/json", BAD[i]), 400, "%s", BAD[i]);
        is_problem("bad_body");
    }
    struct admin_call call = with_token(call_of("POST", "/jobs"));
    call.body_too_large = true;
    cr_expect_eq(status_of(call), 413);
    is_problem("too_large");
    call = with_token(call_of("GET", "/jobs"));
    call.body = bytes_text("x");
    cr_expect_eq(status_of(call), 400);
    cr_expect_eq(calls, 2);
}

enum { OTHERS = 8 }; /* by chance, an address shares the quota of another one */

Test(dispatch, rate_of_one_address_does_not_limit_another)
{
    struct admin_call call = call_of("GET", "/open");
    int n = 0;
    while (n < 10000 && status_of(call) == 200)
        n++;
    cr_expect(n >= 400 && n < 2000, "%d calls passed", n);
    is_problem("too_many_calls");
    cr_expect_eq(answer.retry_after_s, 1);
    call.caller = "127.0.0.1:2";
    cr_expect_eq(status_of(call), 429, "the port is no part of the address");
    int passed = 0;
    for (int i = 0; i < OTHERS; i++) {
        char caller[32];
        snprintf(caller, sizeof caller, "10.0.0.%d:1", i);
        call.caller = caller;
        passed += status_of(call) == 200;
    }
    cr_expect_geq(passed, OTHERS / 2, "%d addresses passed: few share a quota", passed);
}

Test(dispatch, writes_are_fewer_than_the_log_has_room_for)
{
    int n = 0;
    while (n < 1000 && status_of_body("application/json", "{}") == 200)
        n++;
    cr_expect(n >= 50 && n < 60, "%d writes passed", n);
    is_problem("too_many_calls");
    cr_expect_eq(status_of(with_token(call_of("GET", "/jobs"))), 200);
}
