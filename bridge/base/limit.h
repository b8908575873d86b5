/* SPDX-License-Identifier: Apache-2.0 */
/* limit: how often lines of one kind are written. A line's kind is a key: a message, or an event
   with its target. Of one key the first `burst` lines of each period of every_ms pass; all others
   are counted, and the next line that passes says how many.

   Bounded, whatever keys come: LIMIT_KEYS of them have a slot, and all that find none share one.
   So at most (LIMIT_KEYS + 1) * burst lines pass within every_ms. A slot is free for another key
   once its period is over; what it has counted then moves to the shared slot.

   Every line either passes, or is in exactly one count that a later line reports, or is still in
   limit_pending. Not safe for threads: the owner guards it. The caller passes the time. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_LIMIT_H
#define DELAYBRIDGE_BRIDGE_BASE_LIMIT_H

#include "levels/bytes.h"

#include <stdint.h>

enum { LIMIT_KEYS = 64 };

struct limit_slot {
    uint64_t key; /* 0: free */
    int64_t since_mono_ms;
    uint64_t suppressed; /* not reported yet */
    int passed;          /* of this period */
};

struct limit {
    int64_t every_ms;
    int burst;
    struct limit_slot slots[LIMIT_KEYS];
    struct limit_slot shared;
};

/* For an object without a runtime start. */
#define LIMIT_INIT(ms, n)              \
    {                                  \
        .every_ms = (ms), .burst = (n) \
    }

/* Extends a key by more bytes; start with LIMIT_KEY. Never 0. */
#define LIMIT_KEY 0xcbf29ce484222325u
uint64_t limit_key(uint64_t key, struct bytes more);

/* True: write the line. *suppressed is then the number of lines of this key that did not pass since
   the last one that did. */
bool limit_pass(struct limit *limit, uint64_t key, int64_t mono_ms, uint64_t *suppressed);

/* Lines that did not pass and that no line has reported yet, of all keys. */
uint64_t limit_pending(const struct limit *limit);

#endif
