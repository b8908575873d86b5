/* SPDX-License-Identifier: Apache-2.0 */
/* owned: bytes on the heap, for a command that keeps a part of a record. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_OWNED_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_OWNED_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdlib.h>

/* Copies bytes; the caller calls owned_drop. Null stays null, and empty bytes do not become null.
   Returns 0, or ERR_NO_MEMORY and sets *to to null. */
static inline int owned_copy(struct bytes from, struct bytes *to)
{
    char *data = bytes_is_null(from) ? NULL : malloc(from.len + 1);
    *to = bytes_null();
    if (bytes_is_null(from))
        return 0;
    if (data == NULL)
        return ERR_NO_MEMORY;
    memcpy(data, from.data, from.len);
    *to = bytes_of(data, from.len);
    return 0;
}

static inline void owned_drop(struct bytes *bytes)
{
    free((void *)bytes->data);
    *bytes = bytes_null();
}

#endif
