/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one datagram to the socket of the manager for each message. */
#include "bridge/service/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    MESSAGE_MAX = 512,
    SEND_S = 1 /* longest wait for a manager that does not read */
};

void notify(const char *format, ...)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
        return;
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    memcpy(to.sun_path, path, strlen(path));
    if (path[0] == '@') /* the abstract namespace */
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = SEND_S},
               sizeof(struct timeval));
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    (void)!sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&to, n);
    close(fd);
}

int64_t notify_watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != getpid()))
        return INT64_MAX;
    int64_t half_ms = strtoll(usec, NULL, 10) / 2000;
    return half_ms < 1 ? 1 : half_ms;
}
