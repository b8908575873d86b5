/* SPDX-License-Identifier: Apache-2.0 */
/* A producer, and a look-up of the topic before each summary. */
#include "bridge/service/presence.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/client/client.h"
#include "consumer/member_record.h"
#include "consumer/topic_lookup.h"
#include "consumer/wakeup.h"
#include "levels/topic_name.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { POLL_MS = 100, MISSING_MS = 30000, ASK_AGAIN_MS = 1000, FLUSH_MS = 1000 };

struct presence {
    struct presence_config config;
    char topic[TOPIC_TEXT_MAX];
    struct wakeup wakeup;
    struct topic_lookup *lookup;
    bool is_published;      /* some summary was passed to the client */
    atomic_bool is_refused; /* the last summary was refused; logged once */
    int64_t next_mono_ms;
    pthread_mutex_t turn; /* guards summary */
    struct member summary;
    pthread_t thread;
    atomic_bool stop;
};

void presence_on_written(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    struct presence *p = message->_private;
    (void)rk;
    (void)opaque;
    bool refused = message->err != 0;
    if (refused && !atomic_exchange(&p->is_refused, refused))
        log_warn("cannot publish this process on the topic of control, check and top do not show "
                 "it: allow Write on the topic",
                 F_TEXT("topic", p->topic), F_TEXT("error", rd_kafka_err2name(message->err)));
    atomic_store(&p->is_refused, refused);
}

/* value: NULL removes the summary. */
static void produce(struct presence *p, const char *value)
{
    const char *key = p->summary.key;
    size_t len = value == NULL ? 0 : strlen(value);
    rd_kafka_resp_err_t err = rd_kafka_producev(
        p->config.producer, RD_KAFKA_V_TOPIC(p->topic), RD_KAFKA_V_PARTITION(0),
        RD_KAFKA_V_KEY(key, strlen(key)), RD_KAFKA_V_VALUE((void *)value, len),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(p), RD_KAFKA_V_END);
    p->is_published |= err == 0;
}

static void publish(struct presence *p)
{
    pthread_mutex_lock(&p->turn);
    p->summary.at_wall_ms = clock_wall_ms();
    p->summary.lanes = p->config.owned(p->config.ctx);
    char *value = member_write(&p->summary);
    pthread_mutex_unlock(&p->turn);
    if (value != NULL)
        produce(p, value);
    free(value);
}

/* A write to a missing topic would let brokers create it with wrong settings. */
static void serve(struct presence *p, int64_t now_mono_ms)
{
    switch (topic_lookup_get(p->lookup, p->config.producer, p->topic)) {
    case LOOKUP_FOUND:
    case LOOKUP_UNWRITABLE:
    case LOOKUP_WHOLE:
        publish(p);
        p->next_mono_ms = now_mono_ms + MEMBER_EVERY_MS;
        break;
    case LOOKUP_MISSING:
        p->next_mono_ms = now_mono_ms + MISSING_MS;
        break;
    case LOOKUP_UNKNOWN:
        p->next_mono_ms = now_mono_ms + ASK_AGAIN_MS;
        break;
    case LOOKUP_PENDING:
        break;
    }
}

static void ignore(void *ctx, int32_t number)
{
    (void)ctx;
    (void)number;
}

static void *run(void *arg)
{
    struct presence *p = arg;
    while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
        int64_t now_mono_ms = clock_mono_ms();
        if (now_mono_ms >= p->next_mono_ms)
            serve(p, now_mono_ms);
        wakeup_wait(&p->wakeup, 0, POLL_MS * 1000, ignore, NULL);
        rd_kafka_poll(p->config.producer, 0);
    }
    if (p->is_published) {
        produce(p, NULL);
        rd_kafka_flush(p->config.producer, FLUSH_MS);
    }
    return NULL;
}

static bool presence_free(struct presence *p)
{
    if (p->lookup != NULL && !topic_lookup_free(p->lookup))
        return false;
    wakeup_deinit(&p->wakeup);
    pthread_mutex_destroy(&p->turn);
    free(p);
    return true;
}

struct presence *presence_start(const struct presence_config *config, struct error *error)
{
    uint64_t random = 0;
    struct presence *p = calloc(1, sizeof *p);
    if (p == NULL || getrandom(&random, sizeof random, 0) != sizeof random ||
        wakeup_init(&p->wakeup) != 0) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        free(p);
        return NULL;
    }
    p->config = *config;
    pthread_mutex_init(&p->turn, NULL);
    topic_of_control(config->config->schedule, p->topic);
    snprintf(p->summary.key, sizeof p->summary.key, "process:%016" PRIx64, random);
    member_describe(&p->summary, config->config);
    p->lookup = topic_lookup_new(&p->wakeup);
    if (p->lookup != NULL && pthread_create(&p->thread, NULL, run, p) == 0)
        return p;
    (void)error_set(error, ERR_NO_MEMORY, "out of memory or threads");
    (void)presence_free(p);
    return NULL;
}

void presence_update(struct presence *p, const struct config *live)
{
    pthread_mutex_lock(&p->turn);
    member_describe(&p->summary, live);
    pthread_mutex_unlock(&p->turn);
}

bool presence_stop(struct presence *p)
{
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
    return presence_free(p);
}
