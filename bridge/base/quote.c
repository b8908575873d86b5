/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes characters, and distinguishes texts from other bytes. */
#include "bridge/base/quote.h"

#include "levels/utf8.h"

#include <stdio.h>
#include <string.h>

/* Writes the character at s as it stands in a JSON string. Returns its length in s. */
static size_t escape(const unsigned char *s, char out[8])
{
    static const char from[] = "\"\\\n\r\t", to[] = "\"\\nrt";
    const char *simple = strchr(from, s[0]);
    uint32_t point;
    size_t n = utf8_take(bytes_of(s, strnlen((const char *)s, 4)), &point);
    if (simple != NULL)
        snprintf(out, 8, "\\%c", to[simple - from]);
    else if (n == 0)
        snprintf(out, 8, "\\ufffd");
    else if (s[0] < 0x20 || s[0] == 0x7f)
        snprintf(out, 8, "\\u%04x", s[0]);
    else
        snprintf(out, 8, "%.*s", (int)n, (const char *)s);
    return n > 0 ? n : 1;
}

const char *quote_text(const char *text, char *out, size_t size)
{
    if (size < 3) {
        if (size > 0)
            out[0] = '\0';
        return out;
    }
    const unsigned char *s = (const unsigned char *)text;
    size_t n = 0, used;
    out[n++] = '"';
    for (; *s != '\0'; s += used) {
        char one[8];
        used = escape(s, one);
        size_t length = strlen(one);
        if (n + length + 2 > size)
            break;
        memcpy(out + n, one, length);
        n += length;
    }
    out[n++] = '"';
    out[n] = '\0';
    return out;
}

static bool is_plain_text(const unsigned char *s, size_t n)
{
    uint32_t point;
    for (size_t i = 0; i < n;) {
        size_t used = utf8_take(bytes_of(s + i, n - i), &point);
        if (used == 0 || s[i] < 0x20 || s[i] == 0x7f)
            return false;
        i += used;
    }
    return true;
}

/* Returns the length without a last character that lost its end when the bytes were cut. */
static size_t whole_characters(const unsigned char *s, size_t n)
{
    size_t back = 1;
    uint32_t point;
    while (back < 4 && back < n && (s[n - back] & 0xc0) == 0x80)
        back++;
    return utf8_take(bytes_of(s + n - back, back), &point) == back ? n : n - back;
}

const char *quote_bytes(struct bytes bytes, char out[QUOTE_BYTES_TEXT_MAX])
{
    unsigned char text[QUOTE_BYTES_MAX + 4] = {0};
    bool cut = bytes.len > QUOTE_BYTES_MAX;
    size_t n = cut ? QUOTE_BYTES_MAX : bytes.len;
    if (bytes_is_null(bytes)) {
        strcpy(out, "null");
        return out;
    }
    memcpy(text, bytes.data, n);
    size_t whole = cut ? whole_characters(text, n) : n;
    if (is_plain_text(text, whole)) {
        strcpy((char *)text + whole, cut ? "..." : "");
        return quote_text((char *)text, out, QUOTE_BYTES_TEXT_MAX);
    }
    char *at = out + sprintf(out, "\"0x");
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%02x", text[i]);
    strcpy(at, cut ? "...\"" : "\"");
    return out;
}
