/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: decodes one character at a time. */
#include "levels/utf8.h"

size_t utf8_take(struct bytes text, uint32_t *point)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *at = text.data;
    if (text.len == 0)
        return 0;
    uint8_t lead = at[0];
    size_t len = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (len == 0 || len > text.len || lead > 0xf4)
        return 0;
    *point = len == 1 ? lead : lead & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (at[i] & 0x3f);
    }
    bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < LEAST[len] || *point > 0x10ffff || surrogate ? 0 : len;
}

bool utf8_is_valid(struct bytes text)
{
    const uint8_t *at = text.data;
    uint32_t point;
    for (size_t i = 0, len; i < text.len; i += len)
        if (at[i] < 0x80)
            len = 1;
        else if ((len = utf8_take(bytes_of(at + i, text.len - i), &point)) == 0)
            return false;
    return true;
}

size_t utf8_cut(struct bytes text, size_t most)
{
    const uint8_t *at = text.data;
    size_t n = most;
    if (text.len <= most)
        return text.len;
    while (n > 0 && (at[n] & 0xc0) == 0x80)
        n--;
    return n;
}
