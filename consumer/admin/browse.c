/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns partitions, reads each one until its caller has enough, and unassigns them. */
#include "consumer/admin/browse.h"
#include "bridge/base/clock.h"
#include "consumer/admin/polled.h"
#include "levels/counted.h"

#include <stdio.h>
#include <stdlib.h>

enum { POLL_MS = 100 };

/* The partitions that are not finished. */
struct reading {
    struct browse *browse;
    rd_kafka_topic_partition_list_t *open;
};

/* Returns whether the partition is read on. */
static bool give(const struct browse *browse, intptr_t tag, const rd_kafka_message_t *message)
{
    switch (polled_of(message)) {
    case POLLED_RECORD:
        return browse->each(browse->ctx, tag, message);
    case POLLED_END:
        if (browse->ended != NULL)
            browse->ended(browse->ctx, tag, message->offset);
        return false;
    case POLLED_UNREADABLE:
        if (browse->unreadable != NULL)
            browse->unreadable(browse->ctx, tag, message->offset);
        return false;
    case POLLED_NOTHING:
    case POLLED_DENIED:
    case POLLED_ABSENT:
        break;
    }
    return true;
}

static void take(struct reading *reading, const rd_kafka_message_t *message)
{
    if (message->rkt == NULL)
        return;
    const char *topic = rd_kafka_topic_name(message->rkt);
    const rd_kafka_topic_partition_t *at =
        rd_kafka_topic_partition_list_find(reading->open, topic, message->partition);
    if (at == NULL)
        return; /* finished; it is not paused, because a pause would outlive the assignment */
    if (!give(reading->browse, (intptr_t)at->opaque, message))
        rd_kafka_topic_partition_list_del(reading->open, topic, message->partition);
}

static int read_all(struct reading *reading, struct error *error)
{
    int64_t until_mono_ms = clock_mono_ms() + reading->browse->timeout_ms;
    int err = 0;
    while (err == 0 && reading->open->cnt > 0 && clock_mono_ms() < until_mono_ms) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(reading->browse->rk, POLL_MS);
        if (message == NULL)
            continue;
        if (polled_of(message) == POLLED_DENIED) {
            reading->browse->code = message->err;
            err = polled_denied(message, ERR_KAFKA, error);
        } else {
            take(reading, message);
            if (reading->browse->is_patient)
                until_mono_ms = clock_mono_ms() + reading->browse->timeout_ms;
        }
        rd_kafka_message_destroy(message);
    }
    if (err != 0 || reading->open->cnt == 0)
        return err;
    char partitions[COUNTED_MAX];
    reading->browse->code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    return error_set(error, ERR_KAFKA, "%s did not answer in time, for example %s[%d]",
                     counted(reading->open->cnt, "partition", partitions),
                     reading->open->elems[0].topic, reading->open->elems[0].partition);
}

int browse_read(struct browse *browse, const rd_kafka_topic_partition_list_t *from,
                struct error *error)
{
    rd_kafka_resp_err_t code = rd_kafka_assign(browse->rk, from);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        browse->code = code;
        return error_set(error, ERR_KAFKA, "cannot assign partitions: %s", rd_kafka_err2str(code));
    }
    struct reading reading = {browse, rd_kafka_topic_partition_list_copy(from)};
    for (int i = 0; i < from->cnt; i++) /* a copy of a list omits opaques */
        reading.open->elems[i].opaque = from->elems[i].opaque;
    int err = read_all(&reading, error);
    rd_kafka_topic_partition_list_destroy(reading.open);
    rd_kafka_assign(browse->rk, NULL);
    return err;
}
