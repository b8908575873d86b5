/* SPDX-License-Identifier: Apache-2.0 */
/* base64: groups of three bytes as four characters. */
#include "levels/base64.h"

#include <stdint.h>
#include <stdlib.h>

static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(struct bytes bytes)
{
    const uint8_t *at = bytes.data;
    char *text = malloc((bytes.len + 2) / 3 * 4 + 1), *out = text;
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = (uint32_t)at[i] << 16;
        if (n > 1)
            group |= (uint32_t)at[i + 1] << 8;
        if (n > 2)
            group |= at[i + 2];
        *out++ = LETTERS[group >> 18];
        *out++ = LETTERS[group >> 12 & 63];
        *out++ = n > 1 ? LETTERS[group >> 6 & 63] : '=';
        *out++ = n > 2 ? LETTERS[group & 63] : '=';
    }
    *out = '\0';
    return text;
}

static int letter_value(char letter)
{
    const char *at = letter == '\0' ? NULL : strchr(LETTERS, letter);
    return at == NULL ? -1 : (int)(at - LETTERS);
}

/* Returns the 24 bits of four characters, of which n are not padding. Returns -1 for a character
   that is not base64, and for unused bits that are set. */
static int64_t group_value(const char *at, size_t n)
{
    int64_t group = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < n ? letter_value(at[i]) : 0;
        if (value < 0)
            return -1;
        group = group << 6 | value;
    }
    bool spare = (n == 2 && (group & 0xffff) != 0) || (n == 3 && (group & 0xff) != 0);
    return n < 2 || spare ? -1 : group;
}

int base64_decode(struct bytes text, struct bytes *out)
{
    const char *at = text.data;
    if (text.len % 4 != 0)
        return ERR_DATA;
    uint8_t *bytes = malloc(text.len / 4 * 3 + 1);
    if (bytes == NULL)
        return ERR_NO_MEMORY;
    size_t len = 0;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t n = 4;
        while (i + 4 == text.len && n > 0 && at[i + n - 1] == '=')
            n--;
        int64_t group = group_value(at + i, n);
        if (group < 0) {
            free(bytes);
            return ERR_DATA;
        }
        for (size_t k = 0; k + 1 < n; k++)
            bytes[len++] = (uint8_t)(group >> (16 - 8 * k));
    }
    *out = bytes_of(bytes, len);
    return 0;
}
