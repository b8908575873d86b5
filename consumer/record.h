/* SPDX-License-Identifier: Apache-2.0 */
/* record: the port's records, made of a message that librdkafka fetched or of bytes of our own. The
   bridge sees the struct record at the front of either. */
#ifndef DELAYBRIDGE_CONSUMER_RECORD_H
#define DELAYBRIDGE_CONSUMER_RECORD_H

#include "levels/record.h"

#include <librdkafka/rdkafka.h>

/* Returns a record that owns message and points to its bytes. with_headers: lists the headers, or
   sets headers_unreadable. Returns NULL without memory; the caller then still owns the message. */
struct record *record_of_message(rd_kafka_message_t *message, bool with_headers);

/* Returns a record with a copy of key and room for value_size bytes of value. Returns NULL without
   memory. */
struct record *record_make(struct bytes key, size_t value_size);

/* Returns a copy of the record with its headers listed, and releases record. A fetched message
   keeps its whole uncompressed batch in memory; the copy does not. Returns a record of our own
   unchanged. Returns NULL without memory; the caller then still owns record. */
struct record *record_keep(struct record *record);

/* Frees the record and its message. */
void record_release(struct record *record);

#endif
