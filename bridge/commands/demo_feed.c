/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests of a small shop, and receives their deliveries. */
#include "bridge/commands/demo_feed.h"

#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "levels/duration.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum target { ORDERS, WEBHOOKS, MAIL, CARTS, PAYMENTS, TARGETS };
static const char *const targets[TARGETS] = {"demo.orders.close-unpaid", "demo.webhooks.retry",
                                             "demo.mail.remind", "demo.carts.release",
                                             "demo.payments.check"};
static const struct order {
    enum target target;
    const char *key;
    int64_t delay_ms;
} orders[] = {
    {ORDERS, "order", 15000},  {WEBHOOKS, "hook", 5000},   {MAIL, "user", 9500},
    {WEBHOOKS, "hook", 1000},  {CARTS, "cart", 3700},      {PAYMENTS, "payment", 250},
    {ORDERS, "order", 12345},  {PAYMENTS, "payment", 700}, {CARTS, "cart", 90000},
    {ORDERS, "order", 600000},
};
enum { ORDERS_N = sizeof orders / sizeof *orders, PAUSE_MS = 350, POLL_MS = 20 };

struct demo_feed {
    const struct config *config;
    int64_t send_until_ms, end_ms;
    void (*on_event)(void *ctx, const struct demo_event *event);
    void *ctx;
    rd_kafka_t *producer, *consumer;
    pthread_mutex_t one_at_a_time;
    pthread_t sender, receiver;
    atomic_bool stop;
};

const char *demo_feed_target(int n)
{
    return n < TARGETS ? targets[n] : NULL;
}

static void report(struct demo_feed *f, const struct demo_event *event)
{
    pthread_mutex_lock(&f->one_at_a_time);
    f->on_event(f->ctx, event);
    pthread_mutex_unlock(&f->one_at_a_time);
}

static void send_one(struct demo_feed *f, unsigned n)
{
    const struct order *e = &orders[n % ORDERS_N];
    char delay[DURATION_TEXT_MAX], key[24], value[96];
    duration_format(e->delay_ms, delay);
    snprintf(key, sizeof key, "%s-%u", e->key, n);
    int len = snprintf(value, sizeof value, "{\"%s\":%u}", e->key, n);
    rd_kafka_resp_err_t err = rd_kafka_producev(
        f->producer, RD_KAFKA_V_TOPIC(f->config->schedule), RD_KAFKA_V_KEY(key, strlen(key)),
        RD_KAFKA_V_VALUE(value, (size_t)len), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_HEADER("dlb-delay", delay, -1),
        RD_KAFKA_V_HEADER("dlb-target", targets[e->target], -1), RD_KAFKA_V_END);
    if (err != 0)
        return;
    struct demo_event event = {.at_ms = clock_wall_ms(), .delay_ms = e->delay_ms};
    event.due_ms = event.at_ms + e->delay_ms;
    snprintf(event.target, sizeof event.target, "%s", targets[e->target]);
    snprintf(event.key, sizeof event.key, "%s", key);
    report(f, &event);
}

static bool ends_in_time(const struct demo_feed *f, unsigned n)
{
    return clock_wall_ms() + orders[n % ORDERS_N].delay_ms < f->end_ms;
}

/* Returns how many orders from the n-th on to skip, because they would be due after the end. */
static unsigned skip_long(const struct demo_feed *f, unsigned n)
{
    unsigned skipped = 0;
    while (skipped < ORDERS_N && !ends_in_time(f, n + skipped))
        skipped++;
    return skipped;
}

static void *send_requests(void *arg)
{
    struct demo_feed *f = arg;
    int64_t next_ms = clock_wall_ms();
    for (unsigned n = 0; !f->stop && clock_wall_ms() < f->send_until_ms;) {
        if (clock_wall_ms() >= next_ms) {
            next_ms += PAUSE_MS;
            n += skip_long(f, n);
            if (ends_in_time(f, n))
                send_one(f, n);
            n++;
        }
        rd_kafka_poll(f->producer, POLL_MS);
    }
    rd_kafka_flush(f->producer, 1000);
    return NULL;
}

static int64_t due_of(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const void *value;
    size_t len;
    if (rd_kafka_message_headers(message, &headers) != 0 ||
        rd_kafka_header_get_last(headers, "dlb-due", &value, &len) != 0)
        return 0;
    return strtoll(value, NULL, 10);
}

static void *receive_deliveries(void *arg)
{
    struct demo_feed *f = arg;
    while (!f->stop) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(f->consumer, POLL_MS);
        if (message == NULL)
            continue;
        if (message->err == 0) {
            struct demo_event event = {.delivered = true, .at_ms = clock_wall_ms()};
            event.due_ms = due_of(message);
            event.late_ms = event.at_ms - event.due_ms;
            snprintf(event.target, sizeof event.target, "%s", rd_kafka_topic_name(message->rkt));
            snprintf(event.key, sizeof event.key, "%.*s", (int)message->key_len,
                     (const char *)message->key);
            report(f, &event);
        }
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

static void assign_targets(rd_kafka_t *consumer)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(ORDERS_N);
    for (int i = 0; demo_feed_target(i) != NULL; i++)
        rd_kafka_topic_partition_list_add(list, demo_feed_target(i), 0)->offset = 0;
    rd_kafka_assign(consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static int connect_both(struct demo_feed *f, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(f->config, CLIENT_ALL, error);
    f->producer = conf == NULL ? NULL : client_new(RD_KAFKA_PRODUCER, conf, error);
    if (f->producer == NULL)
        return ERR_CONFIG;
    conf = client_conf(f->config, CLIENT_ALL, error);
    if (conf == NULL)
        return ERR_CONFIG;
    rd_kafka_conf_set(conf, "group.id", "delaybridge.demo", NULL, 0);
    rd_kafka_conf_set(conf, "fetch.wait.max.ms", "10", NULL, 0);
    f->consumer = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (f->consumer == NULL)
        return ERR_CONFIG;
    rd_kafka_poll_set_consumer(f->consumer);
    assign_targets(f->consumer);
    return 0;
}

static void feed_free(struct demo_feed *f)
{
    if (f->producer != NULL)
        rd_kafka_destroy(f->producer);
    if (f->consumer != NULL)
        rd_kafka_destroy(f->consumer);
    pthread_mutex_destroy(&f->one_at_a_time);
    free(f);
}

struct demo_feed *demo_feed_start(const struct config *config, int64_t send_ms, int64_t end_ms,
                                  void (*on_event)(void *ctx, const struct demo_event *event),
                                  void *ctx, struct error *error)
{
    struct demo_feed *f = calloc(1, sizeof *f);
    if (f == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    *f = (struct demo_feed){.config = config,
                            .send_until_ms = clock_wall_ms() + send_ms,
                            .end_ms = clock_wall_ms() + end_ms,
                            .on_event = on_event,
                            .ctx = ctx};
    pthread_mutex_init(&f->one_at_a_time, NULL);
    if (connect_both(f, error) != 0) {
        feed_free(f);
        return NULL;
    }
    pthread_create(&f->sender, NULL, send_requests, f);
    pthread_create(&f->receiver, NULL, receive_deliveries, f);
    return f;
}

void demo_feed_stop(struct demo_feed *f)
{
    f->stop = true;
    pthread_join(f->sender, NULL);
    pthread_join(f->receiver, NULL);
    feed_free(f);
}
