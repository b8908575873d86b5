/* SPDX-License-Identifier: Apache-2.0 */
/* The table of limited targets: sets, as a cache of a processor has. */
#include "bridge/core/limit_table.h"

#include <stdlib.h>

enum { SETS = 512, SET_SIZE = 16 };

int limit_table_init(struct limit_table *table)
{
    table->all = calloc((size_t)SETS * SET_SIZE, sizeof *table->all);
    return table->all == NULL ? ERR_NO_MEMORY : 0;
}

void limit_table_deinit(struct limit_table *table)
{
    free(table->all);
    table->all = NULL;
}

/* FNV-1a. Never 0. */
static uint64_t hash_of(struct bytes name)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ ((const uint8_t *)name.data)[i]) * 1099511628211u;
    return hash == 0 ? 1 : hash;
}

/* Returns when the bucket has no slot left that a record waits for. */
static double ends_mono_ms(const struct limited *p)
{
    return p->hash == 0 ? -1 : (double)p->bucket.at_mono_ms + p->bucket.free_ms;
}

struct limited *limit_table_get(struct limit_table *table, struct bytes target)
{
    uint64_t hash = hash_of(target);
    struct limited *set = &table->all[hash % SETS * SET_SIZE], *oldest = set;
    for (struct limited *p = set; p < set + SET_SIZE; p++) {
        if (p->hash == hash)
            return p;
        if (ends_mono_ms(p) < ends_mono_ms(oldest))
            oldest = p;
    }
    *oldest = (struct limited){.hash = hash};
    return oldest;
}
