/* SPDX-License-Identifier: Apache-2.0 */
/* ListOffsets for many partitions at once. */
#include "consumer/client/log_ends.h"

#include "bridge/base/clock.h"

#include <assert.h>
#include <poll.h>
#include <stdbool.h>

enum { ELECT_MS = 100 };

/* Passes LOG_BEGINNING or LOG_END as a timestamp, which ListOffsets accepts. The client has a call
   for this, but for one partition only, and a hundred times slower. */
rd_kafka_resp_err_t log_ends_ask(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                 int64_t which, int timeout_ms)
{
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = which;
    return list->cnt == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR
                          : rd_kafka_offsets_for_times(rk, list, timeout_ms);
}

int log_ends_of(rd_kafka_t *rk, const char *topic, int partition, int64_t *low, int64_t *end,
                int timeout_ms)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    const rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(one, topic, partition);
    bool known = log_ends_ask(rk, one, LOG_BEGINNING, timeout_ms / 2) == 0 && at->err == 0;
    *low = at->offset;
    known = known && log_ends_ask(rk, one, LOG_END, timeout_ms / 2) == 0 && at->err == 0;
    *end = at->offset;
    rd_kafka_topic_partition_list_destroy(one);
    return known && 0 <= *low && *low <= *end ? 0 : ERR_KAFKA;
}

static bool is_electing(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION; /* if no partition has a leader */
}

static int left_ms(int64_t until_mono_ms)
{
    int64_t left = until_mono_ms - clock_mono_ms();
    return left > 0 ? (int)left : 0;
}

/* After an error the client looks up the leaders of those topics only for which the handle has an
   object. A handle without one would ask the old leader until its metadata expires. Lists all
   topics: a request by name could create the topic. */
static void find_leaders(rd_kafka_t *rk, int timeout_ms)
{
    const rd_kafka_metadata_t *all;
    if (rd_kafka_metadata(rk, 1, NULL, &all, timeout_ms) == 0)
        rd_kafka_metadata_destroy(all);
}

rd_kafka_resp_err_t log_ends_await(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                   int64_t which, int timeout_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + timeout_ms;
    for (;;) {
        rd_kafka_resp_err_t err = log_ends_ask(rk, list, which, left_ms(until_mono_ms));
        for (int i = 0; err == 0 && i < list->cnt; i++)
            err = list->elems[i].err;
        if (!is_electing(err) || clock_mono_ms() + ELECT_MS >= until_mono_ms)
            return err;
        poll(NULL, 0, ELECT_MS);
        find_leaders(rk, left_ms(until_mono_ms));
    }
}
