/* SPDX-License-Identifier: Apache-2.0 */
/* message: the Kafka message that a forward becomes: its key, value and headers, as README
   says for a hop, a delivery and a dead letter. */
#ifndef DELAYBRIDGE_CONSUMER_MESSAGE_H
#define DELAYBRIDGE_CONSUMER_MESSAGE_H

#include "bridge/core/port.h"

#include <librdkafka/rdkafka.h>

/* headers are owned by the struct until librdkafka takes them over; NULL: none. */
struct message {
    struct bytes key, value;
    rd_kafka_headers_t *headers;
};

/* topics: names by slot, for dlb-source. */
struct message message_of(const struct forward *forward, const char *const *topics);

#endif
