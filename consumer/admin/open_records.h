/* SPDX-License-Identifier: Apache-2.0 */
/* open_records: offsets of the schedule topic that wait behind an open transaction of a producer.
   Consumers of committed records stop at the partition's last stable offset, the first offset of
   its oldest open transaction. The high watermark shows the records behind it. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_OPEN_RECORDS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_OPEN_RECORDS_H

#include "bridge/config/config.h"
#include "consumer/admin/topics.h"
#include "consumer/client/client.h"

#include <librdkafka/rdkafka.h>

/* One partition. Both are 0 if its leader did not answer. */
struct open_lane {
    int64_t stable_offset, end_offset; /* end_offset: the high watermark */
};

/* ListOffsets depends on the isolation level of the handle, so two handles ask. */
struct open_records {
    const struct config *config; /* borrowed */
    rd_kafka_t *committed;       /* borrowed; its isolation level is read_committed, the default */
    rd_kafka_t *uncommitted;     /* owned */
};

/* Returns 0, or ERR_CONFIG with a sentence; then no deinit is needed. */
int open_records_init(struct open_records *open, const struct config *config, rd_kafka_t *committed,
                      struct error *error) must_check;
void open_records_deinit(struct open_records *open);

/* Fills lanes for the first n partitions of the schedule topic. Each of two requests waits for
   timeout_ms at most. Returns 0 or ERR_KAFKA. */
int open_records_ask(const struct open_records *open, struct open_lane *lanes, int n,
                     int timeout_ms) must_check;

/* Returns how many offsets wait in this partition. */
int64_t open_records_of(const struct open_lane *lane);

/* Returns the same number if the partition's oldest transaction was already open in before, else 0.
 */
int64_t open_records_lasting(const struct open_lane *before, const struct open_lane *now);

/* Adds a warning if a transaction on one of findings->partitions stays open for a second. Returns
   0, or ERR_KAFKA or ERR_NO_MEMORY without a finding. */
int open_records_judge(const struct open_records *open, int timeout_ms,
                       struct findings *findings) must_check;

#endif
