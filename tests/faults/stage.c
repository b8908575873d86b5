/* SPDX-License-Identifier: Apache-2.0 */
/* Cluster, topics, requests, and their results. */
#include "tests/faults/stage.h"

#include "bridge/base/clock.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/topics.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 10000, POLL_MS = 20, AGAIN_MS = 200, STARTS_MAX = 50 };
static const char target[] = "orders.timeout";

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "the stage itself fails: %s\n", what);
    exit(1);
}

static rd_kafka_t *client(const struct stage *s, rd_kafka_type_t type)
{
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(s->mock), error,
                      sizeof error);
    rd_kafka_conf_set(conf, "log_level", "0", error, sizeof error);
    if (type == RD_KAFKA_CONSUMER) {
        rd_kafka_conf_set(conf, "group.id", "reader", error, sizeof error);
        rd_kafka_conf_set(conf, "enable.auto.commit", "false", error, sizeof error);
        rd_kafka_conf_set(conf, "fetch.wait.max.ms", "20", error, sizeof error);
        rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", error, sizeof error);
    }
    rd_kafka_t *rk = rd_kafka_new(type, conf, error, sizeof error);
    if (rk == NULL)
        give_up(error);
    return rk;
}

static void make_topic(const struct stage *s, const char *name, int partitions, int replicas)
{
    if (rd_kafka_mock_topic_create(s->mock, name, partitions, replicas) != 0)
        give_up(name);
}

static void make_topics(const struct stage *s, int brokers)
{
    const struct config *c = &s->config;
    char name[TOPIC_TEXT_MAX];
    for (int slot = 0; slot <= c->ladder.n; slot++)
        make_topic(s, offsets_topic(c, slot, name), STAGE_LANES, brokers);
    make_topic(s, topic_of_dead_letter(c->schedule, name), STAGE_LANES, brokers);
    make_topic(s, topic_of_cancelled(c->schedule, name), STAGE_LANES, brokers);
    make_topic(s, topic_of_control(c->schedule, name), 1, brokers);
    make_topic(s, topic_of_pulse(c->schedule, name), brokers, brokers);
    if (c->canary_ms > 0)
        make_topic(s, topic_of_canary(c->schedule, name), 1, brokers);
    make_topic(s, target, STAGE_LANES, brokers);
}

/* other: settings that can change at run time have other values. */
static void configure(const struct stage *s, struct config *config, bool other)
{
    const unsigned flags = s->flags;
    char servers[256];
    struct error error;
    snprintf(servers, sizeof servers, "bootstrap.servers=%s",
             rd_kafka_mock_cluster_bootstraps(s->mock));
    char *argv[] = {
        (char *)"-X",
        servers,
        (char *)"--levels=300ms,900ms",
        (char *)"--hold=250ms",
        (char *)"--slack=100ms",
        (char *)(other ? "--targets=payments.*,orders.*" : "--targets=orders.*"),
        (char *)"--drain=2s",
        (char *)(flags & STAGE_PIPELINED ? "-Xmax.in.flight=5" : "-Xmax.in.flight=1"),
        (char *)(flags & STAGE_PIPELINED ? "-Xbatch.num.messages=2" : "-Xbatch.num.messages=10000"),
        (char *)"--memory=8MiB",
        (char *)(flags & STAGE_EXACTLY_ONCE ? "--delivery=exactly-once"
                                            : "--delivery=at-least-once"),
        (char *)(flags & STAGE_TWO_WORKERS ? "--workers=2" : "--workers=1"),
        (char *)(flags & STAGE_SEEN ? "--listen=127.0.0.1:0" : "--listen="),
        (char *)(flags & STAGE_SEEN ? "--canary=100ms" : "--canary=0s"),
        (char *)"--default-target=payments.due", /* the last two: of the other one */
        (char *)"--max-attempts=3"};
    int argc = sizeof argv / sizeof *argv - (other ? 0 : 2);
    if (config_load(config, "/dev/null", &argc, argv, NULL, &error) != 0)
        give_up(error.text);
}

struct config *stage_config(const struct stage *s, int n)
{
    struct config *config = calloc(1, sizeof *config);
    if (config == NULL)
        give_up("out of memory");
    configure(s, config, n % 2 != 0);
    return config;
}

static void read_from_start(const struct stage *s)
{
    char name[TOPIC_TEXT_MAX];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
    for (int i = 0; i < STAGE_LANES; i++) {
        rd_kafka_topic_partition_list_add(list, target, i)->offset = 0;
        rd_kafka_topic_partition_list_add(list, topic_of_dead_letter(s->config.schedule, name), i)
            ->offset = 0;
    }
    if (rd_kafka_assign(s->reader, list) != 0)
        give_up("the reader is not assigned");
    rd_kafka_topic_partition_list_destroy(list);
}

void stage_open(struct stage *s, unsigned flags)
{
    char error[256];
    int brokers = flags & STAGE_THREE_BROKERS ? 3 : 1;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", error, sizeof error);
    s->host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    s->mock = s->host == NULL ? NULL : rd_kafka_mock_cluster_new(s->host, brokers);
    if (s->mock == NULL)
        give_up("no mock cluster");
    s->flags = flags;
    configure(s, &s->config, false);
    make_topics(s, brokers);
    s->producer = client(s, RD_KAFKA_PRODUCER);
    s->reader = client(s, RD_KAFKA_CONSUMER);
    read_from_start(s);
}

void stage_close(struct stage *s)
{
    stage_stop(s);
    if (s->twice > 0)
        fprintf(stderr, STAGE_TWICE "%d\n", s->twice);
    rd_kafka_destroy(s->producer);
    rd_kafka_destroy_flags(s->reader, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    rd_kafka_mock_cluster_destroy(s->mock);
    rd_kafka_destroy(s->host);
    config_deinit(&s->config);
}

static void lead(const struct stage *s, const char *topic, int broker)
{
    for (int i = 0; i < STAGE_LANES; i++)
        rd_kafka_mock_partition_set_leader(s->mock, topic, i, broker);
}

void stage_share_out(const struct stage *s)
{
    char name[TOPIC_TEXT_MAX];
    for (int slot = 0; slot <= s->config.ladder.n; slot++)
        lead(s, offsets_topic(&s->config, slot, name), slot == 0 ? STAGE_SCHEDULE : STAGE_LEVELS);
    lead(s, target, STAGE_TARGETS);
    lead(s, topic_of_dead_letter(s->config.schedule, name), STAGE_TARGETS);
}

int stage_start(struct stage *s)
{
    int err = ERR_KAFKA;
    for (int tries = 0; err == ERR_KAFKA && tries < STARTS_MAX; tries++) {
        if (tries > 0)
            poll(NULL, 0, AGAIN_MS);
        s->error.text[0] = '\0';
        s->starts++;
        err = service_start(&s->config, NULL, &s->service, &s->error);
    }
    return err;
}

void stage_stop(struct stage *s)
{
    if (s->service != NULL)
        (void)service_stop(s->service);
    s->service = NULL;
}

static void add(rd_kafka_headers_t *headers, const char *name, const char *value)
{
    rd_kafka_header_add(headers, name, -1, value, -1);
}

static void ask(struct stage *s, int64_t delay_ms, const char *poison)
{
    char due[32], value[32];
    int n = s->asked++;
    struct stage_request *r = &s->requests[n];
    *r = (struct stage_request){.due_ms = clock_wall_ms() + delay_ms, .refused = poison != NULL};
    snprintf(due, sizeof due, "%" PRId64, r->due_ms);
    snprintf(value, sizeof value, "request %d", n);
    rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
    add(headers, "dlb-deliver-at", due);
    add(headers, "dlb-target", target);
    add(headers, "business", value);
    if (poison != NULL)
        add(headers, poison, "1");
    if (rd_kafka_producev(s->producer, RD_KAFKA_V_TOPIC(s->config.schedule),
                          RD_KAFKA_V_PARTITION(n % STAGE_LANES),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY("key", 3),
                          RD_KAFKA_V_VALUE(value, strlen(value)), RD_KAFKA_V_HEADERS(headers),
                          RD_KAFKA_V_END) != 0)
        give_up("a request is not taken");
}

static void await_stored(const struct stage *s)
{
    if (rd_kafka_flush(s->producer, TIMEOUT_MS) != 0)
        give_up("requests are not acknowledged");
}

void stage_ask_together(struct stage *s, int n, int64_t delay_ms)
{
    for (int i = 0; i < n; i++)
        ask(s, delay_ms, NULL);
    await_stored(s);
}

void stage_ask(struct stage *s)
{
    static const int64_t delays_ms[] = {0, 0, 150, 150, 500, 500, 1300, 1300};
    for (size_t i = 0; i < sizeof delays_ms / sizeof *delays_ms; i++)
        ask(s, delays_ms[i], NULL);
    ask(s, 0, "dlb-poison");
    ask(s, 100, "dlb-poison");
    await_stored(s);
}

static void note(struct stage *s, const char *what, int n, int64_t by)
{
    if (s->broken[0] == '\0')
        snprintf(s->broken, sizeof s->broken, "request %d %s (%" PRId64 ")", n, what, by);
}

/* A dead letter may have lost its value, so the business's header says which one it is. */
static int number_of(const rd_kafka_message_t *message)
{
    char text[32] = "";
    const void *value;
    size_t size;
    int n = -1;
    rd_kafka_headers_t *headers;
    if (rd_kafka_message_headers(message, &headers) != 0 ||
        rd_kafka_header_get_last(headers, "business", &value, &size) != 0 || size >= sizeof text)
        return -1;
    memcpy(text, value, size);
    return sscanf(text, "request %d", &n) == 1 ? n : -1;
}

static void see(struct stage *s, const rd_kafka_message_t *message)
{
    if (message->err != 0)
        return;
    int n = number_of(message);
    if (n < 0 || n >= s->asked) {
        note(s, "is none that was asked for", n, 0);
        return;
    }
    struct stage_request *r = &s->requests[n];
    bool dead = strcmp(rd_kafka_topic_name(message->rkt), target) != 0;
    int64_t at_ms = rd_kafka_message_timestamp(message, NULL);
    if (!dead && at_ms < r->due_ms)
        note(s, "is early, by so many ms", n, r->due_ms - at_ms);
    if (dead != r->refused && !(dead && s->may_die))
        note(s, dead ? "is dead" : "was delivered, and is poison", n, 0);
    if (message->len == 0 && !dead)
        note(s, "has lost its value", n, 0);
    if (message->key_len != 3)
        note(s, "has another key", n, (int64_t)message->key_len);
    s->answered += r->delivered + r->dead == 0;
    s->twice += r->delivered + r->dead > 0;
    *(dead ? &r->dead : &r->delivered) += 1;
}

static void serve(struct stage *s)
{
    rd_kafka_message_t *message = rd_kafka_consumer_poll(s->reader, POLL_MS);
    if (message == NULL)
        return;
    see(s, message);
    rd_kafka_message_destroy(message);
}

void stage_watch(struct stage *s, int64_t ms)
{
    int64_t until_ms = clock_mono_ms() + ms;
    while (clock_mono_ms() < until_ms)
        serve(s);
}

/* Prints the worker's counters and the size of the target's log, to find the cause of a missing
   record. */
static void explain(const struct stage *s)
{
    static struct stats sum;
    int64_t low, high, stored = 0;
    if (s->service != NULL)
        service_stats(s->service, &sum);
    for (int i = 0; i < STAGE_LANES; i++) {
        if (rd_kafka_query_watermark_offsets(s->reader, target, i, &low, &high, TIMEOUT_MS) == 0)
            stored += high;
    }
    fprintf(stderr,
            "the worker counts %" PRIu64 " requests, %" PRIu64 " hops, %" PRIu64
            " deliveries, %" PRIu64 " redeliveries, %" PRIu64 " resends, %" PRIu64
            " held; the target has %" PRId64 " records, and %d of all were seen\n",
            counter_read(&sum.requests), counter_read(&sum.hops), counter_read(&sum.deliveries),
            counter_read(&sum.redeliveries), counter_read(&sum.resends),
            counter_read(&sum.buffered_records), stored, s->answered + s->twice);
}

bool stage_await(struct stage *s, int64_t timeout_ms)
{
    int64_t until_ms = clock_mono_ms() + timeout_ms;
    while (s->answered < s->asked && clock_mono_ms() < until_ms) {
        serve(s);
        if (s->service == NULL || !service_failed(s->service))
            continue;
        stage_stop(s);
        if (stage_start(s) != 0)
            fprintf(stderr, "it does not start again: %s\n", s->error.text);
    }
    for (int i = 0; i < s->asked; i++) {
        if (s->requests[i].delivered + s->requests[i].dead == 0)
            fprintf(stderr, "request %d was never answered\n", i);
    }
    if (s->answered < s->asked)
        explain(s);
    if (s->broken[0] != '\0')
        fprintf(stderr, "%s\n", s->broken);
    return s->answered == s->asked && s->broken[0] == '\0';
}
