/* SPDX-License-Identifier: Apache-2.0 */
/* wheel: one-millisecond slots as rings of nodes, a bitmap of the slots in use, and the due nodes.
 */
#include "levels/wheel.h"

#include <assert.h>
#include <stdlib.h>

enum { WORD_BITS = 64 };

static struct wheel_node *node_of(const struct link *link)
{
    return list_item(link, struct wheel_node, link);
}

/* The slot depends on at_ms alone, so a step of the clock never misplaces a node. */
static size_t slot_of(const struct wheel *wheel, int64_t at_ms)
{
    return (size_t)((uint64_t)at_ms & (wheel->slots_n - 1));
}

static void slot_mark(struct wheel *wheel, size_t slot)
{
    uint64_t bit = (uint64_t)1 << slot % WORD_BITS;
    if (list_is_empty(&wheel->slots[slot]))
        wheel->occupied[slot / WORD_BITS] &= ~bit;
    else
        wheel->occupied[slot / WORD_BITS] |= bit;
}

/* Returns the distance from slot `from` to the first slot in use, `within` at most. */
static size_t slot_distance(const struct wheel *wheel, size_t from, size_t within)
{
    size_t distance = 0;
    while (distance < within) {
        size_t slot = (from + distance) & (wheel->slots_n - 1);
        uint64_t word = wheel->occupied[slot / WORD_BITS] >> slot % WORD_BITS;
        if (word != 0) {
            distance += (size_t)__builtin_ctzll(word);
            return distance < within ? distance : within;
        }
        distance += WORD_BITS - slot % WORD_BITS;
    }
    return within;
}

int wheel_init(struct wheel *wheel, size_t span_ms, int64_t now_ms)
{
    size_t slots_n = WORD_BITS;
    while (slots_n < span_ms && slots_n < WHEEL_SLOTS_MAX)
        slots_n *= 2;

    *wheel = (struct wheel){.slots_n = slots_n, .now_ms = now_ms};
    list_init(&wheel->ready);
    list_init(&wheel->late);
    wheel->slots = calloc(slots_n, sizeof *wheel->slots);
    wheel->occupied = calloc(slots_n / WORD_BITS, sizeof *wheel->occupied);
    if (!wheel->slots || !wheel->occupied) {
        wheel_deinit(wheel);
        return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < slots_n; i++)
        list_init(&wheel->slots[i]);
    return 0;
}

void wheel_deinit(struct wheel *wheel)
{
    free(wheel->slots);
    free(wheel->occupied);
    *wheel = (struct wheel){0};
}

bool wheel_holds(const struct wheel_node *node)
{
    return node->link.next != NULL;
}

/* Appends a node in order to ready, and any other to late. wheel_pop sorts all of late at once, so
   a backlog of n late records costs n log n, not n squared. */
static void due_add(struct wheel *wheel, struct wheel_node *node)
{
    bool in_order =
        list_is_empty(&wheel->late) &&
        (list_is_empty(&wheel->ready) || node_of(wheel->ready.head.prev)->at_ms <= node->at_ms);
    list_append(in_order ? &wheel->ready : &wheel->late, &node->link);
}

void wheel_add(struct wheel *wheel, struct wheel_node *node, int64_t at_ms)
{
    assert(!wheel_holds(node));
    node->at_ms = at_ms;
    wheel->count++;
    if (at_ms <= wheel->now_ms) {
        due_add(wheel, node);
        return;
    }
    size_t slot = slot_of(wheel, at_ms);
    list_append(&wheel->slots[slot], &node->link);
    slot_mark(wheel, slot);
}

void wheel_remove(struct wheel *wheel, struct wheel_node *node)
{
    assert(wheel_holds(node) && wheel->count > 0);
    list_remove(&node->link);
    wheel->count--;
    slot_mark(wheel, slot_of(wheel, node->at_ms)); /* also correct for a node that was ready */
}

/* Merges two sorted chains that end with NULL. Of equal nodes, those of a come first. */
static struct link *chain_merge(struct link *a, struct link *b)
{
    struct link *first = NULL, **end = &first;
    while (a && b) {
        struct link **from = node_of(b)->at_ms < node_of(a)->at_ms ? &b : &a;
        *end = *from;
        *from = (*from)->next;
        end = &(*end)->next;
    }
    *end = a ? a : b;
    return first;
}

/* A stable merge sort. sorted[i] is a chain of 2^i nodes that precede those of sorted[i - 1]. */
static struct link *chain_sort(struct link *chain)
{
    struct link *sorted[WORD_BITS] = {NULL};
    while (chain) {
        struct link *run = chain;
        chain = chain->next;
        run->next = NULL;
        int i = 0;
        for (; sorted[i]; i++) {
            run = chain_merge(sorted[i], run);
            sorted[i] = NULL;
        }
        sorted[i] = run;
    }
    for (int i = 0; i < WORD_BITS; i++)
        if (sorted[i])
            chain = chain_merge(sorted[i], chain);
    return chain;
}

/* Sorts late into ready. Of equal nodes, those already in ready were added earlier. */
static void late_settle(struct wheel *wheel)
{
    if (list_is_empty(&wheel->late))
        return;
    wheel->late.head.prev->next = NULL;
    struct link *chain = chain_sort(wheel->late.head.next);
    list_init(&wheel->late);

    struct link *const end = &wheel->ready.head, *place = end->prev;
    while (place != end && node_of(place)->at_ms > node_of(chain)->at_ms)
        place = place->prev;
    place = place->next;
    while (chain) {
        struct link *link = chain;
        chain = chain->next;
        link->next = NULL;
        while (place != end && node_of(place)->at_ms <= node_of(link)->at_ms)
            place = place->next;
        list_insert_before(place, link);
    }
}

/* Moves the due nodes of a slot to ready or late. Nodes of a later round stay. */
static void slot_collect(struct wheel *wheel, size_t slot)
{
    struct list *list = &wheel->slots[slot];
    struct link *next;
    for (struct link *link = list_first(list); link != NULL; link = next) {
        struct wheel_node *node = node_of(link);
        next = list_after(list, link);
        if (node->at_ms > wheel->now_ms)
            continue;
        list_remove(link);
        due_add(wheel, node);
    }
    slot_mark(wheel, slot);
}

void wheel_advance(struct wheel *wheel, int64_t now_ms)
{
    if (now_ms <= wheel->now_ms) {
        late_settle(wheel); /* nodes of late may not be due at the new time */
        wheel->now_ms = now_ms;
        return;
    }
    uint64_t passed_ms = (uint64_t)now_ms - (uint64_t)wheel->now_ms;
    size_t within = passed_ms < wheel->slots_n ? (size_t)passed_ms : wheel->slots_n;
    size_t first = slot_of(wheel, wheel->now_ms + 1);

    wheel->now_ms = now_ms;
    for (size_t i = slot_distance(wheel, first, within); i < within;) {
        slot_collect(wheel, (first + i) & (wheel->slots_n - 1));
        i++;
        i += slot_distance(wheel, first + i, within - i);
    }
}

struct wheel_node *wheel_pop(struct wheel *wheel)
{
    late_settle(wheel);
    struct link *first = list_first(&wheel->ready);
    if (first == NULL || node_of(first)->at_ms > wheel->now_ms)
        return NULL;
    struct wheel_node *node = node_of(first);
    list_remove(&node->link);
    wheel->count--;
    return node;
}

int64_t wheel_next_ms(const struct wheel *wheel)
{
    int64_t next_ms = INT64_MAX;
    if (!list_is_empty(&wheel->late))
        return wheel->now_ms;
    if (!list_is_empty(&wheel->ready))
        next_ms = node_of(wheel->ready.head.next)->at_ms;
    if (next_ms <= wheel->now_ms)
        return wheel->now_ms;

    size_t first = slot_of(wheel, wheel->now_ms + 1);
    size_t distance = slot_distance(wheel, first, wheel->slots_n);
    if (distance == wheel->slots_n)
        return next_ms;
    int64_t slot_ms = wheel->now_ms + 1 + (int64_t)distance;
    return slot_ms < next_ms ? slot_ms : next_ms;
}

static void list_visit(struct list *list, void (*visit)(struct wheel_node *node, void *ctx),
                       void *ctx)
{
    struct link *next;
    for (struct link *link = list_first(list); link != NULL; link = next) {
        next = list_after(list, link);
        visit(node_of(link), ctx);
    }
}

void wheel_each(struct wheel *wheel, void (*visit)(struct wheel_node *node, void *ctx), void *ctx)
{
    list_visit(&wheel->ready, visit, ctx);
    list_visit(&wheel->late, visit, ctx);
    for (size_t slot = 0; slot < wheel->slots_n; slot++)
        list_visit(&wheel->slots[slot], visit, ctx);
}

static size_t list_check(const struct list *list)
{
    size_t n = 0;
    const struct link *link = &list->head;
    do {
        assert(link->next != NULL && link->prev != NULL);
        assert(link->next->prev == link && link->prev->next == link);
        link = link->next;
        n++;
    } while (link != &list->head);
    return n - 1;
}

static size_t slot_check(const struct wheel *wheel, size_t slot)
{
    const struct list *list = &wheel->slots[slot];
    assert(!list_is_empty(list));
    for (const struct link *link = list_first(list); link; link = list_after(list, link))
        assert(node_of(link)->at_ms > wheel->now_ms &&
               slot_of(wheel, node_of(link)->at_ms) == slot);
    return list_check(list);
}

/* Visits only the slots marked in the bitmap, because it runs after every simulated step and nearly
   all slots are empty. A node in an unmarked slot makes the count differ. */
void wheel_check(const struct wheel *wheel)
{
    size_t count = list_check(&wheel->ready) + list_check(&wheel->late);
    int64_t last_ms = INT64_MIN;

    for (const struct link *link = list_first(&wheel->ready); link;
         link = list_after(&wheel->ready, link)) {
        assert(last_ms <= node_of(link)->at_ms);
        last_ms = node_of(link)->at_ms;
    }
    for (const struct link *link = list_first(&wheel->late); link;
         link = list_after(&wheel->late, link))
        assert(node_of(link)->at_ms <= wheel->now_ms);
    for (size_t word = 0; word < wheel->slots_n / WORD_BITS; word++)
        for (uint64_t bits = wheel->occupied[word]; bits != 0; bits &= bits - 1)
            count += slot_check(wheel, word * WORD_BITS + (size_t)__builtin_ctzll(bits));
    assert(count == wheel->count);
}
