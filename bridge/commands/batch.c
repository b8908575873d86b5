/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests and collects their reports. */
#include "bridge/commands/batch.h"

#include "bridge/base/clock.h"
#include "consumer/client/client_report.h"
#include "consumer/record.h"

#include <assert.h>

enum { FULL_WAIT_MS = 100, RECORD_BYTES = 500 };

void batch_reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx)
{
    (void)rk;
    (void)ctx;
    struct batch_item *item = message->_private;
    item->err = client_report_err(message);
    item->is_unknown = client_report_is_unknown(message);
    item->stored_lane = message->partition;
    item->stored_offset = message->offset;
    item->reported = true;
    item->batch->open_n--;
}

static void produce(struct batch *batch, struct batch_item *item)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_copy(item->headers);
    struct bytes key = item->record->key, value = item->record->value;
    item->reported = item->is_unknown = false;
    while (
        (item->err = rd_kafka_producev(
             batch->rk, RD_KAFKA_V_RKT(batch->topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
             RD_KAFKA_V_PARTITION(batch->keeps_partition ? item->partition : RD_KAFKA_PARTITION_UA),
             RD_KAFKA_V_KEY(key.data, key.len), RD_KAFKA_V_VALUE((void *)value.data, value.len),
             RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(item), RD_KAFKA_V_END)) ==
        RD_KAFKA_RESP_ERR__QUEUE_FULL)
        rd_kafka_poll(batch->rk, FULL_WAIT_MS);
    if (item->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        batch->open_n++;
        return;
    }
    item->reported = true;
    rd_kafka_headers_destroy(headers);
}

void batch_add(struct batch *batch, const struct batch_item *item)
{
    assert(batch->items_n < BATCH_MAX);
    if (batch->items_n == 0)
        batch->since_mono_ms = clock_mono_ms();
    struct batch_item *added = &batch->items[batch->items_n++];
    *added = *item;
    added->batch = batch;
    batch->bytes += added->record->cost_bytes + RECORD_BYTES;
    produce(batch, added);
    rd_kafka_poll(batch->rk, 0);
}

bool batch_is_due(const struct batch *batch)
{
    return batch->items_n == BATCH_MAX || batch->bytes >= BATCH_BYTES ||
           (batch->items_n > 0 && clock_mono_ms() - batch->since_mono_ms >= BATCH_MS);
}

static void await_reports(struct batch *batch)
{
    while (batch->open_n > 0)
        rd_kafka_flush(batch->rk, batch->timeout_ms); /* message.timeout.ms ends it */
}

bool batch_is_refusal(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE || err == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

void batch_await(struct batch *batch)
{
    await_reports(batch);
    for (int i = 0; i < batch->items_n; i++) {
        if (!batch_is_refusal(batch->items[i].err))
            continue;
        produce(batch, &batch->items[i]);
        await_reports(batch);
    }
}

void batch_clear(struct batch *batch)
{
    for (int i = 0; i < batch->items_n; i++) {
        record_release(batch->items[i].record);
        rd_kafka_headers_destroy(batch->items[i].headers);
    }
    batch->items_n = batch->open_n = 0;
    batch->bytes = 0;
}
