/* SPDX-License-Identifier: Apache-2.0 */
/* wire_size: how large the records become that the bridge makes of one record, uncompressed. A
   broker closes the connection when a request is larger than its socket.request.max.bytes, so such
   a record must never be sent: nothing would say that it was too large. */
#ifndef DELAYBRIDGE_LEVELS_WIRE_SIZE_H
#define DELAYBRIDGE_LEVELS_WIRE_SIZE_H

#include "levels/record.h"

/* More than the bridge adds to a record. LATER: the headers of its delivery, or of its dead letter.
   IN_ITS_LIFE: that, its envelope, and all that the envelope may gain while it waits. So a request
   that fits at intake fits until it leaves. */
enum { WIRE_ADDED_LATER = 1536, WIRE_ADDED_IN_ITS_LIFE = 4096 };

/* Bytes of key and headers, with the lengths of each header; and of the value too. An upper bound
   of the form on the wire for headers of less than 128 MiB. */
size_t wire_size_without_value(const struct record *record);
size_t wire_size(const struct record *record);

#endif
