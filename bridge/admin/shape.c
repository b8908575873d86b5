/* SPDX-License-Identifier: Apache-2.0 */
/* Counts brackets and commas outside of strings. */
#include "bridge/admin/shape.h"

/* Returns the end of the string that begins at i. */
static size_t skip_string(const char *data, size_t i, size_t n)
{
    for (i++; i < n && data[i] != '"'; i++)
        i += data[i] == '\\';
    return i;
}

bool shape_fits(struct bytes text)
{
    const char *data = text.data;
    int depth = 0, values = 0;
    for (size_t i = 0; i < text.len; i++) {
        switch (data[i]) {
        case '"':
            i = skip_string(data, i, text.len);
            break;
        case '[':
        case '{':
            depth++;
            values++;
            break;
        case ']':
        case '}':
            depth--;
            break;
        case ',':
            values++;
            break;
        }
        if (depth > SHAPE_DEPTH_MAX || values > SHAPE_VALUES_MAX)
            return false;
    }
    return true;
}
