/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all topics, the metadata of one topic, and the verdict on its partitions. */
#include "consumer/topic_lookup.h"

#include "bridge/base/clock.h"
#include "consumer/blocking_call.h"
#include "consumer/insync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASK_MS = 500,
    LIST_MS = 2000,
    LIST_EVERY_MS = 500, /* a list is used for at least this long, */
    LIST_SHARE = 20,     /* and for at least LIST_SHARE times the duration of its request */
    FRESH_MS = 1000,     /* an answer about one topic is used for this long */
    SETTLE_MS = 1000
};

struct topic_lookup {
    struct blocking_call *blocking_call;
    bool answer_pending; /* a lookup was started, and its answer was not returned yet */
    rd_kafka_t *rk;
    char topic[TOPIC_NAME_MAX + 1]; /* this and the next five members belong to the last lookup */
    enum lookup found;
    bool is_denied;          /* MISSING: the principal may not describe it */
    enum lookup *partitions; /* by partition */
    int partitions_n;
    int64_t answered_mono_ms;

    bool asks_rights;
    char **names; /* of all topics in the last list, sorted */
    int names_n;
    int64_t listed_mono_ms; /* 0: never */
    int64_t list_took_ms;   /* duration of the last list's request */
};

/* insync_least: min.insync.replicas of the topic; 0: not known. */
static enum lookup judge_partition(const struct rd_kafka_metadata_partition *p, int insync_least)
{
    if (p->leader < 0 || p->isr_cnt < insync_least)
        return LOOKUP_UNWRITABLE;
    return p->isr_cnt < (p->replica_cnt < 2 ? p->replica_cnt : 2) ? LOOKUP_FOUND : LOOKUP_WHOLE;
}

/* Returns min.insync.replicas; 0: not known. Requests it only if it matters: a partition has a
   leader, and replicas that are not in sync. */
static int least_in_sync(struct topic_lookup *l, const struct rd_kafka_metadata_topic *topic)
{
    for (int i = 0; i < topic->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *p = &topic->partitions[i];
        if (p->leader >= 0 && p->isr_cnt < p->replica_cnt)
            return insync_least(l->rk, l->topic, ASK_MS);
    }
    return 0;
}

/* Returns the worst state of the partitions, and keeps the state of each. */
static enum lookup judge_partitions(struct topic_lookup *l,
                                    const struct rd_kafka_metadata_topic *topic)
{
    enum lookup worst = topic->partition_cnt > 0 ? LOOKUP_WHOLE : LOOKUP_FOUND;
    int least = least_in_sync(l, topic);
    free(l->partitions);
    l->partitions = calloc((size_t)topic->partition_cnt + 1, sizeof *l->partitions);
    l->partitions_n = l->partitions == NULL ? 0 : topic->partition_cnt;
    for (int i = 0; i < topic->partition_cnt; i++) {
        enum lookup found = judge_partition(&topic->partitions[i], least);
        int id = topic->partitions[i].id;
        if (id >= 0 && id < l->partitions_n)
            l->partitions[id] = found;
        if (found == LOOKUP_UNWRITABLE || (found == LOOKUP_FOUND && worst == LOOKUP_WHOLE))
            worst = found;
    }
    return worst;
}

static enum lookup judge(struct topic_lookup *l, const struct rd_kafka_metadata_topic *topic)
{
    switch ((int)topic->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return judge_partitions(l, topic);
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
        return LOOKUP_UNWRITABLE;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        l->is_denied = true;
        return LOOKUP_MISSING;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return LOOKUP_MISSING;
    default:
        return LOOKUP_UNKNOWN;
    }
}

/* Requests the metadata of a topic, which must be in the list. The client would keep the name of a
   missing topic until its handle is destroyed, and request it again each second. */
static enum lookup look_up(struct topic_lookup *l)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(l->rk, l->topic, NULL);
    rd_kafka_resp_err_t err = rd_kafka_metadata(l->rk, 0, topic, &metadata, ASK_MS);
    rd_kafka_topic_destroy(topic);
    if (err != 0)
        return LOOKUP_UNKNOWN;
    enum lookup found = metadata->topic_cnt == 1 ? judge(l, &metadata->topics[0]) : LOOKUP_MISSING;
    rd_kafka_metadata_destroy(metadata);
    return found;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_listed(const struct topic_lookup *l, const char *topic)
{
    return l->names_n > 0 &&
           bsearch(&topic, l->names, (size_t)l->names_n, sizeof topic, compare_names) != NULL;
}

static bool list_is_fresh(const struct topic_lookup *l)
{
    int64_t every_ms = l->list_took_ms * LIST_SHARE;
    if (every_ms < LIST_EVERY_MS)
        every_ms = LIST_EVERY_MS;
    return l->listed_mono_ms != 0 && clock_mono_ms() - l->listed_mono_ms < every_ms;
}

static void free_names(struct topic_lookup *l)
{
    for (int i = 0; i < l->names_n; i++)
        free(l->names[i]);
    free(l->names);
    l->names = NULL;
    l->names_n = 0;
}

/* Returns false if memory is lacking. */
static bool keep_names(struct topic_lookup *l, const struct rd_kafka_metadata *metadata)
{
    free_names(l);
    l->names = calloc((size_t)metadata->topic_cnt + 1, sizeof *l->names);
    for (int i = 0; l->names != NULL && i < metadata->topic_cnt; i++) {
        char *name = strdup(metadata->topics[i].topic);
        if (name == NULL)
            return false;
        l->names[l->names_n++] = name;
    }
    if (l->names == NULL)
        return false;
    qsort(l->names, (size_t)l->names_n, sizeof *l->names, compare_names);
    return true;
}

/* Lists the topics that the principal may describe. Returns false without a list. */
static bool list_topics(struct topic_lookup *l)
{
    const struct rd_kafka_metadata *metadata;
    int64_t begun_mono_ms = clock_mono_ms();
    if (rd_kafka_metadata(l->rk, 1, NULL, &metadata, LIST_MS) != 0)
        return false;
    bool kept = keep_names(l, metadata);
    rd_kafka_metadata_destroy(metadata);
    l->listed_mono_ms = clock_mono_ms();
    l->list_took_ms = l->listed_mono_ms - begun_mono_ms;
    return kept;
}

/* A topic that the principal may not describe is in no list. A query for an offset is refused for
   such a topic, and the client does not keep its name. */
static enum lookup missing_or_denied(struct topic_lookup *l)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *partition = rd_kafka_topic_partition_list_add(one, l->topic, 0);
    rd_kafka_resp_err_t err = rd_kafka_committed(l->rk, one, LIST_MS);
    if (err == 0)
        err = partition->err;
    rd_kafka_topic_partition_list_destroy(one);
    l->is_denied = err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    bool is_known = l->is_denied || err == 0 || err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    return is_known ? LOOKUP_MISSING : LOOKUP_UNKNOWN;
}

static enum lookup answer(struct topic_lookup *l)
{
    l->partitions_n = 0;
    l->is_denied = false;
    if (!is_listed(l, l->topic) && !list_topics(l))
        return LOOKUP_UNKNOWN;
    if (is_listed(l, l->topic))
        return look_up(l);
    return l->asks_rights ? missing_or_denied(l) : LOOKUP_MISSING;
}

static void ask(void *arg)
{
    struct topic_lookup *l = arg;
    l->found = answer(l);
    l->answered_mono_ms = clock_mono_ms();
}

struct topic_lookup *topic_lookup_new(struct wakeup *wakeup)
{
    struct topic_lookup *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->blocking_call = blocking_call_new(wakeup);
    if (l->blocking_call != NULL)
        return l;
    free(l);
    return NULL;
}

bool topic_lookup_free(struct topic_lookup *l)
{
    if (!blocking_call_free(l->blocking_call, SETTLE_MS))
        return false;
    free_names(l);
    free(l->partitions);
    free(l);
    return true;
}

static bool is_answered(const struct topic_lookup *l, const char *topic)
{
    return strcmp(l->topic, topic) == 0 && clock_mono_ms() - l->answered_mono_ms <= FRESH_MS;
}

static void begin(struct topic_lookup *l, rd_kafka_t *rk, const char *topic)
{
    snprintf(l->topic, sizeof l->topic, "%s", topic);
    l->rk = rk;
    l->answer_pending = true;
    blocking_call_begin(l->blocking_call, ask, l);
}

enum lookup topic_lookup_get(struct topic_lookup *l, rd_kafka_t *rk, const char *topic)
{
    if (!blocking_call_is_over(l->blocking_call))
        return LOOKUP_PENDING;
    if (l->answer_pending && is_answered(l, topic)) {
        l->answer_pending = false;
        return l->found;
    }
    if (!l->asks_rights && list_is_fresh(l) && !is_listed(l, topic))
        return LOOKUP_MISSING;
    begin(l, rk, topic);
    return LOOKUP_PENDING;
}

enum lookup topic_lookup_get_partition(struct topic_lookup *l, rd_kafka_t *rk, const char *topic,
                                       int partition)
{
    if (!blocking_call_is_over(l->blocking_call))
        return LOOKUP_PENDING;
    if (!is_answered(l, topic)) {
        begin(l, rk, topic);
        return LOOKUP_PENDING;
    }
    if (l->partitions_n == 0)
        return l->found;
    return partition < l->partitions_n ? l->partitions[partition] : LOOKUP_UNWRITABLE;
}

void topic_lookup_ask_rights(struct topic_lookup *l)
{
    l->asks_rights = true;
}

bool topic_lookup_is_denied(const struct topic_lookup *l)
{
    return l->is_denied;
}

bool topic_lookup_settle(struct topic_lookup *l)
{
    return blocking_call_wait(l->blocking_call, SETTLE_MS);
}
