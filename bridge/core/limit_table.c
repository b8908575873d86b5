/* SPDX-License-Identifier: Apache-2.0 */
/* The table of limited targets: open addressing with linear probing, and deletion by backward
   shift. */
#include "bridge/core/limit_table.h"

#include <assert.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LOOKS = 16 }; /* slots that one search for an idle entry visits */

int limit_table_init(struct limit_table *table, size_t max, uint64_t seed)
{
    *table = (struct limit_table){
        .slots_n = max + max / 4 + 1, .max = max, .seed = seed, .lanes_version = 1};
    table->slots = calloc(table->slots_n, sizeof *table->slots);
    return table->slots == NULL ? ERR_NO_MEMORY : 0;
}

void limit_table_deinit(struct limit_table *table)
{
    free(table->slots);
    table->slots = NULL;
}

/* Maps a hash onto the slots in proportion. */
static size_t home_of(const struct limit_table *table, uint64_t hash)
{
    return (size_t)((unsigned __int128)hash * table->slots_n >> 64);
}

static size_t next_of(const struct limit_table *table, size_t i)
{
    return i + 1 == table->slots_n ? 0 : i + 1;
}

/* Never 0. */
static uint64_t hash_of(const struct limit_table *table, struct bytes name)
{
    uint64_t hash = XXH3_64bits_withSeed(name.data, name.len, table->seed);
    return hash == 0 ? 1 : hash;
}

/* Returns the slot of a hash, or the free one at the end of the way. */
static struct limited *seek(const struct limit_table *table, uint64_t hash)
{
    size_t i = home_of(table, hash);
    while (table->slots[i].hash != 0 && table->slots[i].hash != hash)
        i = next_of(table, i);
    return &table->slots[i];
}

/* Returns true if the way from `home` to `at` passes `hole`, so that an entry at `at` may move into
   the hole. */
static bool passes(size_t home, size_t hole, size_t at)
{
    return home <= at ? home <= hole && hole < at : home <= hole || hole < at;
}

/* Frees slot i and moves later entries of its run down, so that no way to them is broken. */
static void free_slot(struct limit_table *table, size_t i)
{
    table->n--;
    for (size_t at = next_of(table, i); table->slots[at].hash != 0; at = next_of(table, at)) {
        if (!passes(home_of(table, table->slots[at].hash), i, at))
            continue;
        table->slots[i] = table->slots[at];
        i = at;
    }
    table->slots[i] = (struct limited){0};
}

static bool is_idle(const struct limit_table *table, const struct limited *p, int64_t now_mono_ms)
{
    struct bucket bucket = p->bucket;
    if (p->lanes_version != table->lanes_version)
        return true;
    if (p->slots_version != table->slots_version)
        bucket_forget_slots(&bucket);
    return bucket_is_idle(&bucket, now_mono_ms);
}

/* Removes an entry that is idle, if one of the next slots has one. */
static void make_room(struct limit_table *table, int64_t now_mono_ms)
{
    for (int looks = 0; looks < LOOKS; looks++, table->hand = next_of(table, table->hand)) {
        const struct limited *p = &table->slots[table->hand];
        if (p->hash == 0 || !is_idle(table, p, now_mono_ms))
            continue;
        free_slot(table, table->hand);
        return;
    }
}

struct limited *limit_table_find(const struct limit_table *table, struct bytes target)
{
    struct limited *p = seek(table, hash_of(table, target));
    return p->hash == 0 ? NULL : p;
}

struct limited *limit_table_get(struct limit_table *table, struct bytes target, int64_t now_mono_ms)
{
    uint64_t hash = hash_of(table, target);
    struct limited *p = seek(table, hash);
    if (p->hash == hash)
        return p;
    if (table->n == table->max) {
        make_room(table, now_mono_ms);
        p = seek(table, hash);
    }
    if (table->n == table->max)
        return NULL;
    table->n++;
    p->hash = hash;
    return p;
}

void limit_table_check(const struct limit_table *table)
{
    size_t n = 0;
    for (size_t i = 0; i < table->slots_n; i++) {
        if (table->slots[i].hash == 0)
            continue;
        n++;
        assert(seek(table, table->slots[i].hash) == &table->slots[i]);
    }
    assert(n == table->n && n <= table->max && table->max < table->slots_n);
    (void)n;
}
