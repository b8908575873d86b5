/* SPDX-License-Identifier: Apache-2.0 */
#include "consumer/asker.h"

#include "bridge/base/clock.h"
#include "consumer/blocking_call.h"
#include "consumer/insync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASK_MS = 500,
    LIST_MS = 2000,
    LIST_EVERY_MS = 500, /* and at least LIST_SHARE times as long as the last list took */
    LIST_SHARE = 20,
    FRESH_MS = 1000,
    SETTLE_MS = 1000
};

struct asker {
    struct blocking_call *blocking_call;
    bool asked;
    rd_kafka_t *rk;
    char topic[TOPIC_NAME_MAX + 1];
    enum lookup found;
    enum lookup *partitions; /* of the topic: each one's */
    int partitions_n;
    int64_t answered_ms; /* monotonic */

    char **names; /* of all topics, sorted, as the last list had them */
    int names_n;
    int64_t listed_ms; /* monotonic; 0: never */
    int64_t took_ms;   /* how long the last list took */
};

/* insync_least: 0, not known. */
static enum lookup judge_partition(const struct rd_kafka_metadata_partition *p, int insync_least)
{
    if (p->leader < 0 || p->isr_cnt < insync_least)
        return LOOKUP_UNWRITABLE;
    return p->isr_cnt < (p->replica_cnt < 2 ? p->replica_cnt : 2) ? LOOKUP_FOUND : LOOKUP_WHOLE;
}

/* Asked only if it matters: a partition has a leader, and replicas that are not in sync. */
static int least_in_sync(struct asker *a, const struct rd_kafka_metadata_topic *topic)
{
    for (int i = 0; i < topic->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *p = &topic->partitions[i];
        if (p->leader >= 0 && p->isr_cnt < p->replica_cnt)
            return insync_least(a->rk, a->topic, ASK_MS);
    }
    return 0;
}

/* The worst of its partitions. */
static enum lookup judge_partitions(struct asker *a, const struct rd_kafka_metadata_topic *topic)
{
    enum lookup worst = topic->partition_cnt > 0 ? LOOKUP_WHOLE : LOOKUP_FOUND;
    int least = least_in_sync(a, topic);
    free(a->partitions);
    a->partitions = calloc((size_t)topic->partition_cnt + 1, sizeof *a->partitions);
    a->partitions_n = a->partitions == NULL ? 0 : topic->partition_cnt;
    for (int i = 0; i < topic->partition_cnt; i++) {
        enum lookup found = judge_partition(&topic->partitions[i], least);
        int id = topic->partitions[i].id;
        if (id >= 0 && id < a->partitions_n)
            a->partitions[id] = found;
        if (found == LOOKUP_UNWRITABLE || (found == LOOKUP_FOUND && worst == LOOKUP_WHOLE))
            worst = found;
    }
    return worst;
}

static enum lookup judge(struct asker *a, const struct rd_kafka_metadata_topic *topic)
{
    switch ((int)topic->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return judge_partitions(a, topic);
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
        return LOOKUP_UNWRITABLE;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return LOOKUP_MISSING;
    default:
        return LOOKUP_UNKNOWN;
    }
}

/* The client keeps the topic, and asks for it again each second if it is not there, until it is
   destroyed: so this is only for a topic that was in a list. */
static enum lookup look_up(struct asker *a)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(a->rk, a->topic, NULL);
    rd_kafka_resp_err_t err = rd_kafka_metadata(a->rk, 0, topic, &metadata, ASK_MS);
    rd_kafka_topic_destroy(topic);
    if (err != 0)
        return LOOKUP_UNKNOWN;
    enum lookup found = metadata->topic_cnt == 1 ? judge(a, &metadata->topics[0]) : LOOKUP_MISSING;
    rd_kafka_metadata_destroy(metadata);
    return found;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_listed(const struct asker *a, const char *topic)
{
    return a->names_n > 0 &&
           bsearch(&topic, a->names, (size_t)a->names_n, sizeof topic, compare_names) != NULL;
}

static bool list_is_fresh(const struct asker *a)
{
    int64_t every_ms = a->took_ms * LIST_SHARE;
    if (every_ms < LIST_EVERY_MS)
        every_ms = LIST_EVERY_MS;
    return a->listed_ms != 0 && clock_mono_ms() - a->listed_ms < every_ms;
}

static void free_names(struct asker *a)
{
    for (int i = 0; i < a->names_n; i++)
        free(a->names[i]);
    free(a->names);
    a->names = NULL;
    a->names_n = 0;
}

/* False: no memory. */
static bool keep_names(struct asker *a, const struct rd_kafka_metadata *metadata)
{
    free_names(a);
    a->names = calloc((size_t)metadata->topic_cnt + 1, sizeof *a->names);
    for (int i = 0; a->names != NULL && i < metadata->topic_cnt; i++) {
        char *name = strdup(metadata->topics[i].topic);
        if (name == NULL)
            return false;
        a->names[a->names_n++] = name;
    }
    if (a->names == NULL)
        return false;
    qsort(a->names, (size_t)a->names_n, sizeof *a->names, compare_names);
    return true;
}

/* Brokers list only topics that the principal may describe. False: no list. */
static bool list_topics(struct asker *a)
{
    const struct rd_kafka_metadata *metadata;
    int64_t begun_ms = clock_mono_ms();
    if (rd_kafka_metadata(a->rk, 1, NULL, &metadata, LIST_MS) != 0)
        return false;
    bool kept = keep_names(a, metadata);
    rd_kafka_metadata_destroy(metadata);
    a->listed_ms = clock_mono_ms();
    a->took_ms = a->listed_ms - begun_ms;
    return kept;
}

static enum lookup answer(struct asker *a)
{
    a->partitions_n = 0;
    if (!is_listed(a, a->topic) && !list_topics(a))
        return LOOKUP_UNKNOWN;
    return is_listed(a, a->topic) ? look_up(a) : LOOKUP_MISSING;
}

static void ask(void *arg)
{
    struct asker *a = arg;
    a->found = answer(a);
    a->answered_ms = clock_mono_ms();
}

struct asker *asker_new(struct wakeup *wakeup)
{
    struct asker *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->blocking_call = blocking_call_new(wakeup);
    if (a->blocking_call != NULL)
        return a;
    free(a);
    return NULL;
}

bool asker_free(struct asker *a)
{
    if (!blocking_call_free(a->blocking_call, SETTLE_MS))
        return false;
    free_names(a);
    free(a->partitions);
    free(a);
    return true;
}

static bool is_answered(const struct asker *a, const char *topic)
{
    return strcmp(a->topic, topic) == 0 && clock_mono_ms() - a->answered_ms <= FRESH_MS;
}

static void begin(struct asker *a, rd_kafka_t *rk, const char *topic)
{
    snprintf(a->topic, sizeof a->topic, "%s", topic);
    a->rk = rk;
    a->asked = true;
    blocking_call_begin(a->blocking_call, ask, a);
}

enum lookup asker_ask(struct asker *a, rd_kafka_t *rk, const char *topic)
{
    if (!blocking_call_is_over(a->blocking_call))
        return LOOKUP_PENDING;
    if (a->asked && is_answered(a, topic)) {
        a->asked = false;
        return a->found;
    }
    if (list_is_fresh(a) && !is_listed(a, topic))
        return LOOKUP_MISSING;
    begin(a, rk, topic);
    return LOOKUP_PENDING;
}

enum lookup asker_ask_partition(struct asker *a, rd_kafka_t *rk, const char *topic, int partition)
{
    if (!blocking_call_is_over(a->blocking_call))
        return LOOKUP_PENDING;
    if (!is_answered(a, topic)) {
        begin(a, rk, topic);
        return LOOKUP_PENDING;
    }
    return partition < a->partitions_n ? a->partitions[partition] : a->found;
}

bool asker_settle(struct asker *a)
{
    return blocking_call_wait(a->blocking_call, SETTLE_MS);
}
