/* SPDX-License-Identifier: Apache-2.0 */
/* notify: what the service manager's socket gets. */
#include "bridge/service/notify.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Returns the socket of a manager that listens at the name. '@' means the abstract namespace. */
static int manager_at(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", name);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    unlink(name);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

/* Sends one more message. Returns false if the queue is full. */
static bool send_more(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ssize_t sent = sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to);
    close(fd);
    return sent == 1;
}

static void hears(int fd, const char *message)
{
    char got[256];
    ssize_t n = recv(fd, got, sizeof got - 1, 0);
    cr_assert_geq(n, 0, "nothing came");
    got[n] = '\0';
    cr_expect_str_eq(got, message);
}

Test(notify, a_message_reaches_a_socket_in_the_file_system)
{
    char name[64];
    snprintf(name, sizeof name, "/tmp/delaybridge-test-notify-%d", (int)getpid());
    int fd = manager_at(name);
    notify("READY=1\nSTATUS=lanes %d", 8);
    hears(fd, "READY=1\nSTATUS=lanes 8");
    unlink(name);
}

Test(notify, a_message_reaches_a_socket_in_the_abstract_namespace)
{
    char name[64];
    snprintf(name, sizeof name, "@delaybridge-test-notify-%d", (int)getpid());
    int fd = manager_at(name);
    notify("STOPPING=1");
    hears(fd, "STOPPING=1");
}

Test(notify, manager_that_does_not_listen_blocks_nothing, .timeout = 10)
{
    char name[64];
    snprintf(name, sizeof name, "/tmp/delaybridge-test-deaf-%d", (int)getpid());
    int fd = manager_at(name), queued = 0;
    for (int i = 0; i < 10000 && send_more(name); i++)
        queued++;
    notify("WATCHDOG=1");
    cr_expect_gt(queued, 0);
    close(fd);
    unlink(name);
}

Test(notify, without_a_manager_nothing_happens)
{
    unsetenv("NOTIFY_SOCKET");
    notify("READY=1");
    setenv("NOTIFY_SOCKET", "nonsense", 1);
    notify("READY=1");
}

Test(notify, the_watchdog_is_notified_twice_in_each_interval)
{
    char pid[16];
    unsetenv("WATCHDOG_USEC");
    cr_expect_eq(notify_watchdog_ms(), INT64_MAX);
    setenv("WATCHDOG_USEC", "30000000", 1);
    unsetenv("WATCHDOG_PID");
    cr_expect_eq(notify_watchdog_ms(), 15000);
    setenv("WATCHDOG_PID", "1", 1);
    cr_expect_eq(notify_watchdog_ms(), INT64_MAX, "another process is meant");
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    cr_expect_eq(notify_watchdog_ms(), 15000);
}
