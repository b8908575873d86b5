/* SPDX-License-Identifier: Apache-2.0 */
/* bytes: a run of bytes that somebody else owns. */
#ifndef DELAYBRIDGE_LEVELS_BYTES_H
#define DELAYBRIDGE_LEVELS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Kafka tells null from empty, and so does this: data == NULL is null (len is then 0), an empty run
   has a non-NULL data and len 0. Never owned, never terminated. */
struct bytes {
    const void *data;
    size_t len;
};

static inline struct bytes bytes_null(void)
{
    return (struct bytes){NULL, 0};
}

static inline struct bytes bytes_of(const void *data, size_t len)
{
    return (struct bytes){data, len};
}

/* The bytes of a C string, its terminator left out. */
static inline struct bytes bytes_text(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static inline bool bytes_is_null(struct bytes b)
{
    return b.data == NULL;
}

/* Null equals only null. */
static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    if (a.data == NULL || b.data == NULL)
        return a.data == b.data;
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

#endif
