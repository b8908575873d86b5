/* SPDX-License-Identifier: Apache-2.0 */
/* batch: records that redrive sends before it commits its progress: requests, and events of them. A
   process that is killed sends at most one batch twice, and loses none. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_BATCH_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_BATCH_H

#include "levels/err.h"
#include "levels/record.h"

#include <librdkafka/rdkafka.h>

enum { BATCH_MAX = 1000, BATCH_BYTES = 16 << 20, BATCH_MS = 250 };

struct batch_item {
    struct record *record;       /* owned, with record_release; key and value to send */
    rd_kafka_headers_t *headers; /* owned */
    int partition;               /* of the dead-lettered record, and its offset */
    int64_t offset;
    int row; /* for the caller */
    int source_lane;
    int64_t source_offset; /* of the dead-lettered request on the schedule topic; -1: not known */

    /* Set by the batch. */
    struct batch *batch;
    bool reported;
    rd_kafka_resp_err_t err; /* once reported */
    bool is_unknown;         /* with err: it is stored or not */
    int stored_lane;         /* where the record was stored */
    int64_t stored_offset;   /* the same; below 0: not known */
};

struct batch {
    rd_kafka_t *rk;          /* borrowed; a producer that calls batch_reported */
    rd_kafka_topic_t *topic; /* borrowed */
    int timeout_ms;          /* of the producer, for one record */
    bool keeps_partition;    /* a record goes to item.partition, and not to that of its key */
    struct batch_item items[BATCH_MAX];
    int items_n, open_n; /* open: neither acknowledged nor failed */
    size_t bytes;
    int64_t since_mono_ms; /* of the first item */
};

/* The delivery report callback of all batches of a producer. */
void batch_reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx);

/* Takes the item and hands it to the client. The batch must not be full. */
void batch_add(struct batch *batch, const struct batch_item *item);

/* Returns whether it must end before another record is added: by number, bytes or age. */
bool batch_is_due(const struct batch *batch);

/* Waits until each item is acknowledged or has failed. An item that was too large in a request with
   others is sent again alone. */
void batch_await(struct batch *batch);

/* Returns whether this error means that the topic refuses the record itself, whenever it is sent.
 */
bool batch_is_refusal(rd_kafka_resp_err_t err);

/* Frees all items. None may be open, or the producer must be destroyed. */
void batch_clear(struct batch *batch);

#endif
