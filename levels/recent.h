/* SPDX-License-Identifier: Apache-2.0 */
/* recent: the names of requests that were delivered in the last seconds. With it, an event can
   report that a cancel came too late. The table has a fixed size, and a newer name takes the place
   of an older one, so some are not found. Names are fingerprints (cancels.h). Pure: the clock is a
   parameter. */
#ifndef DELAYBRIDGE_LEVELS_RECENT_H
#define DELAYBRIDGE_LEVELS_RECENT_H

#include "levels/cancels.h"

enum { RECENT_SLOTS = 1 << 15, RECENT_MS = 10000 };

struct recent_slot {
    uint64_t high;
    int64_t offset; /* of the request on the schedule topic */
    int64_t mono_ms;
    uint16_t low;
    uint16_t lane;
    bool used;
};

struct recent {
    struct recent_slot *slots; /* RECENT_SLOTS */
};

/* Returns 0 or ERR_NO_MEMORY. Memory that no name has touched is not resident. */
int recent_init(struct recent *recent) must_check;
void recent_deinit(struct recent *recent);

/* Notes that the request at offset of this lane was delivered at mono_ms. */
void recent_put(struct recent *recent, int lane, struct cancel_print print, int64_t offset,
                int64_t mono_ms);

/* Returns the offset of a request of this name that stands below `before`, and was delivered at
   most RECENT_MS ago. Returns -1 if none is known. */
int64_t recent_find(const struct recent *recent, int lane, struct cancel_print print,
                    int64_t before, int64_t mono_ms);

void recent_forget(struct recent *recent); /* forgets all */

#endif
