/* SPDX-License-Identifier: Apache-2.0 */
/* cursor: reads a text from its beginning to its end, for the parsers of durations and instants.
   Each function that takes characters returns false if the text does not continue with them. The
   cursor may then be anywhere. */
#ifndef DELAYBRIDGE_LEVELS_CURSOR_H
#define DELAYBRIDGE_LEVELS_CURSOR_H

#include "levels/bytes.h"

#include <stdint.h>

#define SECOND_MS ((int64_t)1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

/* The rest of the text. */
struct cursor {
    const char *at, *end;
};

static inline struct cursor cursor_of(struct bytes text)
{
    const char *at = text.len > 0 ? text.data : "";
    return (struct cursor){at, at + text.len};
}

static inline bool cursor_at_end(const struct cursor *c)
{
    return c->at == c->end;
}

static inline bool cursor_at_digit(const struct cursor *c)
{
    return !cursor_at_end(c) && *c->at >= '0' && *c->at <= '9';
}

static inline bool cursor_take(struct cursor *c, char what)
{
    if (cursor_at_end(c) || *c->at != what)
        return false;
    c->at++;
    return true;
}

/* Reads one digit or more. */
static inline bool cursor_take_number(struct cursor *c, int64_t *number)
{
    if (!cursor_at_digit(c))
        return false;
    int64_t n = 0;
    while (cursor_at_digit(c))
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *c->at++ - '0', &n))
            return false;
    *number = n;
    return true;
}

/* Reads the digits of a fraction of a second as milliseconds, rounded up: 0 to 1000. */
static inline bool cursor_take_fraction(struct cursor *c, int64_t *ms)
{
    if (!cursor_at_digit(c))
        return false;
    int64_t sum = 0;
    bool more = false;
    for (int64_t worth = 100; cursor_at_digit(c); worth /= 10) {
        int digit = *c->at++ - '0';
        sum += worth * digit;
        more |= worth == 0 && digit > 0;
    }
    *ms = sum + more;
    return true;
}

#endif
