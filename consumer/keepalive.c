/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of partitions, by leader, and their start offsets. */
#include "consumer/keepalive.h"

#include "bridge/base/log.h"
#include "consumer/client/log_ends.h"

#include <stdlib.h>
#include <string.h>

enum { PARTITIONS_MAX = 64, WAKE_MS = 100 };

struct keepalive {
    const char *topic;
    int partitions[PARTITIONS_MAX];
    int64_t starts[PARTITIONS_MAX]; /* log ends of the last answer; BEGINNING: not known */
    int n;
    bool paused;
};

struct keepalive *keepalive_new(const char *topic)
{
    struct keepalive *k = calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    *k = (struct keepalive){.topic = topic};
    return k;
}

void keepalive_free(struct keepalive *keepalive)
{
    free(keepalive);
}

/* Chooses the lowest partition of each leader. Returns how many. */
static int choose(const rd_kafka_metadata_topic_t *topic, int chosen[PARTITIONS_MAX])
{
    int32_t leaders[PARTITIONS_MAX];
    int n = 0;
    for (int i = 0; i < topic->partition_cnt && n < PARTITIONS_MAX; i++) {
        int32_t leader = topic->partitions[i].leader;
        bool known = leader < 0;
        for (int j = 0; j < n; j++)
            known |= leaders[j] == leader;
        if (known)
            continue;
        leaders[n] = leader;
        chosen[n++] = topic->partitions[i].id;
    }
    return n;
}

bool keepalive_choose(struct keepalive *k, rd_kafka_t *ask, int timeout_ms)
{
    rd_kafka_topic_t *topic = rd_kafka_topic_new(ask, k->topic, NULL);
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t err = rd_kafka_metadata(ask, 0, topic, &metadata, timeout_ms);
    rd_kafka_topic_destroy(topic);
    if (err != 0)
        return false;
    int chosen[PARTITIONS_MAX];
    int n = metadata->topic_cnt == 1 ? choose(&metadata->topics[0], chosen) : 0;
    rd_kafka_metadata_destroy(metadata);
    if (n == 0 || (n == k->n && memcmp(chosen, k->partitions, (size_t)n * sizeof *chosen) == 0))
        return false;
    memcpy(k->partitions, chosen, (size_t)n * sizeof *chosen);
    for (int i = 0; i < n; i++)
        k->starts[i] = RD_KAFKA_OFFSET_BEGINNING;
    k->n = n;
    return true;
}

bool keepalive_is_chosen(const struct keepalive *k)
{
    return k->n > 0;
}

void keepalive_add(const struct keepalive *k, rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < k->n; i++)
        rd_kafka_topic_partition_list_add(list, k->topic, k->partitions[i])->offset = k->starts[i];
}

static void log_failure(rd_kafka_error_t *error)
{
    if (error == NULL)
        return;
    log_warn(
        "cannot assign keep-alive partitions, drained partitions may stall for a second: restart "
        "this process if this repeats",
        F_TEXT("error", rd_kafka_error_name(error)));
    rd_kafka_error_destroy(error);
}

void keepalive_move(const struct keepalive *k, rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *all;
    if (rd_kafka_assignment(rk, &all) != 0)
        return;
    rd_kafka_topic_partition_list_t *old = rd_kafka_topic_partition_list_new(k->n);
    for (int i = 0; i < all->cnt; i++) {
        if (strcmp(all->elems[i].topic, k->topic) == 0)
            rd_kafka_topic_partition_list_add(old, k->topic, all->elems[i].partition);
    }
    rd_kafka_topic_partition_list_t *new = rd_kafka_topic_partition_list_new(k->n);
    keepalive_add(k, new);
    if (old->cnt > 0)
        log_failure(rd_kafka_incremental_unassign(rk, old));
    log_failure(rd_kafka_incremental_assign(rk, new));
    rd_kafka_topic_partition_list_destroy(old);
    rd_kafka_topic_partition_list_destroy(new);
    rd_kafka_topic_partition_list_destroy(all);
}

static rd_kafka_topic_partition_list_t *chosen_list(const struct keepalive *k)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(k->n);
    keepalive_add(k, list);
    return list;
}

void keepalive_pause(struct keepalive *k, rd_kafka_t *rk)
{
    if (k->paused || k->n == 0)
        return;
    rd_kafka_topic_partition_list_t *list = chosen_list(k);
    rd_kafka_pause_partitions(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    k->paused = true;
}

void keepalive_resume(struct keepalive *k, rd_kafka_t *rk)
{
    if (!k->paused)
        return;
    rd_kafka_topic_partition_list_t *list = chosen_list(k);
    rd_kafka_resume_partitions(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    k->paused = false;
}

/* Requests all log ends in one call, since rd_kafka_query_watermark_offsets exceeds its timeout
   while a broker is silent. */
void keepalive_wake(struct keepalive *k, rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list = chosen_list(k);
    bool answered = log_ends_ask(rk, list, LOG_END, WAKE_MS) == 0;
    for (int i = 0; i < k->n; i++) {
        const rd_kafka_topic_partition_t *at = &list->elems[i];
        bool known = answered && at->err == 0 && at->offset >= 0;
        k->starts[i] = known ? at->offset : RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_topic_partition_list_destroy(list);
}
