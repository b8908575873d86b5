/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves an address and listens at the first result that works. */
#include "bridge/service/listening.h"

#include "bridge/config/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

/* Returns a socket that listens at this address, or -1 with errno. */
static int listen_at(const struct addrinfo *at)
{
    int yes = 1;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int listening_open(const char *key, const char *address, struct error *error)
{
    char host[HOST_MAX], hint[128] = "";
    const char *port = address_cut(address, host);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int err = port == NULL ? EAI_NONAME : getaddrinfo(host, port, &hints, &found), fd = -1;
    for (const struct addrinfo *at = found; fd < 0 && at != NULL; at = at->ai_next)
        fd = listen_at(at);
    int why = errno;
    if (err == 0 && why == EADDRINUSE)
        snprintf(hint, sizeof hint,
                 ": another process has it; set %s to another address, or to nothing", key);
    if (fd < 0)
        (void)error_set(error, ERR_CONFIG, "%s: \"%s\": %s%s", key, address,
                        err != 0 ? gai_strerror(err) : strerror(why), hint);
    if (found != NULL)
        freeaddrinfo(found);
    return fd;
}

int listening_port(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char port[16];
    if (getsockname(fd, (struct sockaddr *)&at, &n) != 0 ||
        getnameinfo((struct sockaddr *)&at, n, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
        return 0;
    return (int)strtol(port, NULL, 10);
}
