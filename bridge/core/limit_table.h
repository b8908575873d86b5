/* SPDX-License-Identifier: Apache-2.0 */
/* limit_table: the buckets of limited targets, by name. They are kept apart from the table of
   targets, which replaces its targets.

   A target keeps its bucket while records wait for its slots, and until it has all its tokens
   again. Then it is idle. In a full table, a new target replaces an idle one. If none is found, the
   new target gets no bucket now. A replaced bucket starts again empty, so no target exceeds its
   limit.

   An entry has the hash of a name, not the name. The hash has a seed, so that no producer can
   choose names that share a bucket, or that make look-ups slow. The table is allocated once. The
   kernel provides its memory when it is first used, up to 5 MB for LIMITED_MAX targets.

   Invariants (limit_table_check):
   - n is the number of entries, and at most max
   - no free slot lies between an entry's home and its slot
   - no two entries have the same hash */
#ifndef DELAYBRIDGE_BRIDGE_CORE_LIMIT_TABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_LIMIT_TABLE_H

#include "levels/bytes.h"
#include "levels/err.h"
#include "levels/rate.h"

#include <stddef.h>
#include <stdint.h>

enum { LIMITED_MAX = 65536 };

struct limited {
    uint64_t hash; /* of the target's name; 0: a free slot */
    struct bucket bucket;
    int64_t since_wall_ms;  /* of the limit for which it was started */
    uint64_t lanes_version; /* of the lanes for which it was started. 0: never */
    uint64_t slots_version; /* of the slots that it gave */
};

struct limit_table {
    struct limited *slots; /* owned */
    size_t slots_n, n, max;
    size_t hand; /* slot from which the next search for an idle entry begins */
    uint64_t seed;
    uint64_t lanes_version; /* changes with the owned lanes; never 0. Other entries are idle */
    uint64_t slots_version; /* slots that were given before it changed are void */
};

/* Makes an empty table for at most max targets. seed is random for each process. Returns 0 or
   ERR_NO_MEMORY. */
int limit_table_init(struct limit_table *table, size_t max, uint64_t seed) must_check;
void limit_table_deinit(struct limit_table *table);

/* Returns the entry of this target, or NULL. An entry is valid until the next limit_table_get. */
struct limited *limit_table_find(const struct limit_table *table, struct bytes target);

/* Does the same, and adds an entry of zeros if there is none. Returns NULL if the table is full,
   and none of the next entries is idle. */
struct limited *limit_table_get(struct limit_table *table, struct bytes target,
                                int64_t now_mono_ms);

/* Asserts the invariants. */
void limit_table_check(const struct limit_table *table);

#endif
