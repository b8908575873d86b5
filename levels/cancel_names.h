/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_names: the names of cancels, in the order of their offsets. The table of cancels has
   fingerprints only, and an event that reports a cancel needs its name. It is a queue: names enter
   with the largest offset and leave with the smallest. It takes up to `limit` bytes, in one block
   that grows on demand and is freed when the queue is empty. Pure: no clock. */
#ifndef DELAYBRIDGE_LEVELS_CANCEL_NAMES_H
#define DELAYBRIDGE_LEVELS_CANCEL_NAMES_H

#include "levels/cancels.h"

struct cancel_names {
    uint8_t *bytes; /* owned; NULL: no name was put */
    size_t size;
    size_t first, end; /* the names are in [first, end) */
    size_t limit;
    int64_t last_offset; /* of the newest name ever put; -1: none */
};

struct named_cancel {
    int64_t offset;
    enum cancel_kind kind;
    struct bytes name; /* borrowed, until the next call that changes the queue */
};

void cancel_names_init(struct cancel_names *names, size_t limit);
void cancel_names_deinit(struct cancel_names *names);

/* Adds a cancel with a name of 1 to CANCEL_NAME_MAX bytes. Returns false if there is no room or
   memory, or if its offset is not above that of each earlier one. */
bool cancel_names_put(struct cancel_names *names, const struct named_cancel *cancel);

/* Returns false if the queue is empty. */
bool cancel_names_first(const struct cancel_names *names, struct named_cancel *cancel);

/* Removes the cancel with the smallest offset. The queue is not empty. */
void cancel_names_drop(struct cancel_names *names);

/* Removes all cancels. Keeps last_offset. */
void cancel_names_forget(struct cancel_names *names);

#endif
