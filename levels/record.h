/* SPDX-License-Identifier: Apache-2.0 */
/* record: a Kafka record as it was read, seen without any Kafka client. */
#ifndef DELAYBRIDGE_LEVELS_RECORD_H
#define DELAYBRIDGE_LEVELS_RECORD_H

#include "levels/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* One header. The name is a C string: names end at their first NUL, as Kafka's C client sees them.
   The value may be null. */
struct header {
    const char *name;
    struct bytes value;
};

/* Owned by whoever read it (the port), which embeds this struct in its own; all pointers stay valid
   until the record is given back with port.release. */
struct record {
    int64_t offset;
    int64_t timestamp_ms; /* epoch ms; -1: the record has none */
    struct bytes key;     /* null and empty are told apart */
    struct bytes value;   /* null is a tombstone */
    const struct header *headers;
    size_t headers_n;
    bool headers_unreadable; /* it has headers that cannot be parsed; none is listed */
    size_t cost_bytes;       /* of its key, value and headers */
};

#endif
