/* SPDX-License-Identifier: Apache-2.0 */
#include "consumer/asker.h"

#include "bridge/clock.h"
#include "consumer/errand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 500, FRESH_MS = 1000, SETTLE_MS = 2 * ASK_MS };

struct asker {
    struct errand *errand;
    bool asked;
    rd_kafka_t *rk;
    char topic[TOPIC_NAME_MAX + 1];
    enum lookup found;
    int64_t answered_ms; /* monotonic */
};

static bool is_whole(const struct rd_kafka_metadata_topic *topic)
{
    for (int i = 0; i < topic->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *p = &topic->partitions[i];
        if (p->leader < 0 || p->isr_cnt < (p->replica_cnt < 2 ? p->replica_cnt : 2))
            return false;
    }
    return topic->partition_cnt > 0;
}

static enum lookup judge(const struct rd_kafka_metadata_topic *topic)
{
    switch (topic->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return is_whole(topic) ? LOOKUP_WHOLE : LOOKUP_FOUND;
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
    enum lookup found = metadata->topic_cnt == 1 ? judge(&metadata->topics[0]) : LOOKUP_MISSING;
    rd_kafka_metadata_destroy(metadata);
    return found;
}

static void ask(void *arg)
{
    struct asker *a = arg;
    a->found = look_up(a->rk, a->topic);
    a->answered_ms = clock_mono_ms();
}

struct asker *asker_new(struct bell *bell)
{
    struct asker *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->errand = errand_new(bell);
    if (a->errand != NULL)
        return a;
    free(a);
    return NULL;
}

bool asker_free(struct asker *a)
{
    if (!errand_free(a->errand, SETTLE_MS))
        return false;
    free(a);
    return true;
}

enum lookup asker_ask(struct asker *a, rd_kafka_t *rk, const char *topic)
{
    if (!errand_is_over(a->errand))
        return LOOKUP_PENDING;
    if (a->asked && strcmp(a->topic, topic) == 0 && clock_mono_ms() - a->answered_ms <= FRESH_MS) {
        a->asked = false;
        return a->found;
    }
    snprintf(a->topic, sizeof a->topic, "%s", topic);
    a->rk = rk;
    a->asked = true;
    errand_begin(a->errand, ask, a);
    return LOOKUP_PENDING;
}

bool asker_settle(struct asker *a)
{
    return errand_wait(a->errand, SETTLE_MS);
}
