/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that sends canaries and reads them. */
#include "bridge/service/canary.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/admin/topics.h"
#include "consumer/client/client.h"
#include "consumer/client/client_report.h"
#include "levels/duration.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>

enum { POLL_MS = 100, BEYOND_MS = 250, NAME_MAX = 32 };
static const char NAME[] = "delaybridge-canary"; /* a header with the name of this process */

struct canary {
    const struct config *config;
    struct canary_stats stats;
    rd_kafka_t *producer, *consumer;
    char topic[TOPIC_TEXT_MAX];
    char name[NAME_MAX];
    char delay[DURATION_TEXT_MAX];
    pthread_t thread;
    atomic_bool stop;
};

static void on_sent(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    struct canary *c = opaque;
    if (client_report_err(message) == 0)
        counter_add(&c->stats.sent, 1);
}

/* Sends a request without a key, so that every lane gets some. Missed canaries are not sent later.
 */
static void send_one(struct canary *c)
{
    char sent[24];
    int n = snprintf(sent, sizeof sent, "%" PRId64, clock_wall_ms());
    (void)rd_kafka_producev(
        c->producer, RD_KAFKA_V_TOPIC(c->config->schedule), RD_KAFKA_V_VALUE(sent, (size_t)n),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_HEADER("dlb-delay", c->delay, -1),
        RD_KAFKA_V_HEADER("dlb-target", c->topic, -1), RD_KAFKA_V_HEADER(NAME, c->name, -1),
        RD_KAFKA_V_END);
}

/* Returns the number in a header; -1: no such header. */
static int64_t number_in(const rd_kafka_headers_t *headers, const char *name)
{
    const void *value;
    size_t n;
    return rd_kafka_header_get_last(headers, name, &value, &n) == 0 && value != NULL
               ? strtoll(value, NULL, 10)
               : -1;
}

static bool is_own(const struct canary *c, const rd_kafka_headers_t *headers)
{
    const void *value;
    size_t n;
    return rd_kafka_header_get_last(headers, NAME, &value, &n) == 0 && n == strlen(c->name) &&
           memcmp(value, c->name, n) == 0;
}

static void receive(struct canary *c, const rd_kafka_message_t *message)
{
    char sent[24] = "";
    rd_kafka_headers_t *headers;
    if (message->err != 0)
        log_warn("cannot read the canary topic, its metrics stop, trying again",
                 F_TEXT("topic", c->topic), F_TEXT("error", rd_kafka_err2name(message->err)));
    if (message->err != 0 || rd_kafka_message_headers(message, &headers) != 0 ||
        !is_own(c, headers) || message->len >= sizeof sent)
        return;
    int64_t now_ms = clock_wall_ms();
    memcpy(sent, message->payload, message->len);
    spans_add(&c->stats.round_trip, now_ms - strtoll(sent, NULL, 10));
    spans_add(&c->stats.lateness, now_ms - number_in(headers, "dlb-due"));
    counter_set(&c->stats.received_wall_ms, (uint64_t)now_ms);
    counter_add(&c->stats.received, 1);
}

static void *run(void *arg)
{
    struct canary *c = arg;
    int64_t next_ms = clock_mono_ms();
    while (!atomic_load_explicit(&c->stop, memory_order_relaxed)) {
        if (clock_mono_ms() >= next_ms) {
            next_ms = clock_mono_ms() + c->config->canary_ms;
            send_one(c);
        }
        rd_kafka_poll(c->producer, 0);
        rd_kafka_message_t *message = rd_kafka_consumer_poll(c->consumer, POLL_MS);
        if (message == NULL)
            continue;
        receive(c, message);
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

/* Reads the topic from its end, since earlier records are not of this process. */
static int watch_topic(struct canary *c, struct error *error)
{
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(all, c->topic, 0)->offset = RD_KAFKA_OFFSET_END;
    rd_kafka_resp_err_t err = rd_kafka_assign(c->consumer, all);
    rd_kafka_topic_partition_list_destroy(all);
    return err == 0 ? 0
                    : error_set(error, ERR_KAFKA, "canary: cannot read %s: %s", c->topic,
                                rd_kafka_err2str(err));
}

static rd_kafka_conf_t *conf_of(const struct canary *c, enum client_role role, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(c->config, role, error);
    if (conf == NULL)
        return NULL;
    rd_kafka_conf_set(conf, "client.id", "delaybridge-canary", NULL, 0);
    rd_kafka_conf_set_opaque(conf, (void *)c);
    return conf;
}

static int connect_both(struct canary *c, struct error *error)
{
    rd_kafka_conf_t *conf = conf_of(c, CLIENT_DELIVERIES, error);
    if (conf == NULL)
        return ERR_CONFIG;
    rd_kafka_conf_set_dr_msg_cb(conf, on_sent);
    c->producer = client_new(RD_KAFKA_PRODUCER, conf, error);
    conf = c->producer == NULL ? NULL : conf_of(c, CLIENT_ALL, error);
    if (conf == NULL)
        return ERR_CONFIG;
    rd_kafka_conf_set(conf, "auto.offset.reset", "latest", NULL, 0);
    c->consumer = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (c->consumer == NULL)
        return ERR_CONFIG;
    rd_kafka_poll_set_consumer(c->consumer);
    return 0;
}

/* Chooses a delay that is just long enough to need a level. */
static void choose_delay(struct canary *c)
{
    const struct ladder *ladder = &c->config->ladder;
    int64_t level_ms = ladder->level_ms[0], hold_ms = ladder->hold_ms;
    duration_format((level_ms > hold_ms ? level_ms : hold_ms) + BEYOND_MS, c->delay);
}

static void canary_free(struct canary *c)
{
    if (c->consumer != NULL)
        rd_kafka_destroy_flags(c->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    if (c->producer != NULL)
        rd_kafka_destroy(c->producer);
    free(c);
}

struct canary *canary_start(const struct config *config, struct error *error)
{
    uint64_t random = 0;
    struct canary *c = calloc(1, sizeof *c);
    if (c == NULL || getrandom(&random, sizeof random, 0) != sizeof random) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        free(c);
        return NULL;
    }
    c->config = config;
    snprintf(c->name, sizeof c->name, "%016" PRIx64, random);
    topic_of_canary(config->schedule, c->topic);
    choose_delay(c);
    if (connect_both(c, error) != 0 || watch_topic(c, error) != 0) {
        canary_free(c);
        return NULL;
    }
    if (pthread_create(&c->thread, NULL, run, c) != 0) {
        (void)error_set(error, ERR_NO_MEMORY, "no thread can be created");
        canary_free(c);
        return NULL;
    }
    return c;
}

const struct canary_stats *canary_stats(const struct canary *c)
{
    return &c->stats;
}

void canary_stop(struct canary *c)
{
    atomic_store(&c->stop, true);
    pthread_join(c->thread, NULL);
    canary_free(c);
}
