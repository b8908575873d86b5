/* SPDX-License-Identifier: Apache-2.0 */
/* One connection for each question; the listener closes it. */
#include "tests/faults/listener.h"

#include "bridge/service/http.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TIMEOUT_S = 20, REQUEST_MAX = 256 };

struct http *__real_http_start(const char *listen, const struct http_route *routes, void *ctx,
                               struct error *error);
struct http *__wrap_http_start(const char *listen, const struct http_route *routes, void *ctx,
                               struct error *error);

static atomic_int port; /* 0: none was started */

struct http *__wrap_http_start(const char *listen, const struct http_route *routes, void *ctx,
                               struct error *error)
{
    struct http *http = __real_http_start(listen, routes, ctx, error);
    atomic_store(&port, http == NULL ? 0 : http_port(http));
    return http;
}

static int dial(void)
{
    const struct timeval limit = {.tv_sec = TIMEOUT_S};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Whether all came, up to the end that the other side made. */
static bool receive(int fd, char *text)
{
    size_t n = 0;
    ssize_t got;
    while (n < ANSWER_MAX - 1 && (got = recv(fd, text + n, ANSWER_MAX - 1 - n, 0)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    return n < ANSWER_MAX - 1 && got == 0;
}

/* A body that is as long as the head says. */
static void take_apart(struct answer *answer)
{
    static const char length[] = "\r\nContent-Length: ";
    int status;
    const char *says = strstr(answer->text, length), *end = strstr(answer->text, "\r\n\r\n");
    if (says == NULL || end == NULL || says > end ||
        sscanf(answer->text, "HTTP/1.%*1d %d ", &status) != 1 ||
        strtoul(says + strlen(length), NULL, 10) != strlen(end + 4))
        return;
    answer->status = status;
    answer->body = end + 4;
}

void listener_at(int at)
{
    atomic_store(&port, at);
}

void listener_send(const char *request, struct answer *answer)
{
    ssize_t n = (ssize_t)strlen(request);
    int fd = dial();
    answer->status = 0;
    answer->body = "";
    if (fd < 0)
        return;
    if (send(fd, request, (size_t)n, MSG_NOSIGNAL) == n && receive(fd, answer->text))
        take_apart(answer);
    close(fd);
}

void listener_ask(const char *what, struct answer *answer)
{
    char request[REQUEST_MAX];
    snprintf(request, sizeof request, "%s HTTP/1.0\r\n\r\n", what);
    listener_send(request, answer);
}
