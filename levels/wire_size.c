/* SPDX-License-Identifier: Apache-2.0 */
/* wire_size: sums of lengths. */
#include "levels/wire_size.h"

#include <string.h>

enum { LENGTHS_MAX = 4 + 4 }; /* two varints, of name and value */

size_t wire_size_without_value(const struct record *record)
{
    size_t size = record->key.len;
    for (size_t i = 0; i < record->headers_n; i++)
        size += strlen(record->headers[i].name) + record->headers[i].value.len + LENGTHS_MAX;
    return size;
}

size_t wire_size(const struct record *record)
{
    return wire_size_without_value(record) + record->value.len;
}
