/* SPDX-License-Identifier: Apache-2.0 */
/* list: a doubly linked list of links that are embedded in the items. The list owns no item. A link
   is in at most one list. A link in no list has next == NULL. */
#ifndef DELAYBRIDGE_LEVELS_LIST_H
#define DELAYBRIDGE_LEVELS_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *next, *prev;
};

struct list {
    struct link head;
};

static inline void list_init(struct list *list)
{
    list->head.next = list->head.prev = &list->head;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->head.next == &list->head;
}

/* Inserts link before place, which is in a list or is its head. */
static inline void list_insert_before(struct link *place, struct link *link)
{
    assert(link->next == NULL);
    link->prev = place->prev;
    link->next = place;
    link->prev->next = link;
    place->prev = link;
}

static inline void list_append(struct list *list, struct link *link)
{
    list_insert_before(&list->head, link);
}

static inline void list_remove(struct link *link)
{
    assert(link->next != NULL);
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = link->prev = NULL;
}

/* Returns the first link without removing it; NULL if the list is empty. */
static inline struct link *list_first(const struct list *list)
{
    return list_is_empty(list) ? NULL : list->head.next;
}

/* Returns the link that follows; NULL at the end of the list. */
static inline struct link *list_after(const struct list *list, const struct link *link)
{
    return link->next == &list->head ? NULL : link->next;
}

/* Returns the link that precedes; NULL at the start of the list. */
static inline struct link *list_before(const struct list *list, const struct link *link)
{
    return link->prev == &list->head ? NULL : link->prev;
}

#define list_item(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

#endif
