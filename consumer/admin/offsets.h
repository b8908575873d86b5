/* SPDX-License-Identifier: Apache-2.0 */
/* offsets: how far the group has come in every lane and slot, seen from outside: for commands. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_OFFSETS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_OFFSETS_H

#include "bridge/config/config.h"
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

#endif
