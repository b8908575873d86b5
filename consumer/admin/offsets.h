/* SPDX-License-Identifier: Apache-2.0 */
/* offsets: for commands, the progress of the group in every lane and slot, as Kafka shows it. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_OFFSETS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_OFFSETS_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "consumer/admin/topics.h"
#include "levels/window.h"

#include <librdkafka/rdkafka.h>

/* One partition, as a queue of the group. */
struct offsets_cell {
    /* The log's first offset, and the end of its decided records. Both are 0 if the partition does
       not exist. */
    int64_t low, end;
    /* Offsets from the committed base (or low) to end, without those done above the base. They
       include the ends of transactions until heads_read corrects the number. */
    int64_t waiting;
    int64_t unread; /* those of waiting above the last done offset. Owners have read the others */
    struct window *window; /* owned; the committed progress, or one that starts at low */
    bool committed;
};

/* Slots are numbered as everywhere: the schedule topic, the levels, the retired levels. */
struct offsets {
    const struct config *config; /* borrowed */
    int lanes, slots;
    struct offsets_cell *cells; /* lane * slots + slot */
    int64_t dead_letters;       /* records in the dead-letter topic */
    int64_t cancel_records;     /* records in the topic of cancels: at least those in force */
};

/* Sets the properties of a consumer for commands. It reads the group's offsets but never joins the
   group, commits nothing, and reports the end of partitions. conf: from client_conf. */
void offsets_conf(const struct config *config, rd_kafka_conf_t *conf);

/* Reads the offsets. Returns 0, ERR_KAFKA, or ERR_CONFIG (no schedule topic) with a sentence. Call
   offsets_deinit in any case. rk: a consumer with offsets_conf. */
int offsets_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                 struct error *error) must_check;
void offsets_deinit(struct offsets *offsets);

struct offsets_cell *offsets_cell(const struct offsets *offsets, int lane, int slot);
int64_t offsets_level_ms(const struct config *config, int slot); /* slot >= 1 */
const char *offsets_topic(const struct config *config, int slot, char out[TOPIC_TEXT_MAX]);

#endif
