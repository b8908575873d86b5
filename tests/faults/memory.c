/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation failures outside of a running service: configuration, the step machine, lines of
   'send', the check of topics, the queries of the commands, the listener. The n-th allocation
   fails. */
#include "bridge/commands/draft.h"
#include "bridge/core/bridge.h"
#include "bridge/service/monitor.h"
#include "consumer/admin/heads.h"
#include "consumer/admin/topics.h"
#include "consumer/client/client.h"
#include "levels/base64.h"
#include "tests/faults/alloc.h"
#include "tests/faults/listener.h"
#include "tests/faults/parts.h"
#include "tests/faults/stage.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ASK_MS = 10000 };

enum ending memory_ending(bool done, const char *why)
{
    if (alloc_failed() == 0 && !done) {
        fprintf(stderr, "it fails though there was memory: %s\n", why);
        return BROKEN;
    }
    if (alloc_failed() == 0)
        return NOT_REACHED;
    if (done)
        return WENT_ON;
    fprintf(stderr, "%s\n", why);
    return strstr(why, "memory") != NULL ? ENDED : BROKEN;
}

/* Returns whether the configuration is complete: no key may be lost. */
static bool is_as_written(const struct config *c)
{
    return c->targets_n == 3 && c->kafka_n == 4 && c->retired_n == 1 && c->ladder.n == 3 &&
           strcmp(c->schedule, "timers") == 0 && strcmp(c->group, "delaybridge.timers") == 0 &&
           strcmp(c->default_target, "orders.timeout") == 0;
}

enum ending part_config(uint64_t n)
{
    static const char text[] = "kafka:\n"
                               "  bootstrap.servers: localhost:1\n"
                               "  sasl.password: {file: /dev/null}\n"
                               "  hops: {linger.ms: 30}\n"
                               "schedule: timers\n"
                               "levels: [1s, 5s, 10s]\n"
                               "retired_levels: [30s]\n"
                               "targets: [orders.timeout, \"payments.*\"]\n"
                               "log: {level: warn}\n";
    char path[64];
    struct error error;
    char *argv[] = {(char *)"--targets=orders.timeout,a,b", (char *)"--default-target",
                    (char *)"orders.timeout", (char *)"-Xclient.id=x", (char *)"rest"};
    int argc = sizeof argv / sizeof *argv, fd = memfd_create("config", MFD_CLOEXEC);
    if (write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        return BROKEN;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("DELAYBRIDGE_HOLD", "1500ms", 1);
    setenv("DELAYBRIDGE_UNHEARD_OF", "1", 1);
    struct config config;
    alloc_fail(n, 1);
    bool done = config_load(&config, path, &argc, argv, NULL, &error) == 0;
    bool whole = !done || is_as_written(&config);
    if (done)
        config_deinit(&config);
    close(fd);
    if (!whole)
        fprintf(stderr, "a key has got lost\n");
    return whole ? memory_ending(done, error.text) : BROKEN;
}

enum ending part_bridge(uint64_t n)
{
    static const struct port port; /* never called: nothing is owned */
    static struct stats stats;
    struct bridge_config config = {.ladder = {.level_ms = {1000, 5000}, .n = 2, .hold_ms = 1000},
                                   .lanes = 2,
                                   .memory_bytes = 1 << 20,
                                   .session_ms = 6000};
    alloc_fail(n, 1);
    struct bridge *bridge = bridge_new(&config, &port, &stats, (struct now){1, 1});
    if (bridge != NULL)
        bridge_free(bridge);
    return memory_ending(bridge != NULL, "out of memory");
}

enum ending part_draft(uint64_t n)
{
    static const char line[] = "{\"delay\":\"1s\",\"target\":\"t\",\"key\":\"k\",\"id\":\"i\","
                               "\"headers\":{\"a\":\"b\",\"c\":null,\"d\":{\"base64\":\"AAAA\"}},"
                               "\"value\":{\"base64\":\"AAECAw==\"}}";
    struct draft draft = {0};
    struct error why = {""};
    alloc_fail(n, 1);
    bool done = draft_of_json(&draft, bytes_text(line), &why) == 0;
    bool whole = !done || (draft.headers_n == 6 && draft.value.len == 4 && draft.key.len == 1);
    char *again = done ? base64_encode(draft.value) : NULL;
    if (done && again == NULL)
        (void)error_set(&why, 0, "no memory for base64");
    done = again != NULL;
    free(again);
    draft_deinit(&draft);
    return whole ? memory_ending(done, why.text) : BROKEN;
}

static void quiet(const char *line)
{
    (void)line;
}

/* How many findings a check has, and how apply ends; less than 0 with the reason in error. */
static int check_and_apply(const struct stage *stage, size_t *found, struct error *error)
{
    struct findings findings;
    int err = topics_check(stage->producer, &stage->config, ASK_MS, &findings, error);
    *found = findings.n;
    findings_deinit(&findings);
    if (err != 0)
        return err;
    struct topics_job job = {.timeout_ms = ASK_MS, .fewer_replicas = true, .say = quiet};
    err = topics_apply(stage->producer, &stage->config, &job, &findings, error);
    findings_deinit(&findings);
    return err;
}

/* The mock knows nothing of settings: the check finds that, and the topic that is no level. */
enum ending part_topics(uint64_t n)
{
    static struct stage stage;
    struct error error = {""};
    size_t all, found;
    stage_open(&stage, 0);
    rd_kafka_mock_topic_create(stage.mock, "schedule.7s", 1, 1);
    int usual = check_and_apply(&stage, &all, &error);
    error.text[0] = '\0';
    alloc_fail(n, 1);
    int err = check_and_apply(&stage, &found, &error);
    enum ending end = memory_ending(err == usual && found == all, error.text);
    alloc_fail(0, 0);
    stage_close(&stage);
    return end;
}

static void fill(const struct stage *stage, const char *topic)
{
    for (int i = 0; i < STAGE_LANES; i++)
        rd_kafka_producev(stage->producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(i),
                          RD_KAFKA_V_VALUE((void *)"x", 1), RD_KAFKA_V_END);
    rd_kafka_flush(stage->producer, ASK_MS);
}

enum ending part_looks(uint64_t n)
{
    static struct stage stage;
    struct error error = {""};
    char name[TOPIC_TEXT_MAX];
    stage_open(&stage, 0);
    fill(&stage, offsets_topic(&stage.config, 1, name));
    rd_kafka_conf_t *conf = client_conf(&stage.config, CLIENT_ALL, &error);
    offsets_conf(&stage.config, conf);
    rd_kafka_t *rk = client_new(RD_KAFKA_CONSUMER, conf, &error);
    struct offsets offsets = {.config = &stage.config};
    alloc_fail(n, 1);
    bool done = offsets_read(&offsets, rk, ASK_MS, &error) == 0;
    struct head *heads = done ? heads_read(&offsets, rk, ASK_MS, &error) : NULL;
    bool whole = heads == NULL ||
                 (offsets_cell(&offsets, 1, 1)->waiting == 1 && heads[1].kind == HEAD_FOREIGN);
    enum ending end = whole ? memory_ending(heads != NULL, error.text) : BROKEN;
    alloc_fail(0, 0);
    free(heads);
    offsets_deinit(&offsets);
    rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    stage_close(&stage);
    return end;
}

static const struct question {
    const char *what;
    int status;
    const char *holds;
} questions[] = {
    {"GET /metrics", 200, "\nprocess_max_fds "}, /* the last one */
    {"GET /livez", 200, "alive"},
    {"GET /readyz", 503, "starting"},
    {"GET /", 404, "/readyz\n"},
    {"POST /livez", 405, "only GET"},
};

/* Sends the request again if an allocation failed and no response came. Returns whether the
   response is right. */
static bool is_answered(const struct question *question)
{
    static struct answer answer;
    uint64_t failed = alloc_failed();
    listener_ask(question->what, &answer);
    if (answer.status == 0 && alloc_failed() > failed)
        listener_ask(question->what, &answer);
    if (answer.status == question->status && strstr(answer.body, question->holds) != NULL)
        return true;
    fprintf(stderr, "%s was answered with %d: %.200s\n", question->what, answer.status,
            answer.body);
    return false;
}

enum ending part_listen(uint64_t n)
{
    struct error error = {""};
    char *argv[] = {(char *)"--listen=127.0.0.1:0"};
    int argc = 1;
    struct config config;
    if (config_load(&config, "/dev/null", &argc, argv, NULL, &error) != 0)
        return BROKEN;
    alloc_fail(n, 1);
    bool answered = true;
    struct monitor *monitor = monitor_start(&config, &error);
    for (size_t i = 0; monitor != NULL && i < sizeof questions / sizeof *questions; i++)
        answered &= is_answered(&questions[i]);
    if (monitor != NULL)
        monitor_stop(monitor);
    config_deinit(&config);
    return answered ? memory_ending(monitor != NULL, error.text) : BROKEN;
}
