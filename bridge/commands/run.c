/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge run: the service in the foreground, until a signal. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/commands/api.h"
#include "bridge/commands/cli.h"
#include "bridge/service/monitor.h"
#include "bridge/service/notify.h"
#include "bridge/service/service.h"
#include "consumer/client/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
    HEARTBEAT_MS = 10 * 1000,
    RECHECK_MS = 3600 * 1000,
    AGAIN_MS = 5000, /* between two attempts to start */
    STOP_MS = 5000
};

static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL); /* inherited by every later thread */
    signal(SIGPIPE, SIG_IGN);
}

/* Returns the signal, or 0 after wait_ms. */
static int wait_signal(const sigset_t *set, int64_t wait_ms)
{
    struct timespec timeout = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    int got;
    do
        got = sigtimedwait(set, NULL, &timeout);
    while (got == -1 && errno == EINTR);
    return got == -1 ? 0 : got;
}

/* The input of watch_stop. */
struct watch {
    sigset_t set;
    int64_t wait_ms;
    int code; /* exit code if a client does not end */
};

/* Ends the process while the main thread drains: at a second signal, or when a client does not end.
   librdkafka waits indefinitely for a deleted topic. Nothing is lost: before that time the lanes
   are revoked and progress is committed. */
static void *watch_stop(void *arg)
{
    const struct watch *watch = arg;
    int got = wait_signal(&watch->set, watch->wait_ms);
    if (got != 0)
        _exit(128 + got);
    log_warn(
        "Kafka client does not end, exiting without it: no record is lost, check that all brokers "
        "run",
        F_MS("waited_ms", watch->wait_ms));
    _exit(watch->code);
}

struct life {
    struct cli *cli;
    sigset_t set;
    struct monitor *monitor;
    struct api *api; /* NULL: none */
    struct service *service;
    int64_t heartbeat_ms, recheck_ms; /* when each was done last; monotonic */
    pthread_t watchdog;
    bool watched;
};

static void drain(struct life *life, int code)
{
    static struct watch watch; /* outlives this call, since the thread is never joined */
    log_info("draining records in flight, send the signal again to exit immediately");
    notify("STOPPING=1\nSTATUS=draining");
    monitor_watch(life->monitor, NULL, "draining");
    if (life->api != NULL)
        api_drain(life->api);
    watch = (struct watch){life->set, life->cli->config->drain_ms + STOP_MS, code};
    sigdelset(&watch.set, SIGHUP);
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch_stop, &watch) == 0)
        pthread_detach(watcher);
    size_t in_flight = service_stop(life->service);
    if (in_flight == 0)
        log_info("stopped", F_BOOL("drained", true));
    else
        log_warn(
            "stopped with records in flight, the next owner of their lanes forwards them again",
            F_BOOL("drained", false), F_COUNT("in_flight", in_flight),
            F_MS("drain_ms", life->cli->config->drain_ms));
}

/* Notifies the service manager, also while the main thread waits for Kafka or drains. The watchdog
   must restart the process only when a worker hangs. */
static void *notify_watchdog(void *arg)
{
    struct monitor *monitor = arg;
    const int64_t every_ms = notify_watchdog_ms();
    const struct timespec every = {.tv_sec = every_ms / 1000, .tv_nsec = every_ms % 1000 * 1000000};
    for (;;) {
        if (monitor_is_alive(monitor))
            notify("WATCHDOG=1");
        nanosleep(&every, NULL);
    }
    return NULL;
}

static void start_watchdog(struct life *life)
{
    life->watched = notify_watchdog_ms() != INT64_MAX &&
                    pthread_create(&life->watchdog, NULL, notify_watchdog, life->monitor) == 0;
}

static void stop_monitor(struct life *life)
{
    if (life->watched) {
        /* The thread ends in a sleep or a send, where it holds no lock. */
        pthread_cancel(life->watchdog);
        pthread_join(life->watchdog, NULL);
    }
    api_stop(life->api);
    monitor_stop(life->monitor);
}

static int refuse(int err, const struct error *error)
{
    log_error("cannot start, exiting: run 'delaybridge check'", F_TEXT("reason", error->text));
    return err;
}

static void say_waiting(bool for_topics, const struct error *error)
{
    if (for_topics) {
        log_warn("start failed, waiting for the topics", F_TEXT("reason", error->text));
        notify("STATUS=waiting for the topics");
    } else {
        log_error("start failed, waiting for Kafka: run 'delaybridge check'",
                  F_TEXT("reason", error->text));
        notify("STATUS=waiting for Kafka");
    }
}

/* Starts the service. Tries again while Kafka is unreachable, and with --wait-for-topics while a
   finding about the topics prevents the start. Any other error is final. */
static int start(struct life *life)
{
    int64_t topics_until_mono_ms =
        clock_mono_ms() + arguments_number(life->cli->arguments, "--wait-for-topics");
    for (;;) {
        struct error error = {""};
        int err = service_start(life->cli->config, NULL, &life->service, &error);
        if (err == 0) {
            monitor_watch(life->monitor, life->service, "");
            return 0;
        }
        bool for_topics = err == ERR_TOPICS && clock_mono_ms() < topics_until_mono_ms;
        if (err != ERR_KAFKA && !for_topics)
            return refuse(err, &error);
        say_waiting(for_topics, &error);
        monitor_watch(life->monitor, NULL, error.text);
        int got = wait_signal(&life->set, AGAIN_MS);
        if (got == SIGHUP)
            log_warn("SIGHUP ignored, the service has not started");
        else if (got != 0)
            return ERR_KAFKA;
    }
}

static void say_changed(void *ctx, const char *key, bool live)
{
    (void)ctx;
    if (live)
        log_info("configuration key applied", F_TEXT("key", key));
}

static void say_restart(void *ctx, const char *key, bool live)
{
    (void)ctx;
    if (!live)
        log_warn("configuration key changed, restart to apply it", F_TEXT("key", key));
}

/* Reads the configuration again. Returns 0 if a start would accept it, or an error of service_start
   with a sentence. */
static int read_again(const struct life *life, struct config *fresh, struct error *error)
{
    int err = cli_reload(life->cli, fresh, error);
    if (err != 0)
        return err;
    err = api_check(fresh, error);
    if (err == 0)
        err = client_try(fresh, error);
    if (err == 0)
        err = service_check(life->service, fresh, error);
    if (err != 0)
        config_deinit(fresh);
    return err;
}

static void say_kept(int err, const struct error *error)
{
    if (err == ERR_KAFKA)
        log_error("Kafka did not answer the check of the new configuration, keeping the old one: "
                  "send SIGHUP again when 'delaybridge check' succeeds",
                  F_TEXT("reason", error->text));
    else
        log_error("new configuration refused, keeping the old one: run 'delaybridge check'",
                  F_TEXT("reason", error->text));
}

/* Applies a configuration, and logs keys that need a restart. */
static void apply(struct life *life, struct config *fresh)
{
    static struct config taken; /* by the last reload: a shallow copy for comparison */
    const struct config *started = life->cli->config;
    int n = config_differences(started, fresh, say_restart, NULL);
    config_differences(taken.schedule == NULL ? started : &taken, fresh, say_changed, NULL);
    taken = *fresh;
    if (life->api != NULL)
        api_reload(life->api, fresh);
    service_reload(life->service, fresh);
    log_info("configuration reloaded", F_INT("changed_keys", n)); /* once it counts */
    log_set_level(taken.log_level);
}

/* A configuration that a start would refuse changes nothing. */
static void reload(struct life *life)
{
    struct error error = {"out of memory"};
    struct config *fresh = calloc(1, sizeof *fresh);
    notify("RELOADING=1");
    int err = fresh == NULL ? ERR_NO_MEMORY : read_again(life, fresh, &error);
    if (err == 0) {
        apply(life, fresh);
        monitor_reloaded(life->monitor, true);
    } else {
        monitor_reloaded(life->monitor, false);
        say_kept(err, &error);
        free(fresh);
    }
    notify("READY=1");
}

static void do_periodic(struct life *life)
{
    int64_t now_ms = clock_mono_ms();
    if (now_ms - life->heartbeat_ms >= HEARTBEAT_MS) {
        life->heartbeat_ms = now_ms;
        service_heartbeat(life->service);
    }
    if (now_ms - life->recheck_ms >= RECHECK_MS) {
        life->recheck_ms = now_ms;
        service_recheck(life->service);
    }
}

/* Returns the signal, or 0 after wait_ms or when a worker has failed. */
static int wait_event(const struct life *life, int signals_fd, int64_t wait_ms)
{
    struct signalfd_siginfo got;
    struct pollfd fds[] = {{.fd = signals_fd, .events = POLLIN},
                           {.fd = service_failure_fd(life->service), .events = POLLIN}};
    if (poll(fds, 2, (int)wait_ms) <= 0 || (fds[0].revents & POLLIN) == 0)
        return 0;
    return read(signals_fd, &got, sizeof got) == sizeof got ? (int)got.ssi_signo : 0;
}

/* Returns at a signal to end, or when a worker has failed. The caller then drains. */
static void serve_until_end(struct life *life, int signals_fd)
{
    for (;;) {
        int64_t left_ms = life->heartbeat_ms + HEARTBEAT_MS - clock_mono_ms();
        int got = wait_event(life, signals_fd, left_ms < 0 ? 0 : left_ms);
        if (got == SIGHUP)
            reload(life);
        else if (got != 0 || service_failed(life->service))
            return;
        do_periodic(life);
    }
}

static int serve(struct life *life)
{
    notify("STATUS=serving");
    life->heartbeat_ms = life->recheck_ms = clock_mono_ms();
    int signals_fd = signalfd(-1, &life->set, SFD_NONBLOCK | SFD_CLOEXEC);
    bool opened = signals_fd != -1;
    if (opened) {
        serve_until_end(life, signals_fd);
        close(signals_fd);
    } else {
        log_error("cannot wait for signals, exiting: raise the limit of open files");
    }
    int code = !opened || service_failed(life->service) ? EXIT_INTERNAL : EXIT_DONE;
    drain(life, code);
    return code;
}

int cmd_run(struct cli *cli)
{
    struct error error = {""};
    struct life life = {.cli = cli};
    block_signals(&life.set);
    life.monitor = monitor_start(cli->config, &error);
    if (life.monitor == NULL) {
        (void)refuse(ERR_CONFIG, &error);
        return EXIT_CONFIG;
    }
    life.api = cli->config->admin == NULL ? NULL : api_start(cli, life.monitor, &error);
    if (life.api == NULL && cli->config->admin != NULL) {
        (void)refuse(ERR_CONFIG, &error);
        stop_monitor(&life);
        return EXIT_CONFIG;
    }
    if (client_scram_is_old(cli->config))
        log_warn(CLIENT_OLD_SCRAM, F_TEXT("librdkafka", rd_kafka_version_str()));
    int err = client_try(cli->config, &error) == 0 ? 0 : refuse(ERR_CONFIG, &error);
    if (err == 0) {
        notify("READY=1\nSTATUS=waiting for Kafka"); /* the start may wait for Kafka */
        start_watchdog(&life);
        err = start(&life);
    }
    int code = err == 0           ? serve(&life)
               : err == ERR_KAFKA ? EXIT_DONE /* a signal arrived while it waited */
               : err == ERR_CONFIG || err == ERR_TOPICS ? EXIT_CONFIG
                                                        : EXIT_INTERNAL;
    stop_monitor(&life);
    return code;
}
