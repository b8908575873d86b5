/* SPDX-License-Identifier: Apache-2.0 */
#include "consumer/asker.h"

#include "bridge/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 500, FRESH_MS = 1000 };

enum question { NONE, ASKED, ANSWERED };

struct asker {
    pthread_t thread;
    pthread_mutex_t turn; /* what follows is under it */
    pthread_cond_t news;
    struct bell *bell;
    bool stop;
    enum question question;
    rd_kafka_t *rk;
    char topic[TOPIC_NAME_MAX + 1];
    enum lookup found;
    int64_t answered_ms; /* monotonic */
};

static enum lookup judge(rd_kafka_resp_err_t err)
{
    switch (err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
        return LOOKUP_FOUND;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return LOOKUP_MISSING;
    default:
        return LOOKUP_UNKNOWN;
    }
}

static enum lookup look_up(rd_kafka_t *rk, const char *name)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, topic, &metadata, ASK_MS);
    rd_kafka_topic_destroy(topic);
    if (err != 0)
        return LOOKUP_UNKNOWN;
    err = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    rd_kafka_metadata_destroy(metadata);
    return judge(err);
}

static void *run(void *arg)
{
    struct asker *a = arg;
    pthread_mutex_lock(&a->turn);
    while (!a->stop) {
        if (a->question != ASKED) {
            pthread_cond_wait(&a->news, &a->turn);
            continue;
        }
        pthread_mutex_unlock(&a->turn);
        enum lookup found = look_up(a->rk, a->topic); /* neither changes while it is asked */
        pthread_mutex_lock(&a->turn);
        a->found = found;
        a->answered_ms = clock_mono_ms();
        a->question = ANSWERED;
        pthread_cond_broadcast(&a->news);
        bell_ring(a->bell, BELL_REPORTS);
    }
    pthread_mutex_unlock(&a->turn);
    return NULL;
}

struct asker *asker_new(struct bell *bell)
{
    struct asker *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->bell = bell;
    pthread_mutex_init(&a->turn, NULL);
    pthread_cond_init(&a->news, NULL);
    if (pthread_create(&a->thread, NULL, run, a) == 0)
        return a;
    free(a);
    return NULL;
}

void asker_free(struct asker *a)
{
    pthread_mutex_lock(&a->turn);
    a->stop = true;
    pthread_cond_broadcast(&a->news);
    pthread_mutex_unlock(&a->turn);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->news);
    pthread_mutex_destroy(&a->turn);
    free(a);
}

enum lookup asker_ask(struct asker *a, rd_kafka_t *rk, const char *topic)
{
    enum lookup found = LOOKUP_PENDING;
    pthread_mutex_lock(&a->turn);
    if (a->question == ANSWERED && strcmp(a->topic, topic) == 0 &&
        clock_mono_ms() - a->answered_ms <= FRESH_MS) {
        found = a->found;
        a->question = NONE;
    } else if (a->question != ASKED) {
        snprintf(a->topic, sizeof a->topic, "%s", topic);
        a->rk = rk;
        a->question = ASKED;
        pthread_cond_broadcast(&a->news);
    }
    pthread_mutex_unlock(&a->turn);
    return found;
}

void asker_settle(struct asker *a)
{
    pthread_mutex_lock(&a->turn);
    while (a->question == ASKED)
        pthread_cond_wait(&a->news, &a->turn);
    pthread_mutex_unlock(&a->turn);
}
