/* SPDX-License-Identifier: Apache-2.0 */
/* murmur2: the partition of a record key, as the default partitioner of Kafka's Java client and
   `partitioner=murmur2_random` of librdkafka compute it. A cancel voids a request only if both
   have the same partition. */
#ifndef DELAYBRIDGE_LEVELS_MURMUR2_H
#define DELAYBRIDGE_LEVELS_MURMUR2_H

#include "levels/bytes.h"

#include <stdint.h>

/* Returns the hash of Kafka's Utils.murmur2, as unsigned. */
uint32_t murmur2(struct bytes key);

/* Returns the partition of a key that is not null; an empty key is a key. partitions > 0. */
static inline int murmur2_partition(struct bytes key, int partitions)
{
    return (int)((murmur2(key) & 0x7fffffff) % (uint32_t)partitions);
}

#endif
