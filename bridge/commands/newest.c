/* SPDX-License-Identifier: Apache-2.0 */
/* newest: a heap of items. Its root is the oldest item, which is dropped first. */
#include "bridge/commands/newest.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

static bool is_newer(const struct newest_item *a, const struct newest_item *b)
{
    if (a->at_wall_ms != b->at_wall_ms)
        return a->at_wall_ms > b->at_wall_ms;
    return a->partition != b->partition ? a->partition > b->partition : a->offset > b->offset;
}

bool newest_is_cut(const struct newest *newest)
{
    return newest->floor.bytes > 0;
}

bool newest_wants(const struct newest *newest, const struct newest_item *item)
{
    if (newest->most == 0 || (newest_is_cut(newest) && is_newer(&newest->floor, item)))
        return false;
    return newest->n < newest->most || is_newer(item, &newest->all[0]);
}

static void swap(struct newest_item *a, struct newest_item *b)
{
    struct newest_item other = *a;
    *a = *b;
    *b = other;
}

static void move_up(struct newest *newest, size_t i)
{
    for (; i > 0 && is_newer(&newest->all[(i - 1) / 2], &newest->all[i]); i = (i - 1) / 2)
        swap(&newest->all[(i - 1) / 2], &newest->all[i]);
}

static void move_down(struct newest *newest)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < newest->n; i = child) {
        if (child + 1 < newest->n && is_newer(&newest->all[child], &newest->all[child + 1]))
            child++;
        if (!is_newer(&newest->all[i], &newest->all[child]))
            return;
        swap(&newest->all[i], &newest->all[child]);
    }
}

static struct newest_item drop_oldest(struct newest *newest)
{
    struct newest_item oldest = newest->all[0];
    newest->release(oldest.record);
    oldest.record = NULL;
    newest->bytes -= oldest.bytes;
    newest->all[0] = newest->all[--newest->n];
    move_down(newest);
    return oldest;
}

static int make_room(struct newest *newest)
{
    if (newest->n < newest->room)
        return 0;
    size_t room = newest->room == 0 ? FIRST_ROOM : 2 * newest->room;
    struct newest_item *all = realloc(newest->all, room * sizeof *all);
    if (all == NULL)
        return ERR_NO_MEMORY;
    newest->all = all;
    newest->room = room;
    return 0;
}

int newest_add(struct newest *newest, const struct newest_item *item)
{
    int err = make_room(newest);
    if (err != 0)
        return err;
    newest->all[newest->n++] = *item;
    newest->bytes += item->bytes;
    move_up(newest, newest->n - 1);
    while (newest->n > newest->most)
        (void)drop_oldest(newest);
    while (newest->bytes > newest->most_bytes && newest->n > 1)
        newest->floor = drop_oldest(newest);
    return 0;
}

static int by_age(const void *a, const void *b)
{
    return is_newer(b, a) - is_newer(a, b);
}

void newest_sort(struct newest *newest)
{
    if (newest->n > 0)
        qsort(newest->all, newest->n, sizeof *newest->all, by_age);
}

void newest_deinit(struct newest *newest)
{
    for (size_t i = 0; i < newest->n; i++)
        newest->release(newest->all[i].record);
    free(newest->all);
    newest->all = NULL;
    newest->n = newest->room = 0;
}
