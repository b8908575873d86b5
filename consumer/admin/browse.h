/* SPDX-License-Identifier: Apache-2.0 */
/* browse: reads records for display, without a group and without committing offsets. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_BROWSE_H
#define DELAYBRIDGE_CONSUMER_ADMIN_BROWSE_H

#include "levels/err.h"

#include "bridge/base/error.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct browse {
    rd_kafka_t *rk;  /* a consumer with offsets_conf */
    int timeout_ms;  /* for the whole read */
    bool is_patient; /* timeout_ms counts from the last record, and not from the start */
    /* Called for each record, in the order of its partition. tag: the opaque of the partition in
       the list. Returns false if no more records of this partition are needed. message is valid
       during the call. */
    bool (*each)(void *ctx, intptr_t tag, const rd_kafka_message_t *message);
    /* Called when a partition ends before each has returned false. No readable record lies between
       the last record and offset. May be NULL. */
    void (*ended)(void *ctx, intptr_t tag, int64_t offset);
    /* Called when an unreadable batch (unreadable.h) begins at offset; the partition is read no
       further. May be NULL. */
    void (*unreadable)(void *ctx, intptr_t tag, int64_t offset);
    void *ctx;
    rd_kafka_resp_err_t code; /* out: the reason of a failure */
};

/* Reads every partition of the list from its offset to its end, or until each returns false.
   Returns 0, or ERR_KAFKA with a sentence in error. Causes are an exceeded timeout, a missing right
   to read, or a failed assignment. */
int browse_read(struct browse *browse, const rd_kafka_topic_partition_list_t *from,
                struct error *error) must_check;

#endif
