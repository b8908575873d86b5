/* SPDX-License-Identifier: Apache-2.0 */
/* server: the listener of the admin API, called through a plain socket. */
#include "bridge/admin/server.h"
#include "tests/unit/slow_clients.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static char answer[16384], seen[256];
static struct server *server;

static void answer_it(void *ctx, const struct admin_route *route,
                      const struct admin_request *request, struct admin_answer *out)
{
    (void)ctx, (void)route;
    const char *q = admin_param(request->call, "q");
    snprintf(seen, sizeof seen, "q=%s caller=%s", q == NULL ? "-" : q, request->call->caller);
    out->status = 200;
    out->json = request->body == NULL ? json_object() : json_incref(request->body);
}

/* Answers with more than the kernel takes. */
static void answer_large(void *ctx, const struct admin_route *route,
                         const struct admin_request *request, struct admin_answer *out)
{
    static char large[1 << 19];
    (void)ctx, (void)route, (void)request;
    out->status = 200;
    out->file = bytes_of(large, sizeof large);
}

static const struct admin_route ROUTES[] = {
    {"GET", "/large", ACCESS_OPEN, false, false, NULL, NULL, answer_large},
    {"GET", "/open", ACCESS_OPEN, false, false, "q", NULL, answer_it},
    {"POST", "/open", ACCESS_OPEN, false, true, NULL, NULL, answer_it},
    {"POST", "/closed", ACCESS_TOKEN, false, true, NULL, NULL, answer_it},
    {.path = NULL},
};
static struct dispatch dispatch = {.routes = ROUTES, .listen = "127.0.0.1:0", .call_ms = 3000};

static void start(void)
{
    struct error error = {""};
    dispatch_init(&dispatch);
    server = server_start(&dispatch, &error);
    cr_assert_not_null(server, "%s", error.text);
}

static void stop(void)
{
    server_stop(server);
    dispatch_deinit(&dispatch);
}
TestSuite(server, .init = start, .fini = stop, .timeout = 20);

static int dial(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)server_port(server))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* Sends head and body, and returns the answer, read until the other side closes. */
static const char *ask(const char *head, const char *body, size_t body_n)
{
    int fd = dial();
    char text[1024];
    size_t n = 0;
    int head_n = snprintf(text, sizeof text,
                          "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n", head);
    if (body != NULL)
        head_n += snprintf(text + head_n, sizeof text - (size_t)head_n,
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n", body_n);
    head_n += snprintf(text + head_n, sizeof text - (size_t)head_n, "\r\n");
    cr_assert_eq(write(fd, text, (size_t)head_n), head_n);
    for (size_t at = 0; at < body_n;) {
        ssize_t sent = send(fd, body + at, body_n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        at += (size_t)sent;
    }
    for (ssize_t got; (got = read(fd, answer + n, sizeof answer - 1 - n)) > 0;)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    return answer;
}

Test(server, call_reaches_its_route_with_parameters_and_address)
{
    cr_expect(strstr(ask("GET /open?q=a%20b", NULL, 0), " 200 ") != NULL, "%s", answer);
    cr_expect(strncmp(seen, "q=a b caller=127.0.0.1:", 23) == 0, "%s", seen);
    cr_expect(strstr(ask("POST /open", "{\"a\":1}", 7), "\r\n\r\n{\"a\":1}") != NULL, "%s", answer);
}

Test(server, each_answer_forbids_caches_frames_and_other_sites)
{
    static const char *const HEADERS[] = {
        "Cache-Control: no-store", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer", "frame-ancestors 'none'"};
    static const char *const CALLS[] = {"GET /open", "GET /none", "DELETE /open"};
    for (size_t c = 0; c < sizeof CALLS / sizeof *CALLS; c++) {
        ask(CALLS[c], NULL, 0);
        for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
            cr_expect(strstr(answer, HEADERS[i]) != NULL, "%s: %s", CALLS[c], answer);
        cr_expect(strstr(answer, "Access-Control-Allow") == NULL, "%s", answer);
    }
    cr_expect(strstr(answer, "Allow: GET, HEAD, POST") != NULL, "%s", answer);
    cr_expect(strstr(answer, "application/problem+json") != NULL, "%s", answer);
}

Test(server, body_over_the_limit_is_refused)
{
    size_t n = ADMIN_BODY_MAX + 1;
    char *body = malloc(n);
    cr_assert_not_null(body);
    memset(body, ' ', n);
    body[0] = '{';
    body[n - 2] = '}';
    cr_expect(strstr(ask("POST /open", body, n - 1), " 200 ") != NULL, "%s", answer);
    cr_expect(strstr(ask("POST /open", body, n), " 413 ") != NULL, "%s", answer);
    free(body);
}

/* Sends the head of a call whose body never comes, and returns the beginning of the answer. */
static const char *ask_without_body(const char *method_and_path)
{
    char head[256];
    size_t n = 0;
    int fd = dial();
    int len = snprintf(head, sizeof head,
                       "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                       "Content-Length: 4000000\r\n\r\n",
                       method_and_path);
    const struct timeval limit = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    cr_assert_eq(write(fd, head, (size_t)len), len);
    for (ssize_t got; (got = read(fd, answer + n, sizeof answer - 1 - n)) > 0;)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    return answer;
}

Test(server, refused_call_is_answered_before_its_body_arrives)
{
    cr_expect(strstr(ask_without_body("POST /none"), " 404 ") != NULL, "%s", answer);
    cr_expect(strstr(ask_without_body("POST /closed"), " 403 ") != NULL, "%s", answer);
    cr_expect_str_eq(ask_without_body("POST /open"), "", "the body was not awaited");
}

/* The idle timeout starts again with each byte. */
Test(server, client_that_sends_a_byte_at_a_time_is_disconnected)
{
    static const char head[] =
        "GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaa";
    int fd = dial();
    size_t sent = 0;
    while (sent < sizeof head - 1 && send(fd, head + sent, 1, MSG_NOSIGNAL) == 1) {
        sent++;
        usleep(150 * 1000);
    }
    cr_expect(sent >= 15 && sent < 40, "%zu bytes in 150 ms each", sent);
    close(fd);
}

Test(server, connections_of_one_address_are_limited)
{
    int fds[40];
    for (int i = 0; i < 40; i++)
        fds[i] = dial();
    ask("GET /open", NULL, 0);
    cr_expect_str_eq(answer, "");
    for (int i = 0; i < 40; i++)
        close(fds[i]);
    for (int i = 0; i < 200 && strstr(ask("GET /open", NULL, 0), " 200 ") == NULL; i++)
        usleep(50 * 1000);
    cr_expect(strstr(answer, " 200 ") != NULL, "%s", answer);
}

static const char PROBE[] = "GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

Test(server, clients_with_incomplete_calls_cannot_hold_the_listener)
{
    struct slow_clients clients = {server_port(server),      6,          7,
                                   "GET /open HTTP/1.1\r\n", "X: 1\r\n", {0}};
    expect_probes_answered(&clients, PROBE);
}

Test(server, clients_that_read_no_answer_cannot_hold_the_listener)
{
    struct slow_clients clients = {
        server_port(server), 6, 7, "GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "", {0}};
    expect_probes_answered(&clients, PROBE);
}

Test(server, slow_client_does_not_block_others)
{
    int slow = dial();
    cr_assert_eq(write(slow, "GET /op", 7), 7);
    cr_expect(strstr(ask("GET /open", NULL, 0), " 200 ") != NULL, "%s", answer);
    close(slow);
}
