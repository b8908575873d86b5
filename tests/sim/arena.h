/* SPDX-License-Identifier: Apache-2.0 */
/* arena: memory that lives as long as one seed. Memory that is lent to the bridge never comes from
   here, so that a sanitizer sees each wrong access of the bridge. */
#ifndef DELAYBRIDGE_TESTS_SIM_ARENA_H
#define DELAYBRIDGE_TESTS_SIM_ARENA_H

#include "levels/bytes.h"

#include <stdlib.h>

enum { ARENA_CHUNK = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(16) char data[];
};

struct arena {
    struct arena_chunk *chunks;
};

/* Returns zeroed memory. */
static inline void *arena_take(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = arena->chunks;
    size = (size + 15) & ~(size_t)15;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        size_t room = size > ARENA_CHUNK ? size : (size_t)ARENA_CHUNK;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            abort();
        *chunk = (struct arena_chunk){.next = arena->chunks, .size = room};
        arena->chunks = chunk;
    }
    void *data = chunk->data + chunk->used;
    chunk->used += size;
    return memset(data, 0, size);
}

/* Releases all memory but one chunk, which later calls use again. */
static inline void arena_reset(struct arena *arena)
{
    while (arena->chunks != NULL && arena->chunks->next != NULL) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    if (arena->chunks != NULL)
        arena->chunks->used = 0;
}

static inline void arena_deinit(struct arena *arena)
{
    arena_reset(arena);
    free(arena->chunks);
    arena->chunks = NULL;
}

static inline struct bytes arena_copy(struct arena *arena, struct bytes from)
{
    if (bytes_is_null(from))
        return from;
    char *to = arena_take(arena, from.len + 1);
    memcpy(to, from.data, from.len);
    return bytes_of(to, from.len);
}

#endif
