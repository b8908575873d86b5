/* SPDX-License-Identifier: Apache-2.0 */
/* refusal: the sentence. */
#include "levels/refusal.h"

#include "levels/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The most bytes of a quoted value in a sentence, without quotes and dots. REASON_MAX has room for
   our own words, two quoted values and two instants. */
enum { QUOTED_MAX = 60 };

void refusal_begin(struct refusal *refusal, enum code code)
{
    refusal->code = code;
    refusal->reason[0] = '\0';
}

void refusal_say(struct refusal *refusal, const char *text)
{
    size_t n = strlen(refusal->reason), text_n = strlen(text);
    assert(n + text_n < REASON_MAX);
    memcpy(refusal->reason + n, text, text_n + 1);
}

/* Returns false for control characters, characters that break or reverse a line, and those that
   would make the quoting ambiguous. */
static bool is_plain(uint32_t point)
{
    if (point < 0xa0)
        return point >= ' ' && point < 0x7f && point != '\'' && point != '\\';
    bool turns = point == 0x061c || (point >= 0x200e && point <= 0x200f) ||
                 (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    return !turns;
}

void refusal_quote(struct refusal *refusal, struct bytes value)
{
    static const char HEX[] = "0123456789abcdef";
    const uint8_t *at = value.data;
    char text[QUOTED_MAX + 1];
    size_t n = 0, i = 0;
    for (size_t len; i < value.len; i += len) {
        uint32_t point = 0;
        len = utf8_take(bytes_of(at + i, value.len - i), &point);
        bool plain = len > 0 && is_plain(point);
        if (!plain)
            len = 1;
        size_t written = plain ? len : 4;
        if (n + written > QUOTED_MAX)
            break;
        const char escaped[4] = {'\\', 'x', HEX[at[i] >> 4], HEX[at[i] & 15]};
        memcpy(text + n, plain ? (const char *)at + i : escaped, written);
        n += written;
    }
    text[n] = '\0';
    refusal_say(refusal, "'");
    refusal_say(refusal, text);
    refusal_say(refusal, i < value.len ? "…'" : "'");
}
