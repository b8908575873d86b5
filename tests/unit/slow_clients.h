/* SPDX-License-Identifier: Apache-2.0 */
/* slow_clients: many clients of a listener at once, and a probe that must be answered meanwhile. */
#ifndef DELAYBRIDGE_TESTS_UNIT_SLOW_CLIENTS_H
#define DELAYBRIDGE_TESTS_UNIT_SLOW_CLIENTS_H

#include "bridge/base/clock.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { SLOW_CLIENTS = 96, PROBES = 6, PROBE_MS = 1000 };

struct slow_clients {
    int port;
    int addresses;  /* 127.0.0.1 and the next ones */
    int probe_from; /* 127.0.0.n */
    const char *first;
    const char *next; /* is sent repeatedly; no answer is read */
    int fds[SLOW_CLIENTS];
};

/* Connects from 127.0.0.n. */
static inline int dial_from(int port, int n)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in from = {.sin_family = AF_INET};
    const struct timeval limit = {.tv_usec = PROBE_MS * 999};
    const int buffer = 4096, segment = 536; /* so the sender's kernel takes little as well */
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)n);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* of connect as well */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Sends from each client. Those that were disconnected come back. */
static inline void slow_clients_send(struct slow_clients *clients)
{
    for (int i = 0; i < SLOW_CLIENTS; i++) {
        bool first = clients->fds[i] < 0;
        if (first)
            clients->fds[i] = dial_from(clients->port, 1 + i % clients->addresses);
        const char *text = first ? clients->first : clients->next;
        ssize_t sent = send(clients->fds[i], text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0 || errno == EAGAIN)
            continue;
        close(clients->fds[i]);
        clients->fds[i] = -1;
    }
}

/* Expects a 200 for each probe within PROBE_MS, while all clients keep sending. */
static inline void expect_probes_answered(struct slow_clients *clients, const char *probe)
{
    char answer[64];
    memset(clients->fds, -1, sizeof clients->fds);
    slow_clients_send(clients);
    usleep(500 * 1000);
    for (int n = 0; n < PROBES; n++) {
        slow_clients_send(clients);
        usleep(20 * 1000); /* a connection is refused while closed ones are still counted */
        int64_t start_mono_ms = clock_mono_ms();
        int fd = dial_from(clients->port, clients->probe_from);
        ssize_t len = 0;
        if (fd >= 0 && send(fd, probe, strlen(probe), MSG_NOSIGNAL) > 0)
            len = recv(fd, answer, sizeof answer - 1, 0);
        answer[len < 0 ? 0 : len] = '\0';
        cr_expect(strstr(answer, " 200 ") != NULL, "probe %d, after %d ms: \"%s\"", n,
                  (int)(clock_mono_ms() - start_mono_ms), answer);
        close(fd);
    }
    for (int i = 0; i < SLOW_CLIENTS; i++)
        close(clients->fds[i]);
}

#endif
