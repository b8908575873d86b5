/* SPDX-License-Identifier: Apache-2.0 */
/* offsets: how far the group has come in every lane and slot, seen from outside: for commands. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_OFFSETS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_OFFSETS_H

#include "bridge/config/config.h"
#include "bridge/core/port.h"
#include "consumer/admin/topics.h"
#include "levels/window.h"

#include <librdkafka/rdkafka.h>

enum { OFFSETS_ERROR_MAX = 256 };

/* One partition as a queue of the group. */
struct offsets_cell {
    int64_t low, end;      /* of the log, end: of what is decided; both 0: no such partition */
    int64_t waiting;       /* from the committed base (or low) to end, less what is done above it;
                              offsets, so ends of transactions too, until heads_read has looked */
    struct window *window; /* owned; what is committed, starting at low where nothing is */
    bool committed;
};

/* Slot 0 is S, then the levels, then the retired ones, as everywhere. */
struct offsets {
    const struct config *config; /* borrowed */
    int lanes, slots;
    struct offsets_cell *cells; /* lane * slots + slot */
    int64_t dead_letters;       /* records in the dead-letter topic */
};

/* A consumer for looking: in the name of the group but never a member of it, commits nothing, tells
   the end of partitions. conf: of client_conf. */
void offsets_conf(const struct config *config, rd_kafka_conf_t *conf);

/* rk: made with offsets_conf. Returns 0, or ERR_KAFKA, or ERR_CONFIG (no schedule topic) with a
   sentence. Deinit in any case. */
int offsets_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                 char error[OFFSETS_ERROR_MAX]) must_check;
void offsets_deinit(struct offsets *offsets);

struct offsets_cell *offsets_cell(const struct offsets *offsets, int lane, int slot);
int64_t offsets_level_ms(const struct config *config, int slot); /* slot >= 1 */
const char *offsets_topic(const struct config *config, int slot, char out[TOPIC_TEXT_MAX]);

/* Sets missing in the starts of levels without an offset whose topic does not exist (or has too few
   partitions). Asks for the list of all topics, and only if there are any. 0 or ERR_KAFKA. */
int offsets_find_missing(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes,
                         int n, struct start *starts) must_check;

/* How many partitions each of these n topics has; 0: there is no such topic. 0 or ERR_KAFKA. */
int offsets_topics_exist(rd_kafka_t *rk, const char *const *topics, int n, int timeout_ms,
                         int *partitions) must_check;

/* How many of these lanes have records in a level though nothing is committed for it, or had some
   in any though nothing is committed for the lane's partition of the schedule topic (starts: slots
   for each lane): the group's offsets expired, or it is another group than before. Asks only if
   there are any. A lane that never used a level cannot be told from a new one. -1: nobody
   answered. */
int offsets_lost(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes, int n,
                 const struct start *starts);

/* Fill in the list the first (OFFSETS_LOW) or the next offset (OFFSETS_END) of each partition: one
   request for each broker. Each partition has an error of its own. */
enum { OFFSETS_LOW = RD_KAFKA_OFFSET_BEGINNING, OFFSETS_END = RD_KAFKA_OFFSET_END };
rd_kafka_resp_err_t offsets_ask(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                int64_t which, int timeout_ms);

/* The same, asked again while leaders are being elected, as they are for a while when many
   partitions were just made. Not 0 if any partition failed. */
rd_kafka_resp_err_t offsets_await(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                  int64_t which, int timeout_ms);

/* Both ends of one partition, or none: 0 or ERR_KAFKA. The client's own call for it answers, if one
   of its two questions fails, with the other's offset for both: an end for a beginning. */
int offsets_ends(rd_kafka_t *rk, const char *topic, int partition, int64_t *low, int64_t *end,
                 int timeout_ms) must_check;

#endif
