/* SPDX-License-Identifier: Apache-2.0 */
/* wire_size: the uncompressed size of the records that the bridge makes of one record. A broker
   closes the connection on a request above its socket.request.max.bytes, without an error code. So
   the bridge must recognize such a record before it is sent. */
#ifndef DELAYBRIDGE_LEVELS_WIRE_SIZE_H
#define DELAYBRIDGE_LEVELS_WIRE_SIZE_H

#include "levels/record.h"

/* Upper bounds of the bytes that the bridge adds to a record. LATER: the headers of its delivery or
   of the dead-lettered record. IN_ITS_LIFE: those, the envelope, and all fields that the envelope
   may gain. A request that fits at intake therefore fits until it is delivered. */
enum { WIRE_ADDED_LATER = 2048, WIRE_ADDED_IN_ITS_LIFE = 4096 };

/* Return the size of key and headers, the length fields of each header included. wire_size also
   counts the value. The result is an upper bound of the size on the wire for headers below 128
   MiB. */
size_t wire_size_without_value(const struct record *record);
size_t wire_size(const struct record *record);

#endif
