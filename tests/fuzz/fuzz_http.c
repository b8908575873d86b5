/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http: any bytes from a client get an HTTP response or none within TIMEOUT_S, and the next
   client gets a correct response. The listener and its routes are real, but there is no service. */
#include "bridge/service/monitor.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { FD_MAX = 64, KEPT = 4096, CHUNK = 1 << 16, NEXT_EACH = 64 };
enum { TIMEOUT_S = 4 /* less than IDLE_S of the listener */ };

static struct sockaddr_in address;

/* Finds the listening socket of this process, which has only one. */
static bool find_listener(void)
{
    for (int fd = 0; fd < FD_MAX; fd++) {
        int listens = 0;
        socklen_t n = sizeof listens, address_n = sizeof address;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens)
            return getsockname(fd, (struct sockaddr *)&address, &address_n) == 0;
    }
    return false;
}

static int dial(void)
{
    const struct timeval limit = {.tv_sec = TIMEOUT_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    assert(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

/* Reads the beginning of the response, up to the end or reset of the stream. */
static const char *ask(const void *request, size_t size)
{
    static char answer[KEPT + CHUNK + 1];
    size_t n = 0;
    ssize_t got;
    int fd = dial();
    bool sent = size == 0 || send(fd, request, size, MSG_NOSIGNAL) == (ssize_t)size;
    assert(sent || errno == EPIPE || errno == ECONNRESET);
    (void)shutdown(fd, SHUT_WR);
    while ((got = recv(fd, answer + n, CHUNK, 0)) > 0)
        n = n + (size_t)got < KEPT ? n + (size_t)got : KEPT;
    assert(got == 0 || errno == ECONNRESET);
    close(fd);
    answer[n] = '\0';
    return answer;
}

/* Stops the timer of libFuzzer, which would interrupt a waiting call. TIMEOUT_S is the limit here.
 */
static void block_alarm(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct error error;
    static struct config config;
    static struct monitor *monitor; /* never stopped */
    (void)argc, (void)argv;
    block_alarm();
    int flags_n = 1;
    char *flags[] = {(char *)"--listen=127.0.0.1:0"};
    struct error refused;
    assert(config_load(&config, "/dev/null", &flags_n, flags, NULL, &refused) == 0);
    monitor = monitor_start(&config, &error);
    assert(monitor != NULL && find_listener());
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char next[] = "GET /livez HTTP/1.0\r\n\r\n", protocol[] = "HTTP/1.";
    static unsigned inputs;
    const char *answer = ask(data, size);
    assert(answer[0] == '\0' || strncmp(answer, protocol, strlen(protocol)) == 0);
    if (++inputs % NEXT_EACH == 0)
        assert(strstr(ask(next, strlen(next)), "\r\n\r\nalive\n") != NULL);
    return 0;
}
