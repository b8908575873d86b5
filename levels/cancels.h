/* SPDX-License-Identifier: Apache-2.0 */
/* cancels: the cancels in force, as a table from (lane, name) to the offset of the newest cancel on
   the schedule topic. A record of that name is void if its request stands before the cancel.

     cancels_open(t, first)          a lane is assigned; returns its id
     cancels_print(t, kind, name)    the fingerprint of a name
     cancels_put(t, id, print, c)    a cancel at offset c
     cancels_void(t, id, print, o)   is the request at offset o cancelled?
     cancels_kill(t, id, c)          no record is left that a cancel below c could void
     cancels_clear(t, n)             frees dead entries, a few each turn
     cancels_close(t, id)            the lane is gone

   The table holds fingerprints of 76 bits, not names. Two names of one lane that share a
   fingerprint would void each other's requests. With 5 million entries and 100,000 look-ups a
   second that is expected once in 4,800 years. Producers cannot choose names that collide, because
   the hash has a random seed.

   A slot is 16 bytes, and probing is linear. An entry is dead if its offset lies below its lane's
   last cancels_kill, or if its lane is closed. A dead entry never matches. It keeps its slot until
   cancels_clear reaches it or a new entry takes it.

   Invariants (cancels_check):
   - used is the number of slots that are not free, and at most CANCELS_LOAD of slots_n
   - a lane's n is the number of its slots, dead ones included
   - no free slot lies between an entry's home and its slot
   - a lane has at most one entry with the same fingerprint

   tests/bench/RESULTS.md has the cost of a look-up with prefetch. No function allocates, except
   cancels_init and cancels_restore. */
#ifndef DELAYBRIDGE_LEVELS_CANCELS_H
#define DELAYBRIDGE_LEVELS_CANCELS_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CANCELS_SLOT_BYTES = 16,
    CANCELS_LANES_MAX = 4095, /* ids, those of closed lanes too: 12 bits, and 0 is a free slot */
};
#define CANCELS_LOAD(slots_n) ((slots_n) / 5 * 4)

/* The largest distance of an offset from the lane's first one. */
#define CANCELS_REACH ((int64_t)1 << 38)

/* A dlb-id and an equal record key are different names. Entries on the topic of cancels have these
   values. */
enum cancel_kind { CANCEL_BY_KEY = 0, CANCEL_BY_ID = 1 };

enum { CANCEL_NAME_MAX = 128 };

/* Returns the name of a request with this record key and dlb-id (null: none), and sets its kind.
   Returns null if it has no name. A request without a record key has none, since the key decides
   its lane. A key is a name if it has 1 to CANCEL_NAME_MAX bytes. */
static inline struct bytes cancel_name(struct bytes key, struct bytes id, enum cancel_kind *kind)
{
    *kind = bytes_is_null(id) ? CANCEL_BY_KEY : CANCEL_BY_ID;
    if (bytes_is_null(key))
        return bytes_null();
    if (!bytes_is_null(id))
        return id;
    return key.len >= 1 && key.len <= CANCEL_NAME_MAX ? key : bytes_null();
}

struct cancel_print {
    uint64_t high;
    uint16_t low; /* 12 bits */
};

struct cancels_slot;

struct cancels_lane {
    int64_t first;      /* entries hold their distance from it */
    int64_t dead_below; /* INT64_MAX: closed */
    size_t n;           /* slots, those of dead entries included */
};

struct cancels {
    struct cancels_slot *slots;
    size_t slots_n;
    size_t used;
    size_t cursor; /* of cancels_clear */
    uint64_t seed;
    size_t lanes_n; /* ids in use: 0 .. lanes_n - 1 */
    struct cancels_lane lanes[CANCELS_LANES_MAX];
};

/* Makes an empty table of at most `memory` bytes, at least 5 slots. seed is random for each
   process. Memory that no entry has touched yet is not resident. Returns 0 or ERR_NO_MEMORY. */
int cancels_init(struct cancels *table, size_t memory, uint64_t seed) must_check;
void cancels_deinit(struct cancels *table);

/* Opens a lane whose offsets are near `first`, for example its committed base. Returns its id, or
   ERR_FULL if CANCELS_LANES_MAX ids are taken by open lanes and by closed ones that are not cleared
   yet. */
int cancels_open(struct cancels *table, int64_t first) must_check;

/* Ends a lane. All its entries are dead. The id is free for another lane when the last of them is
   cleared. */
void cancels_close(struct cancels *table, int id);

struct cancel_print cancels_print(const struct cancels *table, enum cancel_kind kind,
                                  struct bytes name);

/* Loads the slot of a fingerprint into the cache, for a look-up that follows soon. */
void cancels_prefetch(const struct cancels *table, struct cancel_print print);

/* Enters a cancel at `offset`. If the name has an entry with a larger offset, nothing changes.
   `limit` is the lane's share. Returns ERR_FULL for a new name if the lane has that many slots, or
   if the table has CANCELS_LOAD used ones. Returns ERR_RANGE if the offset is out of reach. A call
   of cancels_sweep may make room. */
int cancels_put(struct cancels *table, int id, struct cancel_print print, int64_t offset,
                size_t limit) must_check;

/* Enters a cancel without a limit. A table without room grows to twice its slots. Returns 0,
   ERR_RANGE or ERR_NO_MEMORY. */
int cancels_restore(struct cancels *table, int id, struct cancel_print print,
                    int64_t offset) must_check;

/* Returns true if the newest cancel of the name has a larger offset than `origin`, and marks the
   entry as matched. */
bool cancels_void(struct cancels *table, int id, struct cancel_print print, int64_t origin);

/* Returns the offset of the newest cancel of the name, or -1. Sets *matched to whether this cancel
   has voided a record. */
int64_t cancels_find(const struct cancels *table, int id, struct cancel_print print, bool *matched);

/* Returns false if no entry of the lane can match. Costs no look-up. */
static inline bool cancels_has(const struct cancels *table, int id)
{
    return table->lanes[id].n > 0;
}

/* Declares the lane's entries with an offset below this one dead. An offset below that of an
   earlier call changes nothing. */
void cancels_kill(struct cancels *table, int id, int64_t below);

/* Frees the dead entries among the next n slots. */
void cancels_clear(struct cancels *table, size_t n);

/* Frees all dead entries. Visits each slot, so it takes milliseconds in a large table. */
void cancels_sweep(struct cancels *table);

/* Asserts the invariants. */
void cancels_check(const struct cancels *table);

#endif
