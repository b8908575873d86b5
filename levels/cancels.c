/* SPDX-License-Identifier: Apache-2.0 */
/* cancels: an open hash table with linear probing and deletion by backward shift. An entry's home
   follows from the fingerprint in its slot, so that entries can be moved without their names. */
#include "levels/cancels.h"

#include <assert.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* `rest`, from its highest bit: 12 bits of the fingerprint, 12 of id + 1, 1 matched, 39 of a
   distance. The distance is signed and counts from the lane's first offset. 0 is a free slot. */
struct cancels_slot {
    uint64_t high;
    uint64_t rest;
};

_Static_assert(sizeof(struct cancels_slot) == CANCELS_SLOT_BYTES, "the memory limit counts slots");

enum { OWNER_SHIFT = 40, LOW_SHIFT = 52, ID_MASK = 0xfff, LOW_MASK = 0xfff };
static const uint64_t MATCHED = (uint64_t)1 << 39;
static const uint64_t DISTANCE_MASK = ((uint64_t)1 << 39) - 1;

static bool is_free(const struct cancels_slot *slot)
{
    return slot->rest == 0;
}

static int id_of(const struct cancels_slot *slot)
{
    return (int)(slot->rest >> OWNER_SHIFT & ID_MASK) - 1;
}

static int64_t offset_of(const struct cancels *table, const struct cancels_slot *slot)
{
    int64_t distance = (int64_t)(slot->rest << (64 - 39)) >> (64 - 39);
    return table->lanes[id_of(slot)].first + distance;
}

static bool is_dead(const struct cancels *table, const struct cancels_slot *slot)
{
    return offset_of(table, slot) < table->lanes[id_of(slot)].dead_below;
}

/* Maps the fingerprint's high half onto the slots in proportion. */
static size_t home_of(const struct cancels *table, uint64_t high)
{
    return (size_t)((unsigned __int128)high * table->slots_n >> 64);
}

static size_t next_of(const struct cancels *table, size_t i)
{
    return i + 1 == table->slots_n ? 0 : i + 1;
}

static uint64_t owner_of(int id, struct cancel_print print)
{
    return (uint64_t)print.low << (LOW_SHIFT - OWNER_SHIFT) | (uint64_t)(id + 1);
}

static bool slot_is(const struct cancels_slot *slot, struct cancel_print print, uint64_t owner)
{
    return slot->high == print.high && slot->rest >> OWNER_SHIFT == owner;
}

static void slot_set(struct cancels_slot *slot, struct cancel_print print, uint64_t owner,
                     int64_t distance)
{
    slot->high = print.high;
    slot->rest = owner << OWNER_SHIFT | ((uint64_t)distance & DISTANCE_MASK);
}

int cancels_init(struct cancels *table, size_t memory, uint64_t seed)
{
    *table = (struct cancels){.seed = seed};
    size_t slots_n = memory / sizeof *table->slots;
    table->slots_n = slots_n < 5 ? 5 : slots_n;
    table->slots = calloc(table->slots_n, sizeof *table->slots);
    return table->slots == NULL ? ERR_NO_MEMORY : 0;
}

void cancels_deinit(struct cancels *table)
{
    free(table->slots);
    *table = (struct cancels){0};
}

/* An id with slots would give them to the next lane. */
static bool id_is_free(const struct cancels_lane *lane)
{
    return lane->dead_below == INT64_MAX && lane->n == 0;
}

int cancels_open(struct cancels *table, int64_t first)
{
    size_t id = 0;
    while (id < table->lanes_n && !id_is_free(&table->lanes[id]))
        id++;
    if (id == CANCELS_LANES_MAX)
        return ERR_FULL;
    if (id == table->lanes_n)
        table->lanes_n++;
    table->lanes[id] = (struct cancels_lane){.first = first, .dead_below = INT64_MIN};
    return (int)id;
}

void cancels_close(struct cancels *table, int id)
{
    table->lanes[id].dead_below = INT64_MAX;
}

struct cancel_print cancels_print(const struct cancels *table, enum cancel_kind kind,
                                  struct bytes name)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(name.data, name.len, table->seed + (uint64_t)kind);
    return (struct cancel_print){.high = hash.high64, .low = hash.low64 & LOW_MASK};
}

void cancels_prefetch(const struct cancels *table, struct cancel_print print)
{
    __builtin_prefetch(&table->slots[home_of(table, print.high)]);
}

/* Returns the entry of the name, dead or not, or NULL. *vacant is then the first slot on the way
   that a new entry may take: a dead one or the free one at the end. */
static struct cancels_slot *seek(const struct cancels *table, int id, struct cancel_print print,
                                 struct cancels_slot **vacant)
{
    uint64_t owner = owner_of(id, print);
    struct cancels_slot *first_dead = NULL;
    size_t i = home_of(table, print.high);
    for (; !is_free(&table->slots[i]); i = next_of(table, i)) {
        struct cancels_slot *slot = &table->slots[i];
        if (slot_is(slot, print, owner))
            return slot;
        if (vacant != NULL && first_dead == NULL && is_dead(table, slot))
            first_dead = slot;
    }
    if (vacant != NULL)
        *vacant = first_dead != NULL ? first_dead : &table->slots[i];
    return NULL;
}

/* Counts a slot out of its lane and of the table. */
static void leave(struct cancels *table, struct cancels_slot *slot)
{
    table->lanes[id_of(slot)].n--;
    table->used--;
    *slot = (struct cancels_slot){0};
}

static bool in_reach(const struct cancels_lane *lane, int64_t offset)
{
    return offset >= lane->first - CANCELS_REACH && offset < lane->first + CANCELS_REACH;
}

int cancels_put(struct cancels *table, int id, struct cancel_print print, int64_t offset,
                size_t limit)
{
    struct cancels_lane *lane = &table->lanes[id];
    if (!in_reach(lane, offset))
        return ERR_RANGE;
    struct cancels_slot *vacant, *slot = seek(table, id, print, &vacant);
    if (slot != NULL) {
        if (offset > offset_of(table, slot))
            slot_set(slot, print, owner_of(id, print), offset - lane->first);
        return 0;
    }
    bool was_free = is_free(vacant);
    if (lane->n >= limit || (was_free && table->used >= CANCELS_LOAD(table->slots_n)))
        return ERR_FULL;
    if (!was_free)
        leave(table, vacant);
    slot_set(vacant, print, owner_of(id, print), offset - lane->first);
    lane->n++;
    table->used++;
    return 0;
}

/* Moves the entries that are alive into a table of twice the slots. */
static int grow(struct cancels *table)
{
    struct cancels_slot *old = table->slots;
    size_t old_n = table->slots_n;
    struct cancels_slot *slots = calloc(2 * old_n, sizeof *slots);
    if (slots == NULL)
        return ERR_NO_MEMORY;
    table->slots = slots;
    table->slots_n = 2 * old_n;
    for (size_t n = 0; n < old_n; n++) {
        if (is_free(&old[n]))
            continue;
        if (is_dead(table, &old[n])) {
            leave(table, &old[n]);
            continue;
        }
        size_t i = home_of(table, old[n].high);
        while (!is_free(&slots[i]))
            i = next_of(table, i);
        slots[i] = old[n];
    }
    table->cursor = 0;
    free(old);
    return 0;
}

int cancels_restore(struct cancels *table, int id, struct cancel_print print, int64_t offset)
{
    int err = cancels_put(table, id, print, offset, SIZE_MAX);
    if (err != ERR_FULL)
        return err;
    err = grow(table);
    return err != 0 ? err : cancels_put(table, id, print, offset, SIZE_MAX);
}

bool cancels_void(struct cancels *table, int id, struct cancel_print print, int64_t origin)
{
    struct cancels_slot *slot = seek(table, id, print, NULL);
    if (slot == NULL || is_dead(table, slot) || offset_of(table, slot) <= origin)
        return false;
    slot->rest |= MATCHED;
    return true;
}

int64_t cancels_find(const struct cancels *table, int id, struct cancel_print print, bool *matched)
{
    const struct cancels_slot *slot = seek(table, id, print, NULL);
    if (slot == NULL || is_dead(table, slot))
        return -1;
    *matched = (slot->rest & MATCHED) != 0;
    return offset_of(table, slot);
}

void cancels_kill(struct cancels *table, int id, int64_t below)
{
    if (below > table->lanes[id].dead_below)
        table->lanes[id].dead_below = below;
}

/* Returns true if the way from `home` to `at` passes `hole`, so that an entry at `at` may move
   into the hole. */
static bool passes(size_t home, size_t hole, size_t at)
{
    return home <= at ? home <= hole && hole < at : home <= hole || hole < at;
}

/* Frees slot i and moves later entries of its run down, so that no way to them is broken. */
static void free_slot(struct cancels *table, size_t i)
{
    leave(table, &table->slots[i]);
    for (size_t at = next_of(table, i); !is_free(&table->slots[at]); at = next_of(table, at)) {
        if (!passes(home_of(table, table->slots[at].high), i, at))
            continue;
        table->slots[i] = table->slots[at];
        table->slots[at] = (struct cancels_slot){0};
        i = at;
    }
}

void cancels_clear(struct cancels *table, size_t n)
{
    while (n-- > 0) {
        const struct cancels_slot *slot = &table->slots[table->cursor];
        while (!is_free(slot) && is_dead(table, slot)) /* another entry may move here */
            free_slot(table, table->cursor);
        table->cursor = next_of(table, table->cursor);
    }
}

void cancels_sweep(struct cancels *table)
{
    table->cursor = 0;
    cancels_clear(table, table->slots_n);
}

static void check_slot(const struct cancels *table, size_t at)
{
    const struct cancels_slot *slot = &table->slots[at];
    assert(id_of(slot) >= 0 && (size_t)id_of(slot) < table->lanes_n);
    for (size_t i = home_of(table, slot->high); i != at; i = next_of(table, i)) {
        assert(!is_free(&table->slots[i]));
        assert(table->slots[i].high != slot->high ||
               table->slots[i].rest >> OWNER_SHIFT != slot->rest >> OWNER_SHIFT);
    }
}

void cancels_check(const struct cancels *table)
{
    size_t used = 0, owned = 0;
    for (size_t i = 0; i < table->slots_n; i++) {
        if (is_free(&table->slots[i]))
            continue;
        used++;
        check_slot(table, i);
    }
    for (size_t id = 0; id < table->lanes_n; id++)
        owned += table->lanes[id].n;
    assert(used == table->used && owned == used && used <= CANCELS_LOAD(table->slots_n));
    (void)owned;
}
