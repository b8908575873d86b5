/* SPDX-License-Identifier: Apache-2.0 */
/* wheel: a timing wheel of one-millisecond slots that holds the next seconds in memory. The caller
   passes the time. Late rather than early: the wheel returns a node only if the last time passed to
   it is >= the node's at_ms. The caller owns the nodes. The wheel allocates only its slots, in
   wheel_init.

     wheel_add(w, node, at)      keep the node until the time `at`
     wheel_advance(w, now)       pass the time
     wheel_pop(w)                take a due node: in order of at_ms, equal ones in order of adding
     wheel_next_ms(w)            get the time of the next call

   Invariants (wheel_check):
   - count is the number of linked nodes
   - each node in a slot has at_ms > now_ms, and the slot is at_ms % slots_n
   - a bit of `occupied` is set if and only if its slot is not empty
   - ready is sorted, and each node of late is due

   Cost: add and remove are O(1), next is O(slots/64). Pop is O(1), after it has sorted all nodes of
   late at once. Advance costs O(slots/64) and the nodes that fall due, for any step. */
#ifndef DELAYBRIDGE_LEVELS_WHEEL_H
#define DELAYBRIDGE_LEVELS_WHEEL_H

#include "levels/err.h"
#include "levels/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wheel_node {
    struct link link; /* in no list: in no wheel */
    int64_t at_ms;
};

struct wheel {
    struct list *slots; /* slots_n of them */
    uint64_t *occupied;
    size_t slots_n;    /* a power of two */
    struct list ready; /* due nodes, sorted by at_ms */
    struct list late;  /* due nodes that are not yet sorted into ready */
    int64_t now_ms;
    size_t count;
};

/* Slots have 16 bytes: 16 MiB at most, for 17 minutes. */
enum { WHEEL_SLOTS_MAX = 1 << 20 };

/* Allocates slots for nodes up to span_ms ahead: a power of two, WHEEL_SLOTS_MAX at most. A node
   further ahead is allowed: it shares a slot with nearer nodes, and is skipped until it is due.
   Returns 0 or ERR_NO_MEMORY. */
int wheel_init(struct wheel *wheel, size_t span_ms, int64_t now_ms) must_check;
void wheel_deinit(struct wheel *wheel);

/* Adds a node, which must be in no wheel. It is due at once if at_ms <= now_ms. */
void wheel_add(struct wheel *wheel, struct wheel_node *node, int64_t at_ms);
void wheel_remove(struct wheel *wheel, struct wheel_node *node);
bool wheel_holds(const struct wheel_node *node);

/* Sets the time. Nodes with at_ms <= now_ms become ready, sorted by at_ms. An earlier time than
   before is allowed: then no node becomes due, and nodes that were ready wait until the clock
   reaches their at_ms again. */
void wheel_advance(struct wheel *wheel, int64_t now_ms);

/* Removes and returns the next ready node, or returns NULL. */
struct wheel_node *wheel_pop(struct wheel *wheel);

/* Returns the time of the next call: now_ms if a node is ready, INT64_MAX if the wheel is empty.
   Otherwise it is later than now_ms and not later than the first at_ms. */
int64_t wheel_next_ms(const struct wheel *wheel);

/* Visits each node, ready ones included, in no fixed order. The visitor may remove its node. */
void wheel_each(struct wheel *wheel, void (*visit)(struct wheel_node *node, void *ctx), void *ctx);

/* Asserts the invariants. */
void wheel_check(const struct wheel *wheel);

#endif
