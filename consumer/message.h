/* SPDX-License-Identifier: Apache-2.0 */
/* message: the Kafka message of a forward: its key, value and headers, as the documents describe
   them for hops, deliveries and dead-letter records. */
#ifndef DELAYBRIDGE_CONSUMER_MESSAGE_H
#define DELAYBRIDGE_CONSUMER_MESSAGE_H

#include "bridge/core/port.h"

#include <librdkafka/rdkafka.h>

/* key and value point into the forward. headers: owned by the struct until librdkafka takes them
   over; NULL: none. */
struct message {
    struct bytes key, value;
    rd_kafka_headers_t *headers;
};

/* Returns the message of a forward. topics: names by slot, for the header dlb-source. */
struct message message_of(const struct forward *forward, const char *const *topics);

#endif
