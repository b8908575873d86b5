/* SPDX-License-Identifier: Apache-2.0 */
/* line: one line of "key=value" fields. Each function appends to it. They do not use printf, which
   would take most of the time of a digest. */
#ifndef DELAYBRIDGE_TESTS_SIM_LINE_H
#define DELAYBRIDGE_TESTS_SIM_LINE_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* The longest line holds a commit's text (4,096 bytes) or an escaped topic name (747 bytes). */
enum { LINE_BYTES = 8192, LINE_DIGITS_MAX = 20 };

struct line {
    size_t len;
    char text[LINE_BYTES]; /* without a NUL byte at the end */
};

static inline void line_bytes(struct line *line, const void *data, size_t len)
{
    assert(len <= sizeof line->text - line->len);
    memcpy(line->text + line->len, data, len);
    line->len += len;
}

static inline void line_text(struct line *line, const char *text)
{
    line_bytes(line, text, strlen(text));
}

static inline void line_digits(struct line *line, int64_t number)
{
    char digits[LINE_DIGITS_MAX];
    char *const end = digits + sizeof digits, *at = end;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        line_text(line, "-");
    line_bytes(line, at, (size_t)(end - at));
}

static inline void line_hex(struct line *line, uint32_t number)
{
    for (int shift = 28; shift >= 0; shift -= 4)
        line_bytes(line, &"0123456789abcdef"[number >> shift & 15], 1);
}

/* " key=" */
static inline void line_key(struct line *line, const char *key)
{
    line_text(line, " ");
    line_text(line, key);
    line_text(line, "=");
}

static inline void line_word(struct line *line, const char *key, const char *word)
{
    line_key(line, key);
    line_text(line, word);
}

static inline void line_number(struct line *line, const char *key, int64_t number)
{
    line_key(line, key);
    line_digits(line, number);
}

#endif
