/* SPDX-License-Identifier: Apache-2.0 */
/* record: the port's records: a message that librdkafka fetched, or bytes of our own. The bridge
   sees the struct record at the front of both. */
#ifndef DELAYBRIDGE_CONSUMER_RECORD_H
#define DELAYBRIDGE_CONSUMER_RECORD_H

#include "levels/record.h"

#include <librdkafka/rdkafka.h>

/* Takes the message over. The record's bytes are the message's own; headers are listed if
   with_headers, or headers_unreadable is set. NULL: out of memory, and the message is still the
   caller's. */
struct record *record_of_message(rd_kafka_message_t *message, bool with_headers);

/* A record with a copy of key and room for a value. NULL: out of memory. */
struct record *record_make(struct bytes key, size_t value_size);

/* The headers of a fetched message, still the message's; NULL: it has none, they cannot be parsed,
   or it is a record of our own. */
rd_kafka_headers_t *record_headers(const struct record *record);

void record_release(struct record *record);

#endif
