/* SPDX-License-Identifier: Apache-2.0 */
/* record: a Kafka record as it was read, independent of the Kafka client. */
#ifndef DELAYBRIDGE_LEVELS_RECORD_H
#define DELAYBRIDGE_LEVELS_RECORD_H

#include "levels/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* One header. The name is a C string that ends at its first NUL, as in Kafka's C client. The value
   may be null. */
struct header {
    const char *name;
    struct bytes value;
};

/* The port owns a record and embeds this struct in its own. All pointers stay valid until the core
   calls port.release. */
struct record {
    int64_t offset;
    int64_t timestamp_ms; /* epoch ms; -1: the record has none */
    struct bytes key;     /* null and empty differ */
    struct bytes value;   /* null is a tombstone */
    const struct header *headers;
    size_t headers_n;
    bool headers_unreadable; /* its headers cannot be parsed; headers_n is 0 */
    size_t cost_bytes;       /* memory of its key, value and headers */
    size_t overhead_bytes;   /* memory that the port needs for it in addition */
};

#endif
