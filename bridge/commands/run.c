/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge run: the service in the foreground, until a signal. */
#include "bridge/cli.h"
#include "bridge/log.h"
#include "bridge/service.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { HEARTBEAT_S = 10, RECHECK_S = 3600, AGAIN_S = 5 /* after 5 s of asking */, STOP_MS = 5000 };

static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    pthread_sigmask(SIG_BLOCK, set, NULL); /* inherited by every thread made from here on */
    signal(SIGPIPE, SIG_IGN);
}

/* The signal, or 0 after seconds. */
static int wait_signal(const sigset_t *set, int seconds)
{
    struct timespec timeout = {.tv_sec = seconds};
    int got;
    do
        got = sigtimedwait(set, NULL, &timeout);
    while (got == -1 && errno == EINTR);
    return got == -1 ? 0 : got;
}

/* What a stop is watched for. */
struct watch {
    sigset_t set;
    int64_t wait_ms;
};

/* The main thread drains; a second signal ends the process from this one, and so does a client that
   does not end (librdkafka waits for ever for a topic that was deleted under it): by then the lanes
   are given back and all that is done is committed. */
static void *watch_stop(void *arg)
{
    const struct watch *watch = arg;
    struct timespec left = {.tv_sec = watch->wait_ms / 1000};
    int got;
    do
        got = sigtimedwait(&watch->set, NULL, &left);
    while (got == -1 && errno == EINTR);
    if (got != -1)
        _exit(128 + got);
    log_warn("a Kafka client does not end: leaving without it", "waited_ms=%lld",
             (long long)watch->wait_ms);
    _exit(EXIT_DONE);
}

static void drain(struct service *service, const sigset_t *set, int64_t drain_ms)
{
    static struct watch watch; /* outlives this call: the thread is never joined */
    log_info("draining", "again=\"a second signal ends at once\"");
    watch = (struct watch){*set, drain_ms + STOP_MS};
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch_stop, &watch) == 0)
        pthread_detach(watcher);
    service_stop(service);
    log_info("stopped", "drained=true");
}

/* An unreachable Kafka is waited for; a refused start is final. */
static int start(const struct config *config, const sigset_t *set, struct service **service)
{
    for (;;) {
        char error[SERVICE_ERROR_MAX] = "", quoted[SERVICE_ERROR_MAX];
        int err = service_start(config, service, error);
        if (err == 0)
            return 0;
        log_quote(error, quoted, sizeof quoted);
        if (err != ERR_KAFKA) {
            log_error("cannot start", "error=%s", quoted);
            return err;
        }
        log_warn("waiting for Kafka", "error=%s", quoted);
        if (wait_signal(set, AGAIN_S) != 0)
            return ERR_KAFKA;
    }
}

int cmd_run(struct cli *cli)
{
    sigset_t set;
    block_signals(&set);
    struct service *service;
    int err = start(cli->config, &set, &service);
    if (err == ERR_KAFKA)
        return EXIT_DONE; /* told to stop while it waited */
    if (err != 0)
        return err == ERR_CONFIG ? EXIT_CONFIG : EXIT_INTERNAL;
    for (int seconds = HEARTBEAT_S; wait_signal(&set, HEARTBEAT_S) == 0; seconds += HEARTBEAT_S) {
        service_heartbeat(service);
        if (seconds % RECHECK_S == 0)
            service_recheck(service);
    }
    bool failed = service_failed(service);
    drain(service, &set, cli->config->drain_ms);
    return failed ? EXIT_INTERNAL : EXIT_DONE;
}
