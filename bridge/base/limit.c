/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of a limit: one for each key, one for each group, and one that all others share. */
#include "bridge/base/limit.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WAYS = 8 }; /* slots that one key may use; few, so that a search checks all of them */

uint64_t limit_key(uint64_t key, struct bytes more)
{
    key = XXH3_64bits_withSeed(more.data, more.len, key);
    return key == 0 ? 1 : key;
}

static bool is_over(const struct limit *limit, const struct limit_slot *slot, int64_t mono_ms)
{
    return slot->key == 0 || mono_ms - slot->since_mono_ms >= limit->every_ms;
}

_Static_assert((int)LIMIT_KEYS == (int)LIMIT_GROUPS, "slot_in reads tables of this size");

/* Returns the key's slot in a table, or a free one for it, or NULL. */
static struct limit_slot *slot_in(struct limit *limit, struct limit_slot table[LIMIT_KEYS],
                                  uint64_t key, int64_t mono_ms)
{
    struct limit_slot *free = NULL;
    for (size_t way = 0; way < WAYS; way++) {
        struct limit_slot *slot = &table[((key >> 32) + way) % LIMIT_KEYS];
        if (slot->key == key)
            return slot;
        if (free == NULL && is_over(limit, slot, mono_ms))
            free = slot;
    }
    if (free != NULL) {
        limit->shared.suppressed += free->suppressed;
        *free = (struct limit_slot){.key = key, .since_mono_ms = mono_ms};
    }
    return free;
}

static struct limit_slot *slot_of(struct limit *limit, struct limit_kind kind, int64_t mono_ms)
{
    struct limit_slot *slot = slot_in(limit, limit->keys, kind.key, mono_ms);
    if (slot == NULL && kind.group != 0)
        slot = slot_in(limit, limit->groups, kind.group, mono_ms);
    return slot == NULL ? &limit->shared : slot;
}

bool limit_pass(struct limit *limit, struct limit_kind kind, int64_t mono_ms, uint64_t *suppressed)
{
    struct limit_slot *slot = slot_of(limit, kind, mono_ms);
    if (is_over(limit, slot, mono_ms)) {
        slot->since_mono_ms = mono_ms;
        slot->passed = 0;
    }
    if (slot->key == 0) /* the shared slot: its first period begins */
        slot->key = kind.key;
    if (slot->passed >= limit->burst) {
        slot->suppressed++;
        return false;
    }
    slot->passed++;
    *suppressed = slot->suppressed;
    slot->suppressed = 0;
    return true;
}

uint64_t limit_pending(const struct limit *limit)
{
    uint64_t pending = limit->shared.suppressed;
    for (size_t i = 0; i < LIMIT_KEYS; i++)
        pending += limit->keys[i].suppressed + limit->groups[i].suppressed;
    return pending;
}
