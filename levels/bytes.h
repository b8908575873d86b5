/* SPDX-License-Identifier: Apache-2.0 */
/* bytes: a borrowed run of bytes. */
#ifndef DELAYBRIDGE_LEVELS_BYTES_H
#define DELAYBRIDGE_LEVELS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Null and empty differ, as they do in Kafka. A null run has data == NULL and len == 0. An empty
   run has len == 0 and a data that is not NULL. The bytes are never owned and never terminated. */
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

/* Returns the bytes of a C string, without the terminator. */
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
