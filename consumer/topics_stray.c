/* SPDX-License-Identifier: Apache-2.0 */
/* What still waits in a topic that is no level any more. */
#include "bridge/memory.h"
#include "consumer/browse.h"
#include "consumer/client.h"
#include "consumer/offsets.h"
#include "consumer/topics_survey.h"

#include <stdlib.h>

/* Ask for the first or the next offsets; false with the reason in admin. */
static bool ask_offsets(struct admin *admin, rd_kafka_topic_partition_list_t *list, int64_t which)
{
    admin->code = offsets_ask(admin->rk, list, which, admin->timeout_ms);
    for (int i = 0; admin->code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
        admin->code = list->elems[i].err;
    return admin->code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Raise the offsets in from to what the group has committed: below it all is done. Not beyond the
   end, for then the topic is another than it was. If it cannot be asked, all may still wait. */
static void skip_committed(struct admin *admin, const char *group,
                           rd_kafka_topic_partition_list_t *from,
                           const rd_kafka_topic_partition_list_t *ends)
{
    size_t n;
    rd_kafka_event_t *event = admin_committed(admin, group, from);
    if (event == NULL)
        return;
    const rd_kafka_group_result_t **groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event), &n);
    const rd_kafka_topic_partition_list_t *told =
        n == 1 ? rd_kafka_group_result_partitions(groups[0]) : NULL;
    for (int i = 0; told != NULL && told->cnt == from->cnt && i < told->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &told->elems[i];
        rd_kafka_topic_partition_t *mark = &from->elems[i]; /* in the order asked */
        if (at->partition == mark->partition && at->offset > mark->offset &&
            at->offset <= ends->elems[i].offset)
            mark->offset = at->offset;
    }
    rd_kafka_event_destroy(event);
}

static int64_t sum_between(const rd_kafka_topic_partition_list_t *from,
                           const rd_kafka_topic_partition_list_t *ends)
{
    int64_t sum = 0;
    for (int i = 0; i < from->cnt; i++)
        if (ends->elems[i].offset > from->elems[i].offset)
            sum += ends->elems[i].offset - from->elems[i].offset;
    return sum;
}

static rd_kafka_t *reader(const struct admin *admin, const struct config *config)
{
    char error[CLIENT_ERROR_MAX];
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    if (conf == NULL)
        return NULL;
    offsets_conf(config, conf);
    rd_kafka_t *rk = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (rk == NULL || client_reach(rk, admin->timeout_ms, error) == 0)
        return rk;
    rd_kafka_destroy(rk);
    return NULL;
}

/* The entries of from that have offsets before their end, each with its number. */
static rd_kafka_topic_partition_list_t *list_unread(const rd_kafka_topic_partition_list_t *from,
                                                    const rd_kafka_topic_partition_list_t *ends)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(from->cnt);
    for (int i = 0; i < from->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &from->elems[i];
        if (ends->elems[i].offset <= at->offset)
            continue;
        rd_kafka_topic_partition_t *unread =
            rd_kafka_topic_partition_list_add(list, at->topic, at->partition);
        unread->offset = at->offset;
        unread->opaque = (void *)(intptr_t)i;
    }
    return list;
}

static bool note_record(void *found, intptr_t i, const rd_kafka_message_t *message)
{
    (void)message;
    ((bool *)found)[i] = true;
    return false;
}

/* Ends of transactions take offsets, and what was given up in them: only a look tells them from
   records. Where it finds none, from is raised to the end; where it cannot look, records may be. */
static void skip_empty(const struct admin *admin, const struct config *config,
                       rd_kafka_topic_partition_list_t *from,
                       const rd_kafka_topic_partition_list_t *ends)
{
    char error[OFFSETS_ERROR_MAX];
    rd_kafka_t *rk = reader(admin, config);
    bool *found = memory_or_end(calloc((size_t)from->cnt, sizeof *found));
    rd_kafka_topic_partition_list_t *unread = list_unread(from, ends);
    struct browse browse = {rk, admin->timeout_ms, note_record, found};
    bool looked = rk != NULL && browse_read(&browse, unread, error, sizeof error) == 0;
    for (int i = 0; looked && i < from->cnt; i++)
        if (!found[i] && from->elems[i].offset < ends->elems[i].offset)
            from->elems[i].offset = ends->elems[i].offset;
    rd_kafka_topic_partition_list_destroy(unread);
    free(found);
    if (rk != NULL)
        rd_kafka_destroy(rk);
}

int64_t stray_waiting(struct admin *admin, const struct config *config,
                      const struct topic_seen *topic)
{
    rd_kafka_topic_partition_list_t *from = rd_kafka_topic_partition_list_new(topic->partitions);
    rd_kafka_topic_partition_list_add_range(from, topic->name, 0, topic->partitions - 1);
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_copy(from);
    int64_t waiting = -1;
    if (ask_offsets(admin, from, OFFSETS_LOW) && ask_offsets(admin, ends, OFFSETS_END))
        waiting = sum_between(from, ends);
    if (waiting > 0) {
        skip_committed(admin, config->group, from, ends);
        waiting = sum_between(from, ends);
    }
    if (waiting > 0) {
        skip_empty(admin, config, from, ends);
        waiting = sum_between(from, ends);
    }
    rd_kafka_topic_partition_list_destroy(from);
    rd_kafka_topic_partition_list_destroy(ends);
    return waiting;
}
