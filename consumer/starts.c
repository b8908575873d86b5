/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that start without an offset or without a topic. */
#include "consumer/starts.h"

#include "consumer/client/log_ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_ASK_MS = 2000 };

/* Counts lanes that lost offsets. In both lists the partitions of a lane follow one another. A
   level that lost its offset is read from the beginning of its log, so the loss matters if the log
   has records. If the schedule topic has lost its offset too, old requests are read again. Then any
   level that has ever had a record proves the loss. */
static int count_lost(const rd_kafka_topic_partition_list_t *lows,
                      const rd_kafka_topic_partition_list_t *ends)
{
    int n = 0, last = -1;
    for (int i = 0; i < ends->cnt; i++) {
        const rd_kafka_topic_partition_t *end = &ends->elems[i];
        bool lane_unset = end->opaque != NULL; /* no offset of the schedule topic either */
        if (end->offset <= (lane_unset ? 0 : lows->elems[i].offset) || end->partition == last)
            continue;
        last = end->partition;
        n++;
    }
    return n;
}

/* Lists all topics: a request by name could create the topic. */
int starts_topics_exist(rd_kafka_t *rk, const char *const *topics, int n, int timeout_ms,
                        int *partitions)
{
    const rd_kafka_metadata_t *metadata;
    if (rd_kafka_metadata(rk, 1, NULL, &metadata, timeout_ms) != 0)
        return ERR_KAFKA;
    for (int i = 0; i < n; i++) {
        partitions[i] = 0;
        for (int j = 0; j < metadata->topic_cnt; j++) {
            const rd_kafka_metadata_topic_t *topic = &metadata->topics[j];
            if (strcmp(topic->topic, topics[i]) == 0)
                partitions[i] = topic->partition_cnt;
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

static bool any_unset(int slots, int n, const struct start *starts)
{
    for (int i = 0; i < n * slots; i++) {
        if (i % slots != SLOT_SCHEDULE && starts[i].offset == WINDOW_UNSET)
            return true;
    }
    return false;
}

int starts_find_missing(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes,
                        int n, struct start *starts)
{
    if (!any_unset(slots, n, starts))
        return 0;
    int *partitions = calloc((size_t)slots, sizeof *partitions);
    int err = partitions == NULL ? ERR_NO_MEMORY
                                 : starts_topics_exist(rk, topics, slots, LOST_ASK_MS, partitions);
    for (int i = 0; err == 0 && i < n * slots; i++) {
        int slot = i % slots;
        starts[i].missing = slot != SLOT_SCHEDULE && starts[i].offset == WINDOW_UNSET &&
                            partitions[slot] <= lanes[i / slots];
    }
    free(partitions);
    return err;
}

int starts_lost(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes, int n,
                const struct start *starts)
{
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(slots);
    for (int i = 0; i < n; i++) {
        const struct start *lane = starts + i * slots;
        bool unset = lane[SLOT_SCHEDULE].offset == WINDOW_UNSET;
        for (int slot = 1; slot < slots; slot++)
            if (!lane[slot].missing && (unset || lane[slot].offset == WINDOW_UNSET))
                rd_kafka_topic_partition_list_add(ends, topics[slot], lanes[i])->opaque =
                    unset ? ends : NULL;
    }
    rd_kafka_topic_partition_list_t *lows = rd_kafka_topic_partition_list_copy(ends);
    bool asked = log_ends_await(rk, lows, LOG_BEGINNING, LOST_ASK_MS) == 0 &&
                 log_ends_await(rk, ends, LOG_END, LOST_ASK_MS) == 0;
    int lost = asked ? count_lost(lows, ends) : -1;
    rd_kafka_topic_partition_list_destroy(ends);
    rd_kafka_topic_partition_list_destroy(lows);
    return lost;
}
