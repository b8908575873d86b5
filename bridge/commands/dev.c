/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge dev: the service and a mock broker in this process, for tests of applications. The
   records end with the process. */
#include "bridge/base/log.h"
#include "bridge/commands/api.h"
#include "bridge/commands/dev_clock.h"
#include "bridge/commands/embedded.h"
#include "bridge/commands/result.h"
#include "bridge/service/monitor.h"
#include "bridge/service/service.h"
#include "consumer/client/client.h"
#include "consumer/client/gate.h"
#include "consumer/client/log_ends.h"
#include "consumer/client/mock.h"
#include "levels/topic_name.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    JOIN_MS = 15000,
    SETTLE_MS = 5000,
    QUERY_MS = 2000,
    STEP_MS = 20,
    WHY_MAX = 256,
    FLAGS_MORE = 6,
    PROPERTY_MAX = 128
};

struct dev {
    const struct cli *cli;
    struct config config;
    struct cli own; /* for the admin API: with config */
    struct dev_clock *clock;
    rd_kafka_t *look; /* reads the ends of the schedule topic */
    struct mock *mock;
    struct gate *gate;
    struct monitor *monitor;
    struct api *api;
    struct service *service;
    int signals_fd;
};

/* Refuses settings that the embedded broker contradicts. */
static int check(const struct config *config, struct error *error)
{
    if (config_property(config, CLIENT_ALL, "bootstrap.servers") != NULL)
        return error_set(
            error, ERR_CONFIG,
            "bootstrap.servers is set, but dev starts its own broker: remove it, or use "
            "'delaybridge run'");
    if (config->exactly_once)
        return error_set(error, ERR_CONFIG,
                         "delivery: exactly-once needs transactions, which the broker of dev does "
                         "not have: set at-least-once");
    return 0;
}

/* Loads the configuration again, with the embedded broker and the defaults of dev. Flags of the
   user come after those defaults, and count. */
static int configure(struct dev *d, struct error *error)
{
    const struct cli *cli = d->cli;
    char servers[PROPERTY_MAX];
    snprintf(servers, sizeof servers, "bootstrap.servers=%s", mock_bootstrap(d->mock));
    char **argv = calloc((size_t)cli->flags_n + FLAGS_MORE, sizeof *argv);
    if (argv == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    int argc = 0;
    argv[argc++] = (char *)"-X";
    argv[argc++] = servers;
    argv[argc++] = (char *)"--replication=1";
    argv[argc++] = (char *)"--listen=";
    if (cli->config->targets_n == 0)
        argv[argc++] = (char *)"--targets=*";
    if (cli->config->admin == NULL)
        argv[argc++] = (char *)"--admin=127.0.0.1:9405";
    memcpy(argv + argc, cli->flags, (size_t)cli->flags_n * sizeof *argv);
    argc += cli->flags_n;
    int err = config_load(&d->config, cli->config_path, &argc, argv, NULL, error);
    free(argv);
    return err;
}

/* Creates targets without a pattern. A client that names another topic creates that. */
static int make_targets(const struct dev *d)
{
    const struct config *c = &d->config;
    int err = 0;
    for (size_t i = 0; err == 0 && i < c->targets_n; i++)
        if (strchr(c->targets[i], '*') == NULL)
            err = mock_topic(d->mock, c->targets[i], 1);
    return err;
}

/* Waits until the service has its lanes. Returns 0, or ERR_KAFKA with a sentence. */
static int await_ready(const struct dev *d, struct error *error)
{
    char why[WHY_MAX] = "";
    for (int waited_ms = 0; waited_ms < JOIN_MS; waited_ms += STEP_MS) {
        if (service_is_ready(d->service, why, sizeof why))
            return 0;
        poll(NULL, 0, STEP_MS);
    }
    return error_set(error, ERR_KAFKA, "the service does not become ready: %s", why);
}

static bool create_topic(void *ctx, const char *topic, int partitions)
{
    return mock_topic(ctx, topic, partitions) == 0;
}

/* Returns the number of records of the schedule topic, which begins with this process. */
static uint64_t count_stored(const struct dev *d)
{
    uint64_t stored = 0;
    for (int lane = 0; lane < d->config.partitions; lane++) {
        int64_t low, end;
        if (log_ends_of(d->look, d->config.schedule, lane, &low, &end, QUERY_MS) == 0)
            stored += (uint64_t)end;
    }
    return stored;
}

/* Waits until the service has read all requests that are stored, for SETTLE_MS at most. */
static void settle(void *ctx)
{
    const struct dev *d = ctx;
    uint64_t stored = count_stored(d);
    for (int waited_ms = 0; dev_clock_read_n(d->clock) < stored && waited_ms < SETTLE_MS;
         waited_ms += STEP_MS)
        poll(NULL, 0, STEP_MS);
}

static int connect_look(struct dev *d, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(&d->config, CLIENT_ALL, error);
    d->look = conf == NULL ? NULL : client_new(RD_KAFKA_PRODUCER, conf, error);
    if (d->look == NULL)
        return ERR_CONFIG;
    dev_clock_wait_with(d->clock, settle, d);
    return 0;
}

static int start_broker(struct dev *d, struct error *error)
{
    d->mock = mock_start(error);
    if (d->mock == NULL)
        return ERR_KAFKA;
    mock_join_at_once(d->mock);
    struct gate_config gate = {.cluster = mock_bootstrap(d->mock),
                               .creator = {create_topic, d->mock},
                               .listen = arguments_text(d->cli->arguments, "--broker"),
                               .advertise = arguments_text(d->cli->arguments, "--advertise")};
    d->gate = gate_start(&gate, error);
    return d->gate == NULL ? ERR_CONFIG : 0;
}

static int start_api(struct dev *d, struct error *error)
{
    d->own = (struct cli){.config = &d->config, .dev_clock = d->clock};
    d->monitor = monitor_start(&d->config, error);
    if (d->monitor == NULL)
        return ERR_CONFIG;
    d->api = d->config.admin == NULL ? NULL : api_start(&d->own, d->monitor, error);
    return d->config.admin != NULL && d->api == NULL ? ERR_CONFIG : 0;
}

static int start(struct dev *d, struct error *error)
{
    int err = check(d->cli->config, error);
    d->clock = dev_clock_new();
    if (err == 0 && d->clock == NULL)
        err = error_set(error, ERR_NO_MEMORY, "out of memory");
    if (err == 0)
        err = start_broker(d, error);
    if (err == 0)
        err = configure(d, error);
    if (err == 0 &&
        (embedded_topics(d->mock, &d->config, d->config.partitions) != 0 || make_targets(d) != 0))
        err = error_set(error, ERR_KAFKA, "the embedded broker does not create a topic");
    if (err == 0)
        err = connect_look(d, error);
    if (err == 0)
        err = start_api(d, error);
    if (err == 0)
        err = service_start(&d->config, dev_clock_functions(d->clock), &d->service, error);
    if (err != 0)
        return err;
    monitor_watch(d->monitor, d->service, "");
    return await_ready(d, error);
}

static void stop(struct dev *d)
{
    if (d->service != NULL) {
        monitor_watch(d->monitor, NULL, "draining");
        (void)service_stop(d->service);
    }
    api_stop(d->api);
    if (d->monitor != NULL)
        monitor_stop(d->monitor);
    if (d->look != NULL)
        rd_kafka_destroy(d->look);
    if (d->gate != NULL)
        gate_stop(d->gate);
    if (d->mock != NULL)
        mock_stop(d->mock);
    config_deinit(&d->config);
    dev_clock_free(d->clock);
    if (d->signals_fd >= 0)
        close(d->signals_fd);
}

/* Returns the address of the admin API for clients on this machine, or "" without one. */
static const char *api_address(const struct dev *d, char out[PROPERTY_MAX])
{
    out[0] = '\0';
    if (d->api != NULL)
        snprintf(out, PROPERTY_MAX, "http://127.0.0.1:%d", api_port(d->api));
    return out;
}

static void introduce(const struct dev *d)
{
    char admin[PROPERTY_MAX];
    if (d->cli->json)
        print_json(json_pack("{s:s, s:s}", "bootstrap_servers", gate_address(d->gate), "admin",
                             api_address(d, admin)));
    else
        printf("ready: bootstrap.servers=%s admin=%s\n"
               "Records are in memory and end with this process. Ctrl-C ends it.\n",
               gate_address(d->gate), api_address(d, admin));
    fflush(stdout);
}

/* All later threads inherit the mask. */
static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

int cmd_dev(struct cli *cli)
{
    struct error error = {""};
    struct dev *d = calloc(1, sizeof *d);
    if (d == NULL)
        return complain(cli, EXIT_INTERNAL, "out of memory");
    *d = (struct dev){.cli = cli, .signals_fd = watch_signals()};
    int err = start(d, &error), code = EXIT_DONE;
    if (err != 0) {
        code = complain(cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_INTERNAL, "%s", error.text);
    } else {
        struct pollfd ends[] = {{.fd = d->signals_fd, .events = POLLIN},
                                {.fd = service_failure_fd(d->service), .events = POLLIN}};
        introduce(d);
        while (poll(ends, 2, -1) < 0)
            continue;
        if (service_failed(d->service))
            code = complain(cli, EXIT_INTERNAL, "the service has failed, the log has the reason");
    }
    stop(d);
    free(d);
    return code;
}
