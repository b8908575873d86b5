/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation failures in the admin API, without Kafka: start, each kind of answer, stop. jansson
   takes its memory from the failing allocator, too. */
#include "bridge/commands/api.h"
#include "bridge/commands/cli.h"
#include "bridge/service/monitor.h"
#include "tests/faults/alloc.h"
#include "tests/faults/listener.h"
#include "tests/faults/parts.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REQUEST_MAX = 512, OK = 200, UNAVAILABLE = 503 };

static const char TOKEN[] = "0123456789abcdef";

static const struct question {
    const char *call, *body; /* body: NULL: none */
    int status;
    const char *holds;
} questions[] = {
    {"GET /openapi.json", NULL, OK, "\"openapi\""},
    {"GET /api/v1/status", NULL, OK, "\"recent\":{"},
    {"GET /api/v1/targets", NULL, OK, "\"late_p99_ms\""},
    {"GET /api/v1/history", NULL, OK, "\"lateness\":["},
    {"GET /api/v1/config", NULL, OK, "\"key\":\"admin\""},
    {"GET /api/v1/jobs", NULL, OK, "\"jobs\":[]"},
    {"GET /api/v1/jobs/1", NULL, 404, "\"not_found\""},
    {"POST /api/v1/find", "{\"id\": [1]}", 400, "\"data\""},
    {"POST /api/v1/pause", "{\"targets\": \"a\", \"for\": 7}", 400, "\"data\""},
    {"POST /api/v1/send", "{\"requests\": []}", 400, "\"data\""},
    {"POST /api/v1/send", "{", 400, "\"bad_body\""},
    {"DELETE /api/v1/jobs", NULL, 405, "GET, HEAD"},
    {"GET /nothing", NULL, 404, "\"not_found\""},
};

static void ask(const struct question *question, struct answer *answer)
{
    char request[REQUEST_MAX];
    const char *body = question->body == NULL ? "" : question->body;
    snprintf(request, sizeof request,
             "%s HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             question->call, TOKEN, strlen(body), body);
    listener_send(request, answer);
}

static bool is_right(const struct question *question, const struct answer *answer)
{
    return answer->status == question->status && strstr(answer->body, question->holds) != NULL;
}

/* Returns whether the answer is right. After a failure it may be a problem, lack members, or be
   missing, and a second call must succeed. The failure may have come at the end of the last call.
   But no write may begin without its options: it would wait for Kafka and answer 503. */
static bool is_answered(const struct question *question)
{
    static struct answer answer;
    ask(question, &answer);
    if (!is_right(question, &answer) && alloc_failed() > 0 && answer.status != UNAVAILABLE)
        ask(question, &answer);
    if (is_right(question, &answer))
        return true;
    fprintf(stderr, "%s was answered with %d: %.200s\n", question->call, answer.status,
            answer.body);
    return false;
}

/* Makes a file with the token, and the option that names it. */
static int write_token(char *option, size_t size)
{
    int fd = memfd_create("token", MFD_CLOEXEC);
    snprintf(option, size, "--admin-token=/proc/self/fd/%d", fd);
    return write(fd, TOKEN, strlen(TOKEN)) == (ssize_t)strlen(TOKEN) ? 0 : -1;
}

static enum ending call_all(struct config *config)
{
    struct error error = {""};
    const struct cli cli = {.config = config};
    bool answered = true;
    struct monitor *monitor = monitor_start(config, &error);
    struct api *api = monitor == NULL ? NULL : api_start(&cli, monitor, &error);
    if (api != NULL)
        listener_at(api_port(api));
    for (size_t i = 0; api != NULL && i < sizeof questions / sizeof *questions; i++)
        answered &= is_answered(&questions[i]);
    bool started = api != NULL;
    api_stop(api);
    if (monitor != NULL)
        monitor_stop(monitor);
    return answered ? memory_ending(started, error.text) : BROKEN;
}

enum ending part_admin(uint64_t n)
{
    char token[64];
    struct error error = {""};
    char *argv[] = {(char *)"--listen=", (char *)"--admin=127.0.0.1:0", token};
    int argc = sizeof argv / sizeof *argv;
    struct config config;
    json_set_alloc_funcs(malloc, free);
    if (write_token(token, sizeof token) != 0 ||
        config_load(&config, "/dev/null", &argc, argv, NULL, &error) != 0)
        return BROKEN;
    alloc_fail(n, 1);
    enum ending end = call_all(&config);
    alloc_fail(0, 0);
    config_deinit(&config);
    return end;
}
