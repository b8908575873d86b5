/* SPDX-License-Identifier: Apache-2.0 */
/* trim: deletes records from the level topics that are done and whose offsets are committed.
   Deletion may fail, and no record waits for it. Without a call of trimmed, the caller adds the
   deletion again later. */
#ifndef DELAYBRIDGE_CONSUMER_TRIM_H
#define DELAYBRIDGE_CONSUMER_TRIM_H

#include "consumer/wakeup.h"

#include <stdbool.h>

struct trim {
    rd_kafka_t *rk; /* borrowed; NULL: not open */
    rd_kafka_queue_t *answers;
    rd_kafka_topic_partition_list_t *list; /* deletions of the next request */
    int in_flight;                         /* requests without an answer */
    bool failed;                           /* the last request failed; a failure is logged once */
    /* Called from trim_serve for each partition whose log now begins at low. */
    void (*trimmed)(void *ctx, const char *topic, int partition, int64_t low);
    void *ctx;
};

/* Opens trim on rk. Keeps trimmed and ctx, which the caller has set. */
void trim_open(struct trim *trim, rd_kafka_t *rk, struct wakeup *wakeup);
void trim_close(struct trim *trim); /* call before rk is destroyed; may be closed already */

/* Deletes the partition's records below offset with the next trim_serve. */
void trim_add(struct trim *trim, const char *topic, int partition, int64_t offset);

/* Sends the added deletions in one request. Handles answers to earlier requests, and logs failures.
 */
void trim_serve(struct trim *trim);

#endif
