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

/* The same record, its headers listed, in memory of its own; the message, which pins the batch that
   it was fetched in as it was unpacked, is given back. A record of our own is returned as it is.
   NULL: out of memory, and record is still the caller's. */
struct record *record_keep(struct record *record);

void record_release(struct record *record);

#endif
