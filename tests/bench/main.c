/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: bench PART --option value ... (bench.h). */
#include "tests/bench/bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIES = 50, TRY_MS = 100 };

static int arguments_n;
static char **arguments;

static const struct part {
    const char *name;
    int (*run)(void);
} parts[] = {
    {"load", bench_load}, {"loop", bench_loop}, {"meter", bench_meter}, {"read", bench_read}};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(70);
}

const char *option(const char *name, const char *otherwise)
{
    for (int i = 2; i + 1 < arguments_n; i += 2) {
        if (strcmp(arguments[i] + 2, name) == 0)
            return arguments[i + 1];
    }
    return otherwise;
}

int64_t option_int(const char *name, int64_t otherwise)
{
    const char *text = option(name, NULL);
    if (text == NULL)
        return otherwise;
    char *end;
    int64_t number = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        die(name, text);
    return number;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char why[256];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK)
        die(name, why);
}

rd_kafka_t *client(rd_kafka_type_t type,
                   void (*reported)(rd_kafka_t *, const rd_kafka_message_t *, void *),
                   const char *const *settings)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", option("bootstrap", "localhost:9092"));
    set(conf, "socket.nagle.disable", "true");
    if (type == RD_KAFKA_CONSUMER) /* as in the bridge; versions of librdkafka that do not need it
                                      do not know it */
        rd_kafka_conf_set(conf, "fetch.queue.backoff.ms", "5", why, sizeof why);
    for (; *settings != NULL; settings += 2)
        set(conf, settings[0], settings[1]);
    if (reported != NULL)
        rd_kafka_conf_set_dr_msg_cb(conf, reported);
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof why);
    if (rk == NULL)
        die("client", why);
    return rk;
}

static void add_topic(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, const char *name,
                      int64_t offset)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int tries = 0; tries < TRIES; tries++) { /* brokers show a new topic after a while */
        err = rd_kafka_metadata(rk, 0, topic, &metadata, 10000);
        err = err != 0 ? err : metadata->topics[0].err;
        if (err == 0)
            break;
        poll(NULL, 0, TRY_MS);
    }
    if (err != 0)
        die(name, rd_kafka_err2str(err));
    for (int p = 0; p < metadata->topics[0].partition_cnt; p++)
        rd_kafka_topic_partition_list_add(list, name, p)->offset = offset;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
}

rd_kafka_topic_partition_list_t *partitions_of(rd_kafka_t *rk, const char *topics, int64_t offset)
{
    char names[512];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);
    snprintf(names, sizeof names, "%s", topics);
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        add_topic(rk, list, name, offset);
    return list;
}

int main(int argc, char **argv)
{
    arguments_n = argc;
    arguments = argv;
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].name, argv[1]) == 0)
            return parts[i].run();
    }
    fputs("usage: bench load|loop|meter|read --option value ...\n", stderr);
    return 64;
}
