/* SPDX-License-Identifier: Apache-2.0 */
/* http: a listener, queried through a plain socket. */
#include "bridge/service/http.h"

#include "tests/unit/slow_clients.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *body = "delaybridge_build_info{version=\"1\"} 1\n";
static char answer[8192], address[64];
static struct error error;
static struct http *http;

static int answer_body(void *ctx, FILE *out)
{
    fputs(*(const char **)ctx, out);
    return 200;
}

static int answer_sick(void *ctx, FILE *out)
{
    (void)ctx;
    fputs("sick\n", out);
    return 503;
}

static const struct http_route routes[] = {
    {"/metrics", "text/plain", answer_body},
    {"/sick", "text/plain", answer_sick},
    {NULL, NULL, NULL},
};

static void start(void)
{
    http = http_start("127.0.0.1:0", routes, &body, &error);
    cr_assert_not_null(http, "%s", error.text);
    snprintf(address, sizeof address, "127.0.0.1:%d", http_port(http));
}

static void stop(void)
{
    http_stop(http);
}
TestSuite(http, .init = start, .fini = stop, .timeout = 20);

static int dial(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_port(http))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* Returns the response to the request, read until the other side closes. */
static const char *ask(const char *request)
{
    int fd = dial();
    size_t n = 0;
    cr_assert_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    for (ssize_t got; (got = read(fd, answer + n, sizeof answer - 1 - n)) > 0;)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    return answer;
}

Test(http, a_route_answers_with_its_status_and_body)
{
    cr_expect(strstr(ask("GET /metrics HTTP/1.0\r\n\r\n"), " 200 ") != NULL, "%s", answer);
    cr_expect(strstr(answer, body) != NULL, "%s", answer);
    cr_expect(strstr(ask("GET /sick HTTP/1.0\r\n\r\n"), " 503 ") != NULL, "%s", answer);
    cr_expect(strstr(answer, "sick\n") != NULL, "%s", answer);
}

Test(http, unknown_path_lists_the_known_ones)
{
    cr_expect(strstr(ask("GET / HTTP/1.0\r\n\r\n"), " 404 ") != NULL, "%s", answer);
    cr_expect(strstr(answer, "/metrics\n/sick\n") != NULL, "%s", answer);
}

Test(http, server_is_read_only)
{
    cr_expect(strstr(ask("POST /metrics HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"), " 405 ") !=
                  NULL,
              "%s", answer);
    cr_expect(strstr(ask("DELETE /metrics HTTP/1.0\r\n\r\n"), " 405 ") != NULL, "%s", answer);
    cr_expect(strstr(ask("HEAD /metrics HTTP/1.0\r\n\r\n"), " 200 ") != NULL, "%s", answer);
    cr_expect(strstr(answer, body) == NULL, "%s", answer);
}

Test(http, slow_client_does_not_block_others)
{
    int slow = dial();
    cr_assert_eq(write(slow, "GET /met", 8), 8);
    cr_expect(strstr(ask("GET /metrics HTTP/1.0\r\n\r\n"), " 200 ") != NULL, "%s", answer);
    close(slow);
}

static const char PROBE[] = "GET /metrics HTTP/1.0\r\n\r\n";

Test(http, clients_with_incomplete_requests_cannot_hold_the_listener)
{
    struct slow_clients clients = {http_port(http), 6,  1, "GET /metrics HTTP/1.1\r\n",
                                   "X: 1\r\n",      {0}};
    expect_probes_answered(&clients, PROBE);
}

Test(http, clients_of_one_address_cannot_hold_the_listener)
{
    struct slow_clients clients = {http_port(http), 1,  1, "GET /metrics HTTP/1.1\r\n",
                                   "X: 1\r\n",      {0}};
    expect_probes_answered(&clients, PROBE);
}

Test(http, clients_that_read_no_answer_cannot_hold_the_listener)
{
    enum { LARGE = 1 << 19 }; /* more than the kernel takes */
    char *large = malloc(LARGE);
    cr_assert_not_null(large);
    memset(large, 'x', LARGE);
    large[LARGE - 1] = '\0';
    body = large;
    struct slow_clients clients = {
        http_port(http), 6, 1, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "", {0}};
    expect_probes_answered(&clients, PROBE);
    free(large);
}

Test(http, an_unusable_address_is_quoted)
{
    cr_expect_null(http_start(address, routes, &body, &error));
    cr_expect(strstr(error.text, address) != NULL && strstr(error.text, "in use") != NULL, "%s",
              error.text);
    cr_expect_null(http_start("no.such.host.invalid:1", routes, &body, &error));
    cr_expect(strstr(error.text, "\"no.such.host.invalid:1\"") != NULL, "%s", error.text);
}
