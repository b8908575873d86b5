/* SPDX-License-Identifier: Apache-2.0 */
/* newest: keeps the newest of many records. It keeps at most `most` of them and `most_bytes`, and
   always at least one. It never leaves out a record that is newer than one that it keeps. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_NEWEST_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_NEWEST_H

#include "levels/err.h"
#include "levels/record.h"

#include <stddef.h>

struct newest_item {
    int64_t at_wall_ms; /* of two items of one time, the one with the larger place is newer */
    int partition;
    int64_t offset;
    struct record *record; /* owned once it is kept */
    size_t bytes;          /* of the record in memory */
};

struct newest {
    struct newest_item *all; /* owned: a heap whose root is the oldest one */
    size_t n, room;          /* room: allocated */
    size_t most, most_bytes; /* set by the caller */
    size_t bytes;
    struct newest_item floor; /* the newest one that was dropped for its size; bytes 0: none */
    void (*release)(struct record *record);
};

/* Returns whether newest_add would keep this item. Its record need not be set. */
bool newest_wants(const struct newest *newest, const struct newest_item *item);

/* Keeps an item that newest_wants, and drops the oldest ones that have no room then. Takes the
   record. Returns 0, or ERR_NO_MEMORY: the caller still owns the record. */
int newest_add(struct newest *newest, const struct newest_item *item) must_check;

/* Sorts the items, the newest first. Add none afterwards. */
void newest_sort(struct newest *newest);

/* Returns whether items were dropped for their size. */
bool newest_is_cut(const struct newest *newest);

void newest_deinit(struct newest *newest);

#endif
