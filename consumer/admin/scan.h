/* SPDX-License-Identifier: Apache-2.0 */
/* scan: reads ranges of many partitions as fast as the client can, to search them. Large scans are
   divided among several handles and threads. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_SCAN_H
#define DELAYBRIDGE_CONSUMER_ADMIN_SCAN_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "levels/topic_name.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

/* A part of one partition: the offsets from `from` up to `end`, which is excluded. */
struct scan_range {
    char topic[TOPIC_TEXT_MAX];
    int partition;
    int64_t from, end;
    int64_t from_ms, to_ms; /* for scan_narrow: first and last timestamp, epoch ms; 0: no limit */
    int tag;                /* for the caller */
    int64_t unreadable;     /* out: first offset of a batch that cannot be read, or -1 */
};

struct scan {
    const struct config *config;
    rd_kafka_t *rk; /* a consumer with offsets_conf */
    bool is_gentle; /* in the service: at most two handles, with short queues */
    int timeout_ms; /* a scan fails if no record arrives for this time */
    /* Called for each record of the ranges, from several threads at once. message is valid during
       the call. Returns false to end the scan. */
    bool (*each)(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message);
    /* Called in the thread of scan_read about ten times a second. May be NULL. */
    void (*progress)(void *ctx, int64_t read, int64_t all);
    void *ctx;
    int64_t read;                /* out: records read */
    char denied[TOPIC_TEXT_MAX]; /* out: a topic that may not be read, or "" */
};

/* Moves from and end of each range to the offsets for its from_ms and to_ms. The start is the first
   record with a timestamp of at least from_ms. Timestamps inside a partition are not quite sorted,
   so the end is the offset of a time ten seconds after to_ms. Returns 0, or ERR_KAFKA with a
   sentence. */
int scan_narrow(const struct scan *scan, struct scan_range *ranges, int n,
                struct error *error) must_check;

/* Reads all ranges, or reads until `each` returns false. Two ranges must not have the same
   partition. Returns 0, ERR_NO_MEMORY, ERR_CONFIG if Read is denied or a handle cannot be created,
   or ERR_KAFKA, with a sentence. */
int scan_read(struct scan *scan, struct scan_range *ranges, int n, struct error *error) must_check;

#endif
