/* SPDX-License-Identifier: Apache-2.0 */
/* origin: the parser. */
#include "levels/origin.h"

#include "levels/cursor.h"
#include "levels/topic_name.h"

bool origin_parse(struct bytes text, struct origin *origin)
{
    struct cursor c = cursor_of(text);
    const char *start = c.at;
    int64_t lane;
    while (!cursor_at_end(&c) && *c.at != '/')
        c.at++;
    origin->topic = bytes_of(start, (size_t)(c.at - start));
    if (!topic_name_is_legal(origin->topic) || !cursor_take(&c, '/') ||
        !cursor_take_number(&c, &lane) || lane > INT32_MAX || !cursor_take(&c, '/') ||
        !cursor_take_number(&c, &origin->offset) || !cursor_at_end(&c))
        return false;
    origin->lane = (uint32_t)lane;
    return true;
}
