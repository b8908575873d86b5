/* SPDX-License-Identifier: Apache-2.0 */
/* A strict parser: decimal digits, no sign and no space. */
#include "bridge/commands/place.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* Reads "/" and a number of at most most. Moves *text behind it. */
static bool take_number(struct bytes *text, int64_t most, int64_t *number)
{
    const char *at = text->data;
    size_t n = 1;
    int64_t value = 0;
    if (text->len < 2 || at[0] != '/')
        return false;
    for (; n < text->len && at[n] >= '0' && at[n] <= '9'; n++) {
        int digit = at[n] - '0';
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *text = bytes_of(at + n, text->len - n);
    *number = value;
    return n > 1;
}

int place_parse(struct bytes text, const char *topic, struct place *place)
{
    int64_t partition, offset;
    size_t n = strlen(topic);
    if (bytes_is_null(text) || text.len < n || memcmp(text.data, topic, n) != 0)
        return ERR_DATA;
    struct bytes rest = bytes_of((const char *)text.data + n, text.len - n);
    if (!take_number(&rest, INT_MAX, &partition) || !take_number(&rest, INT64_MAX, &offset) ||
        rest.len > 0)
        return ERR_DATA;
    *place = (struct place){(int)partition, offset};
    return 0;
}
