/* SPDX-License-Identifier: Apache-2.0 */
/* spot: for commands, reads single records at known places. Its handle joins no group. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_SPOT_H
#define DELAYBRIDGE_CONSUMER_ADMIN_SPOT_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

/* The caller sets config and timeout_ms. The first read creates the handle. */
struct spot {
    const struct config *config; /* borrowed */
    rd_kafka_t *rk;              /* owned; NULL: not created yet */
    int timeout_ms;              /* for one read */
};

/* Sets *message, which the caller destroys, to the record at this offset. Sets NULL if there is
   none: it was deleted, it cannot be unpacked, or the topic does not exist. Returns 0, ERR_CONFIG
   (Read is denied) or ERR_KAFKA with a sentence. */
int spot_read(struct spot *spot, const char *topic, int partition, int64_t offset,
              rd_kafka_message_t **message, struct error *error) must_check;

/* Sets *end to the first offset after the unreadable batch at offset. Returns 0, or ERR_KAFKA with
   a sentence. */
int spot_pass(struct spot *spot, const char *topic, int partition, int64_t offset, int64_t *end,
              struct error *error) must_check;

void spot_deinit(struct spot *spot);

#endif
