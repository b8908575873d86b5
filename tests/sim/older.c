/* SPDX-License-Identifier: Apache-2.0 */
/* Models an older program at the port. The bridge of this simulator reads and writes envelopes of
   version 2, and an older one only those of version 1. */
#include "tests/sim/world.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { VERSION_AT = 4, CHECKSUM_AT = 8, CHECKED_AT = 16, UNKNOWN_VERSION = 9 };

void older_reads(uint8_t *envelope, size_t size)
{
    uint64_t seed, checksum;
    if (size < CHECKED_AT || memcmp(envelope, "DLBE\2", 5) != 0)
        return;
    envelope[VERSION_AT] = UNKNOWN_VERSION;
    memcpy(&seed, envelope, sizeof seed);
    checksum = XXH3_64bits_withSeed(envelope + CHECKED_AT, size - CHECKED_AT, seed);
    memcpy(envelope + CHECKSUM_AT, &checksum, sizeof checksum);
}

struct bytes older_writes(struct arena *arena, struct bytes envelope)
{
    struct envelope env;
    if (envelope_open(envelope, &env) != 0)
        return envelope;
    env.stamp.extras = (struct extras){0};
    size_t size = envelope_size(&env);
    void *out = arena_take(arena, size);
    envelope_encode(&env, out);
    return bytes_of(out, size);
}
