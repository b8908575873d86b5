/* SPDX-License-Identifier: Apache-2.0 */
/* Pulses by broker. */
#include "consumer/pulse.h"

#include "bridge/base/log.h"
#include "consumer/client/log_ends.h"

#include <stdlib.h>
#include <string.h>

enum { PULSES_MAX = 64, KICK_MS = 100 };

struct pulse {
    const char *topic;
    int partitions[PULSES_MAX];
    int64_t starts[PULSES_MAX];
    int n;
    bool resting;
};

struct pulse *pulse_new(const char *topic)
{
    struct pulse *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (struct pulse){.topic = topic};
    return p;
}

void pulse_free(struct pulse *pulse)
{
    free(pulse);
}

/* The lowest partition of each leader. */
static int choose(const rd_kafka_metadata_topic_t *topic, int chosen[PULSES_MAX])
{
    int32_t leaders[PULSES_MAX];
    int n = 0;
    for (int i = 0; i < topic->partition_cnt && n < PULSES_MAX; i++) {
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

bool pulse_choose(struct pulse *p, rd_kafka_t *ask, int timeout_ms)
{
    rd_kafka_topic_t *topic = rd_kafka_topic_new(ask, p->topic, NULL);
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t err = rd_kafka_metadata(ask, 0, topic, &metadata, timeout_ms);
    rd_kafka_topic_destroy(topic);
    if (err != 0)
        return false;
    int chosen[PULSES_MAX];
    int n = metadata->topic_cnt == 1 ? choose(&metadata->topics[0], chosen) : 0;
    rd_kafka_metadata_destroy(metadata);
    if (n == 0 || (n == p->n && memcmp(chosen, p->partitions, (size_t)n * sizeof *chosen) == 0))
        return false;
    memcpy(p->partitions, chosen, (size_t)n * sizeof *chosen);
    for (int i = 0; i < n; i++)
        p->starts[i] = RD_KAFKA_OFFSET_BEGINNING;
    p->n = n;
    return true;
}

bool pulse_is_chosen(const struct pulse *p)
{
    return p->n > 0;
}

void pulse_add(const struct pulse *p, rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < p->n; i++)
        rd_kafka_topic_partition_list_add(list, p->topic, p->partitions[i])->offset = p->starts[i];
}

static void log_failure(rd_kafka_error_t *error)
{
    if (error == NULL)
        return;
    log_warn("cannot move a pulse", "error=%s", rd_kafka_error_name(error));
    rd_kafka_error_destroy(error);
}

void pulse_move(const struct pulse *p, rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *all;
    if (rd_kafka_assignment(rk, &all) != 0)
        return;
    rd_kafka_topic_partition_list_t *old = rd_kafka_topic_partition_list_new(p->n);
    for (int i = 0; i < all->cnt; i++) {
        if (strcmp(all->elems[i].topic, p->topic) == 0)
            rd_kafka_topic_partition_list_add(old, p->topic, all->elems[i].partition);
    }
    rd_kafka_topic_partition_list_t *new = rd_kafka_topic_partition_list_new(p->n);
    pulse_add(p, new);
    if (old->cnt > 0)
        log_failure(rd_kafka_incremental_unassign(rk, old));
    log_failure(rd_kafka_incremental_assign(rk, new));
    rd_kafka_topic_partition_list_destroy(old);
    rd_kafka_topic_partition_list_destroy(new);
    rd_kafka_topic_partition_list_destroy(all);
}

static rd_kafka_topic_partition_list_t *chosen_list(const struct pulse *p)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(p->n);
    pulse_add(p, list);
    return list;
}

void pulse_rest(struct pulse *p, rd_kafka_t *rk)
{
    if (p->resting || p->n == 0)
        return;
    rd_kafka_topic_partition_list_t *list = chosen_list(p);
    rd_kafka_pause_partitions(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    p->resting = true;
}

void pulse_beat(struct pulse *p, rd_kafka_t *rk)
{
    if (!p->resting)
        return;
    rd_kafka_topic_partition_list_t *list = chosen_list(p);
    rd_kafka_resume_partitions(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    p->resting = false;
}

/* The client's own call for one partition waits as long as a silent broker is given, and thrice. */
void pulse_kick(struct pulse *p, rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list = chosen_list(p);
    bool answered = log_ends_ask(rk, list, LOG_END, KICK_MS) == 0;
    for (int i = 0; i < p->n; i++) {
        const rd_kafka_topic_partition_t *at = &list->elems[i];
        bool known = answered && at->err == 0 && at->offset >= 0;
        p->starts[i] = known ? at->offset : RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_topic_partition_list_destroy(list);
}
