/* SPDX-License-Identifier: Apache-2.0 */
/* little: integers as little-endian bytes, at any alignment. */
#ifndef DELAYBRIDGE_LEVELS_LITTLE_H
#define DELAYBRIDGE_LEVELS_LITTLE_H

#include "levels/bytes.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE_16(v) __builtin_bswap16(v)
#define LITTLE_32(v) __builtin_bswap32(v)
#define LITTLE_64(v) __builtin_bswap64(v)
#else
#define LITTLE_16(v) (v)
#define LITTLE_32(v) (v)
#define LITTLE_64(v) (v)
#endif

static inline uint16_t get_u16(const uint8_t *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return LITTLE_16(v);
}

static inline uint32_t get_u32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return LITTLE_32(v);
}

static inline uint64_t get_u64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return LITTLE_64(v);
}

static inline int64_t get_i64(const uint8_t *at)
{
    return (int64_t)get_u64(at);
}

/* Each put_ function returns the address after the bytes that it wrote. */

static inline uint8_t *put_u16(uint8_t *at, size_t v)
{
    assert(v <= UINT16_MAX);
    uint16_t little = LITTLE_16((uint16_t)v);
    memcpy(at, &little, sizeof little);
    return at + sizeof little;
}

static inline uint8_t *put_u32(uint8_t *at, size_t v)
{
    assert(v <= UINT32_MAX);
    uint32_t little = LITTLE_32((uint32_t)v);
    memcpy(at, &little, sizeof little);
    return at + sizeof little;
}

static inline uint8_t *put_u64(uint8_t *at, uint64_t v)
{
    uint64_t little = LITTLE_64(v);
    memcpy(at, &little, sizeof little);
    return at + sizeof little;
}

static inline uint8_t *put_i64(uint8_t *at, int64_t v)
{
    return put_u64(at, (uint64_t)v);
}

static inline uint8_t *put_bytes(uint8_t *at, struct bytes bytes)
{
    if (bytes.len > 0)
        memcpy(at, bytes.data, bytes.len);
    return at + bytes.len;
}

#endif
