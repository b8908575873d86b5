/* SPDX-License-Identifier: Apache-2.0 */
/* limit: limits how many lines of one kind are written. The kind of a line is a key: a message, or
   an event with its target. In each period of every_ms, the first `burst` lines of a key pass. The
   others are counted, and the next line that passes reports the count.

   The number of keys may grow, but memory and lines are bounded. LIMIT_KEYS keys have a slot each.
   A key without a slot uses the slot of its group, such as the entry of `targets` that its target
   matches. So a flood of keys of one group does not hide the lines of another group. LIMIT_GROUPS
   groups have a slot each, and all other lines share one. So at most LIMIT_SLOTS * burst lines pass
   within every_ms. A slot whose period is over is free again. Its count moves to the shared slot.

   Every line either passes, or is part of exactly one reported count, or is still counted by
   limit_pending. Not safe for threads: the owner guards it. The caller passes the time. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_LIMIT_H
#define DELAYBRIDGE_BRIDGE_BASE_LIMIT_H

#include "levels/bytes.h"

#include <stdint.h>

enum { LIMIT_KEYS = 64, LIMIT_GROUPS = 64, LIMIT_SLOTS = LIMIT_KEYS + LIMIT_GROUPS + 1 };

/* The kind of a line. */
struct limit_kind {
    uint64_t key;
    uint64_t group; /* 0: none */
};

struct limit_slot {
    uint64_t key; /* 0: free */
    int64_t since_mono_ms;
    uint64_t suppressed; /* lines that did not pass and are not reported yet */
    int passed;          /* lines in this period */
};

struct limit {
    int64_t every_ms;
    int burst;
    struct limit_slot keys[LIMIT_KEYS];
    struct limit_slot groups[LIMIT_GROUPS];
    struct limit_slot shared;
};

/* Initializes a static object. */
#define LIMIT_INIT(ms, n)              \
    {                                  \
        .every_ms = (ms), .burst = (n) \
    }

/* Extends a key by more bytes; start with LIMIT_KEY. Never 0. */
#define LIMIT_KEY 1
uint64_t limit_key(uint64_t key, struct bytes more);

/* Returns whether to write the line. If so, sets *suppressed to the number of lines of its slot
   that did not pass since the last one that did. */
bool limit_pass(struct limit *limit, struct limit_kind kind, int64_t mono_ms, uint64_t *suppressed);

/* Returns the number of lines of all keys that did not pass and that no line has reported yet. */
uint64_t limit_pending(const struct limit *limit);

#endif
