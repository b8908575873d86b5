/* SPDX-License-Identifier: Apache-2.0 */
/* browse: reading records to look at them, without a group and without leaving a trace. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_BROWSE_H
#define DELAYBRIDGE_CONSUMER_ADMIN_BROWSE_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct browse {
    rd_kafka_t *rk; /* a consumer made with offsets_conf */
    int timeout_ms; /* for all of it */
    /* Each record, in order within its partition; tag is the opaque of its entry in the list.
       false: enough of this partition. The message is valid during the call. */
    bool (*each)(void *ctx, intptr_t tag, const rd_kafka_message_t *message);
    /* Its end, where that came first: nothing that can be read is from the last record to offset.
       May be NULL. */
    void (*ended)(void *ctx, intptr_t tag, int64_t offset);
    /* A batch that cannot be read (unreadable.h) stands at offset: enough of this partition. May be
       NULL. */
    void (*unreadable)(void *ctx, intptr_t tag, int64_t offset);
    void *ctx;
    rd_kafka_resp_err_t code; /* out: why it failed */
};

/* Read every partition of the list from its offset on, until each was enough or is at its end.
   Returns 0; ERR_KAFKA with a sentence in error: that took longer than the timeout, Read is not
   allowed on one, or they cannot be assigned. */
int browse_read(struct browse *browse, const rd_kafka_topic_partition_list_t *from, char *error,
                size_t error_size) must_check;

#endif
