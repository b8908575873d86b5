/* SPDX-License-Identifier: Apache-2.0 */
/* The records that wait in a level topic that is no longer configured. */
#include "bridge/base/memory.h"
#include "consumer/admin/browse.h"
#include "consumer/admin/committed.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/client.h"
#include "consumer/client/log_ends.h"

#include <stdlib.h>

/* Requests the beginnings or the ends of the logs. Returns false with the reason in admin. */
static bool ask_offsets(struct admin *admin, rd_kafka_topic_partition_list_t *list, int64_t which)
{
    admin->code = log_ends_await(admin->rk, list, which, admin->timeout_ms);
    return admin->code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Raises the offsets in from to the committed ones, below which all records are done. A committed
   offset beyond the end is ignored, because the topic was recreated. Without an answer all records
   count. reader must be a consumer: another client that requests offsets crashes when the
   coordinator moves. */
static void skip_committed(const struct admin *admin, rd_kafka_t *reader,
                           rd_kafka_topic_partition_list_t *from,
                           const rd_kafka_topic_partition_list_t *ends)
{
    rd_kafka_topic_partition_list_t *committed = rd_kafka_topic_partition_list_copy(from);
    bool answered = reader != NULL && committed_read(reader, committed, admin->timeout_ms) == 0;
    for (int i = 0; answered && i < committed->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &committed->elems[i];
        rd_kafka_topic_partition_t *mark = &from->elems[i];
        if (at->offset > mark->offset && at->offset <= ends->elems[i].offset)
            mark->offset = at->offset;
    }
    rd_kafka_topic_partition_list_destroy(committed);
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

rd_kafka_t *stray_reader(const struct admin *admin, const struct config *config)
{
    struct error error;
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, &error);
    if (conf == NULL)
        return NULL;
    offsets_conf(config, conf);
    rd_kafka_t *rk = client_new(RD_KAFKA_CONSUMER, conf, &error);
    if (rk == NULL || client_reach(rk, admin->timeout_ms, &error) == 0)
        return rk;
    rd_kafka_destroy(rk);
    return NULL;
}

struct look {
    rd_kafka_topic_partition_list_t *from, *ends;
    bool *found;
};

static bool see_record(void *ctx, intptr_t i, const rd_kafka_message_t *message)
{
    (void)message;
    ((struct look *)ctx)->found[i] = true;
    return false;
}

static void see_end(void *ctx, intptr_t i, int64_t offset)
{
    struct look *look = ctx;
    if (!look->found[i] && offset > look->from->elems[i].offset)
        look->from->elems[i].offset = offset;
}

/* Reads a record of each partition. Markers of transactions and aborted records have offsets too,
   so offsets alone do not prove that records wait. Raises from to the end where it found no record.

   The records of an open transaction, and those behind it, cannot be read yet, but the high
   watermark includes them. Returns false with the reason in admin if the result is unknown. */
static bool find_records(struct admin *admin, rd_kafka_t *rk, struct look *look)
{
    struct error error;
    struct browse browse = {.rk = rk,
                            .timeout_ms = admin->timeout_ms,
                            .each = see_record,
                            .ended = see_end,
                            .ctx = look,
                            .code = RD_KAFKA_RESP_ERR__TIMED_OUT};
    for (int i = 0; i < look->from->cnt; i++)
        look->from->elems[i].opaque = (void *)(intptr_t)i;
    bool looked = rk != NULL && browse_read(&browse, look->from, &error) == 0;
    for (int i = 0; looked && i < look->from->cnt; i++) {
        int64_t low, high = -1;
        rd_kafka_topic_partition_t *end = &look->ends->elems[i];
        looked = rd_kafka_get_watermark_offsets(rk, end->topic, end->partition, &low, &high) == 0 &&
                 high >= 0;
        if (looked && high > end->offset)
            end->offset = high;
    }
    if (!looked)
        admin->code = browse.code;
    return looked;
}

/* Returns how many offsets wait. Returns -1 if brokers did not answer, or if the count is 0 and the
   partitions could not be read. */
static int64_t count_waiting(struct admin *admin, rd_kafka_t *reader, struct look *look)
{
    if (!ask_offsets(admin, look->from, LOG_BEGINNING) || !ask_offsets(admin, look->ends, LOG_END))
        return -1;
    skip_committed(admin, reader, look->from, look->ends);
    bool looked = find_records(admin, reader, look);
    int64_t waiting = sum_between(look->from, look->ends);
    return looked || waiting > 0 ? waiting : -1;
}

int64_t stray_waiting(struct admin *admin, rd_kafka_t *reader, const struct topic_seen *topic)
{
    if (topic->partitions == 0) {
        admin->code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        return -1;
    }
    struct look look = {.from = rd_kafka_topic_partition_list_new(topic->partitions)};
    rd_kafka_topic_partition_list_add_range(look.from, topic->name, 0, topic->partitions - 1);
    look.ends = rd_kafka_topic_partition_list_copy(look.from);
    look.found = memory_or_end(calloc((size_t)topic->partitions, sizeof *look.found));
    int64_t waiting = count_waiting(admin, reader, &look);
    free(look.found);
    rd_kafka_topic_partition_list_destroy(look.from);
    rd_kafka_topic_partition_list_destroy(look.ends);
    return waiting;
}
