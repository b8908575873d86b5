/* SPDX-License-Identifier: Apache-2.0 */
/* base64: groups of three bytes as four characters. */
#include "levels/base64.h"

#include <stdlib.h>

static const char CHARACTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_put(char *out, struct bytes bytes)
{
    const uint8_t *at = bytes.data;
    size_t written = 0;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = (uint32_t)at[i] << 16;
        if (n > 1)
            group |= (uint32_t)at[i + 1] << 8;
        if (n > 2)
            group |= at[i + 2];
        for (size_t k = 0; k <= n; k++)
            out[written++] = CHARACTERS[group >> (18 - 6 * k) & 63];
    }
    return written;
}

ptrdiff_t base64_take(struct bytes text, uint8_t *out, size_t room)
{
    const char *at = text.data;
    size_t n = 0;
    uint32_t bits = 0, bits_n = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *character = memchr(CHARACTERS, at[i], sizeof CHARACTERS - 1);
        if (character == NULL)
            return ERR_DATA;
        bits = bits << 6 | (uint32_t)(character - CHARACTERS);
        bits_n += 6;
        if (bits_n < 8)
            continue;
        if (n == room)
            return ERR_DATA;
        bits_n -= 8;
        out[n++] = (uint8_t)(bits >> bits_n);
        bits &= (1U << bits_n) - 1;
    }
    return bits_n == 6 || bits != 0 ? ERR_DATA : (ptrdiff_t)n;
}

char *base64_encode(struct bytes bytes)
{
    char *text = malloc((bytes.len + 2) / 3 * 4 + 1);
    if (text == NULL)
        return NULL;
    size_t n = base64_put(text, bytes);
    while (n % 4 != 0)
        text[n++] = '=';
    text[n] = '\0';
    return text;
}

int base64_decode(struct bytes text, struct bytes *out)
{
    const char *at = text.data;
    size_t n = text.len, room = text.len / 4 * 3;
    if (n % 4 != 0)
        return ERR_DATA;
    for (int padding = 0; padding < 2 && n > 0 && at[n - 1] == '='; padding++)
        n--;
    uint8_t *bytes = malloc(room + 1);
    if (bytes == NULL)
        return ERR_NO_MEMORY;
    ptrdiff_t len = base64_take(bytes_of(at, n), bytes, room);
    if (len < 0) {
        free(bytes);
        return ERR_DATA;
    }
    *out = bytes_of(bytes, (size_t)len);
    return 0;
}
