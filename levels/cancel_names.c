/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_names: each cancel is an offset, a kind, a length, and the bytes of its name. */
#include "levels/cancel_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OFFSET_BYTES = 8, HEAD_BYTES = OFFSET_BYTES + 2, FIRST_SIZE = 4096 };

void cancel_names_init(struct cancel_names *names, size_t limit)
{
    *names = (struct cancel_names){.limit = limit, .last_offset = -1};
}

void cancel_names_deinit(struct cancel_names *names)
{
    cancel_names_forget(names);
}

void cancel_names_forget(struct cancel_names *names)
{
    free(names->bytes);
    names->bytes = NULL;
    names->size = names->first = names->end = 0;
}

static bool grow(struct cancel_names *names)
{
    size_t size = names->size == 0 ? FIRST_SIZE : 2 * names->size;
    if (size > names->limit)
        size = names->limit;
    uint8_t *bytes = size == names->size ? NULL : realloc(names->bytes, size);
    if (bytes == NULL)
        return false;
    names->bytes = bytes;
    names->size = size;
    return true;
}

/* Makes room behind the names. They move only over at least as many bytes, so that a long queue is
   not moved for each name. */
static bool make_room(struct cancel_names *names, size_t n)
{
    if (names->end + n <= names->size)
        return true;
    size_t used = names->end - names->first;
    if (names->first > 0 && names->first >= used) {
        memmove(names->bytes, names->bytes + names->first, used);
        names->first = 0;
        names->end = used;
    }
    while (names->end + n > names->size)
        if (!grow(names))
            return false;
    return true;
}

bool cancel_names_put(struct cancel_names *names, const struct named_cancel *cancel)
{
    size_t len = cancel->name.len;
    assert(len >= 1 && len <= CANCEL_NAME_MAX);
    if (cancel->offset <= names->last_offset || !make_room(names, HEAD_BYTES + len))
        return false;
    uint8_t *out = names->bytes + names->end;
    memcpy(out, &cancel->offset, OFFSET_BYTES);
    out[OFFSET_BYTES] = (uint8_t)cancel->kind;
    out[OFFSET_BYTES + 1] = (uint8_t)len;
    memcpy(out + HEAD_BYTES, cancel->name.data, len);
    names->end += HEAD_BYTES + len;
    names->last_offset = cancel->offset;
    return true;
}

bool cancel_names_first(const struct cancel_names *names, struct named_cancel *cancel)
{
    if (names->first == names->end)
        return false;
    const uint8_t *at = names->bytes + names->first;
    memcpy(&cancel->offset, at, OFFSET_BYTES);
    cancel->kind = (enum cancel_kind)at[OFFSET_BYTES];
    cancel->name = bytes_of(at + HEAD_BYTES, at[OFFSET_BYTES + 1]);
    return true;
}

void cancel_names_drop(struct cancel_names *names)
{
    assert(names->first < names->end);
    names->first += HEAD_BYTES + names->bytes[names->first + OFFSET_BYTES + 1];
    if (names->first == names->end)
        cancel_names_forget(names);
}
