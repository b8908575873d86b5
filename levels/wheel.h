/* SPDX-License-Identifier: Apache-2.0 */
/* wheel: a timing wheel of one-millisecond slots that holds the next seconds in memory. Time is
   given from outside and never asked for. Late rather than early: a node is handed out only while
   the time the wheel was told last is >= its at_ms. Nodes are the caller's; the wheel allocates
   only its slots, at start.

     wheel_add(w, node, at)      hold until at
     wheel_advance(w, now)       tell the time
     wheel_pop(w)                what is due, in order of at_ms, equal ones in order of adding
     wheel_next_ms(w)            when to come back

   Invariants (wheel_check): count is the number of linked nodes; every node in a slot has
   at_ms > now and at_ms % slots_n is the slot; the occupancy bitmap says exactly which slots are
   not empty; ready is sorted; late holds only what is due. Add and remove are O(1), pop too, but
   that nodes which fell due out of order are first sorted in, all together; next is O(slots/64),
   advance that and what it passes, however far it goes. */
#ifndef DELAYBRIDGE_LEVELS_WHEEL_H
#define DELAYBRIDGE_LEVELS_WHEEL_H

#include "levels/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wheel_node {
    struct wheel_node *next, *prev; /* both NULL: in no wheel */
    int64_t at_ms;
};

struct wheel {
    struct wheel_node *slots; /* list heads, slots_n of them */
    uint64_t *occupied;
    size_t slots_n;          /* a power of two */
    struct wheel_node ready; /* fell due: sorted by at_ms */
    struct wheel_node late;  /* due, not yet sorted into ready */
    int64_t now_ms;
    size_t count;
};

/* Slots of 24 bytes: 24 MiB at most, for 17 minutes. */
enum { WHEEL_SLOTS_MAX = 1 << 20 };

/* span_ms: how far ahead nodes are usually added; rounded up to a power of two, and no more than
   WHEEL_SLOTS_MAX. A node further ahead is kept all the same (it shares a slot and is passed over
   until its round comes). Returns 0 or ERR_NO_MEMORY. */
int wheel_init(struct wheel *wheel, size_t span_ms, int64_t now_ms) must_check;
void wheel_deinit(struct wheel *wheel);

/* The node must be in no wheel. at_ms <= now makes it due at once. */
void wheel_add(struct wheel *wheel, struct wheel_node *node, int64_t at_ms);
void wheel_remove(struct wheel *wheel, struct wheel_node *node);
bool wheel_holds(const struct wheel_node *node);

/* Tell the time. What fell due is ready, sorted by at_ms. A time earlier than before is taken as it
   is: nothing becomes due, nodes wait for the clock to come round, also those that were ready;
   nodes added later count from it. */
void wheel_advance(struct wheel *wheel, int64_t now_ms);

/* The next ready node, unlinked, or NULL. */
struct wheel_node *wheel_pop(struct wheel *wheel);

/* Time at which to come back: now_ms if something is ready, INT64_MAX if the wheel is empty, else
   never later than the first at_ms, and later than now_ms. */
int64_t wheel_next_ms(const struct wheel *wheel);

/* Visit every node in no order, also ready ones; the visitor may remove the node it is given. */
void wheel_each(struct wheel *wheel, void (*visit)(struct wheel_node *node, void *ctx), void *ctx);

void wheel_check(const struct wheel *wheel);

#endif
