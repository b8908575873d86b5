/* SPDX-License-Identifier: Apache-2.0 */
/* duration: parsing and formatting. */
#include "levels/duration.h"

#include "levels/cursor.h"
#include "levels/decimal.h"

#include <assert.h>
#include <stdbool.h>

enum { UNIT_D, UNIT_H, UNIT_M, UNIT_S, UNIT_MS, UNIT_N };

static const struct {
    const char *name;
    int64_t ms;
} UNITS[UNIT_N] = {
    [UNIT_D] = {"d", DAY_MS},    [UNIT_H] = {"h", HOUR_MS}, [UNIT_M] = {"m", MINUTE_MS},
    [UNIT_S] = {"s", SECOND_MS}, [UNIT_MS] = {"ms", 1},
};

static bool add_units(int64_t *sum, int64_t number, int unit)
{
    int64_t ms;
    return !__builtin_mul_overflow(number, UNITS[unit].ms, &ms) &&
           !__builtin_add_overflow(*sum, ms, sum);
}

/* Returns the unit, or UNIT_N for none. */
static int take_unit(struct cursor *c)
{
    if (cursor_take(c, 'm'))
        return cursor_take(c, 's') ? UNIT_MS : UNIT_M;
    return cursor_take(c, 'd')   ? UNIT_D
           : cursor_take(c, 'h') ? UNIT_H
           : cursor_take(c, 's') ? UNIT_S
                                 : UNIT_N;
}

/* Reads 1d2h3m4s5ms. */
static bool take_plain(struct cursor *c, int64_t *ms)
{
    int next = UNIT_D;
    do {
        int64_t number;
        if (!cursor_take_number(c, &number))
            return false;
        int unit = take_unit(c);
        if (unit < next || unit == UNIT_N || !add_units(ms, number, unit))
            return false;
        next = unit + 1;
    } while (!cursor_at_end(c));
    return true;
}

/* Reads the part of an ISO duration after the T: 2H3M4.5S. */
static bool take_iso_time(struct cursor *c, int64_t *ms)
{
    int next = UNIT_H;
    do {
        int64_t number, fraction_ms = 0;
        if (!cursor_take_number(c, &number))
            return false;
        bool fraction = cursor_take(c, '.');
        if (fraction && !cursor_take_fraction(c, &fraction_ms))
            return false;
        int unit = cursor_take(c, 'H')   ? UNIT_H
                   : cursor_take(c, 'M') ? UNIT_M
                   : cursor_take(c, 'S') ? UNIT_S
                                         : UNIT_N;
        if (unit < next || unit == UNIT_N || (fraction && unit != UNIT_S))
            return false;
        if (!add_units(ms, number, unit) || __builtin_add_overflow(*ms, fraction_ms, ms))
            return false;
        next = unit + 1;
    } while (!cursor_at_end(c));
    return true;
}

/* Reads the part of an ISO duration after the P: 1DT2H3M4.5S. */
static bool take_iso(struct cursor *c, int64_t *ms)
{
    if (!cursor_take(c, 'T')) {
        int64_t days;
        if (!cursor_take_number(c, &days) || !cursor_take(c, 'D') || !add_units(ms, days, UNIT_D))
            return false;
        if (cursor_at_end(c))
            return true;
        if (!cursor_take(c, 'T'))
            return false;
    }
    return take_iso_time(c, ms);
}

int duration_parse(struct bytes text, int64_t *ms)
{
    struct cursor c = cursor_of(text);
    int64_t sum = 0;
    if (!(cursor_take(&c, 'P') ? take_iso(&c, &sum) : take_plain(&c, &sum)))
        return ERR_BAD_TIME;
    *ms = sum;
    return 0;
}

const char *duration_format(int64_t ms, char out[DURATION_TEXT_MAX])
{
    assert(ms >= 0);
    char *at = out;
    for (int unit = UNIT_D; unit < UNIT_N; unit++) {
        int64_t number = ms / UNITS[unit].ms;
        ms %= UNITS[unit].ms;
        if (number == 0)
            continue;
        at = decimal_put(at, number, 1);
        for (const char *name = UNITS[unit].name; *name != '\0'; name++)
            *at++ = *name;
    }
    if (at == out) {
        *at++ = '0';
        *at++ = 's';
    }
    *at = '\0';
    return out;
}
