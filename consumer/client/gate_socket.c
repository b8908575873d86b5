/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives whole messages. */
#include "consumer/client/gate_socket.h"

#include "bridge/config/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FRAME_MAX = 100 << 20, LENGTH = 4, BACKLOG = 128 };

static bool receive_all(int fd, uint8_t *to, size_t n)
{
    while (n > 0) {
        ssize_t got = recv(fd, to, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

static bool send_all(int fd, const uint8_t *from, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, from, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        from += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool gate_receive(int fd, struct wire *w)
{
    uint8_t length[LENGTH];
    if (!receive_all(fd, length, LENGTH))
        return false;
    size_t n = (size_t)length[0] << 24 | (size_t)length[1] << 16 | (size_t)length[2] << 8 |
               (size_t)length[3];
    if (n > FRAME_MAX)
        return false;
    if (n > w->size) {
        uint8_t *grown = realloc(w->data, n);
        if (grown == NULL)
            return false;
        w->data = grown;
        w->size = n;
    }
    w->n = n;
    return receive_all(fd, w->data, n);
}

bool gate_send(int fd, const struct wire *w)
{
    uint8_t length[LENGTH] = {(uint8_t)(w->n >> 24), (uint8_t)(w->n >> 16), (uint8_t)(w->n >> 8),
                              (uint8_t)w->n};
    return send_all(fd, length, LENGTH) && send_all(fd, w->data, w->n);
}

int gate_socket(const char *address, bool listens, struct error *error)
{
    char host[HOST_MAX];
    const char *port = address_cut(address, host);
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
    int code = port == NULL ? EAI_NONAME : getaddrinfo(host, port, &hints, &list);
    if (code != 0) {
        (void)error_set(error, ERR_CONFIG, "%s is no HOST:PORT: %s", address, gai_strerror(code));
        return -1;
    }
    const int on = 1;
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool opened = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
    if (opened && listens)
        opened = bind(fd, list->ai_addr, list->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0;
    else if (opened)
        opened = connect(fd, list->ai_addr, list->ai_addrlen) == 0;
    if (!opened) {
        (void)error_set(error, ERR_CONFIG, "cannot %s %s: %s", listens ? "listen at" : "connect to",
                        address, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}
