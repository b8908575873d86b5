/* SPDX-License-Identifier: Apache-2.0 */
/* polled: what the client returns about a partition that a command reads. All readers of commands
   judge it in this way: scan, browse, spot and dead_reader. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_POLLED_H
#define DELAYBRIDGE_CONSUMER_ADMIN_POLLED_H

#include "bridge/base/error.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

enum polled {
    POLLED_NOTHING, /* no answer about the partition, or an error after which the client retries */
    POLLED_DENIED,  /* the topic may not be read */
    POLLED_ABSENT,  /* the topic, its partition or the offset does not exist */
    POLLED_UNREADABLE, /* a batch that cannot be read begins at message->offset (unreadable.h) */
    POLLED_END,        /* no record is left before message->offset, the end of the log */
    POLLED_RECORD
};

/* Judges a message of rd_kafka_consumer_poll on a handle with offsets_conf. NULL: no message. */
enum polled polled_of(const rd_kafka_message_t *message);

/* Sets the sentence of POLLED_DENIED, and returns err. */
int polled_denied(const rd_kafka_message_t *message, int err, struct error *error) must_check;

#endif
