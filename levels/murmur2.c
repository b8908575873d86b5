/* SPDX-License-Identifier: Apache-2.0 */
/* murmur2: MurmurHash2 by Austin Appleby, with Kafka's seed, on any byte order. */
#include "levels/murmur2.h"

static const uint32_t SEED = 0x9747b28c, M = 0x5bd1e995;

static uint32_t word_at(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t murmur2(struct bytes key)
{
    const unsigned char *at = key.data;
    uint32_t hash = SEED ^ (uint32_t)key.len;
    size_t left = key.len;
    for (; left >= 4; left -= 4, at += 4) {
        uint32_t k = word_at(at) * M;
        k = (k ^ k >> 24) * M;
        hash = hash * M ^ k;
    }
    for (size_t i = 0; i < left; i++)
        hash ^= (uint32_t)at[i] << 8 * i;
    if (left > 0)
        hash *= M;
    hash = (hash ^ hash >> 13) * M;
    return hash ^ hash >> 15;
}
