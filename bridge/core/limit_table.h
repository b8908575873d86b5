/* SPDX-License-Identifier: Apache-2.0 */
/* limit_table: the buckets of limited targets, by name. They are kept apart from the table of
   targets, which replaces its targets. A bucket that is replaced forgets its slots, so records that
   wait for these slots get others. Up to about 4,000 limited targets at a time, no bucket in use is
   replaced. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_LIMIT_TABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_LIMIT_TABLE_H

#include "levels/bytes.h"
#include "levels/err.h"
#include "levels/rate.h"

#include <stdint.h>

struct limited {
    uint64_t hash; /* of the target's name; 0: unused */
    struct bucket bucket;
    int64_t since_wall_ms;  /* of the limit for which it was started */
    uint64_t lanes_version; /* of the lanes for which it was started. 0: never */
    uint64_t slots_version; /* of the slots that it gave */
};

struct limit_table {
    struct limited *all; /* owned: sets of a fixed size */
};

int limit_table_init(struct limit_table *table) must_check; /* 0 or ERR_NO_MEMORY */
void limit_table_deinit(struct limit_table *table);

/* Returns the entry of this target. If it has none, the result replaces the entry of its set whose
   last slot is the earliest. */
struct limited *limit_table_get(struct limit_table *table, struct bytes target);

#endif
