/* SPDX-License-Identifier: Apache-2.0 */
/* trim: deletes from the level topics what is done and committed. Nobody waits for it, and it may
   fail: trimmed is not called then, and the caller asks again. */
#ifndef DELAYBRIDGE_CONSUMER_TRIM_H
#define DELAYBRIDGE_CONSUMER_TRIM_H

#include "consumer/wakeup.h"

#include <stdbool.h>

struct trim {
    rd_kafka_t *rk; /* borrowed; NULL: not open */
    rd_kafka_queue_t *answers;
    rd_kafka_topic_partition_list_t *list; /* to be asked for next */
    int asked;                             /* requests without an answer */
    bool failed;                           /* the last one: said once */
    /* Called from trim_serve for each partition that now begins at low. */
    void (*trimmed)(void *ctx, const char *topic, int partition, int64_t low);
    void *ctx;
};

/* trimmed and ctx are set by the caller before, and kept. */
void trim_open(struct trim *trim, rd_kafka_t *rk, struct wakeup *wakeup);
void trim_close(struct trim *trim); /* before the handle is destroyed; no harm if not open */

/* Delete the partition's records below offset, with the next trim_serve. */
void trim_add(struct trim *trim, const char *topic, int partition, int64_t offset);

/* Send what was added, in one request, and log what was answered. */
void trim_serve(struct trim *trim);

#endif
