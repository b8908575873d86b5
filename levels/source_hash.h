/* SPDX-License-Identifier: Apache-2.0 */
/* source_hash: a random-looking number that is the same each time the request at (lane, offset) is
   read. A time that is chosen by it stays the same after a crash. */
#ifndef DELAYBRIDGE_LEVELS_SOURCE_HASH_H
#define DELAYBRIDGE_LEVELS_SOURCE_HASH_H

#include "levels/little.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Each use has its own numbers. */
enum source_use { SOURCE_JITTER = 1, SOURCE_SPREAD = 2 };

static inline uint64_t source_hash(uint32_t lane, int64_t offset, enum source_use use)
{
    uint8_t source[sizeof lane + sizeof offset];
    put_i64(put_u32(source, lane), offset);
    return XXH3_64bits_withSeed(source, sizeof source, use);
}

#endif
