/* SPDX-License-Identifier: Apache-2.0 */
/* duration: parsing and formatting of durations and instants. */
#include "levels/duration.h"

#include "levels/decimal.h"

#include <assert.h>
#include <stdbool.h>

#define SECOND_MS ((int64_t)1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z */
#define RFC3339_MS_MIN ((int64_t)-62167219200000)
#define RFC3339_MS_MAX ((int64_t)253402300799999)

enum { UNIT_D, UNIT_H, UNIT_M, UNIT_S, UNIT_MS, UNIT_N };

static const struct {
    const char *name;
    int64_t ms;
} UNITS[UNIT_N] = {
    [UNIT_D] = {"d", DAY_MS},    [UNIT_H] = {"h", HOUR_MS}, [UNIT_M] = {"m", MINUTE_MS},
    [UNIT_S] = {"s", SECOND_MS}, [UNIT_MS] = {"ms", 1},
};

/* The text that is still to be read. */
struct cursor {
    const char *at, *end;
};

static struct cursor cursor_of(struct bytes text)
{
    const char *at = text.len > 0 ? text.data : "";
    return (struct cursor){at, at + text.len};
}

static bool at_end(const struct cursor *c)
{
    return c->at == c->end;
}

static bool at_digit(const struct cursor *c)
{
    return !at_end(c) && *c->at >= '0' && *c->at <= '9';
}

static bool take(struct cursor *c, char what)
{
    if (at_end(c) || *c->at != what)
        return false;
    c->at++;
    return true;
}

/* Reads one digit or more. */
static bool take_number(struct cursor *c, int64_t *number)
{
    if (!at_digit(c))
        return false;
    int64_t n = 0;
    while (at_digit(c))
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *c->at++ - '0', &n))
            return false;
    *number = n;
    return true;
}

/* Reads exactly `digits` digits that form a number from least to most. */
static bool take_field(struct cursor *c, int digits, int least, int most, int *number)
{
    int n = 0;
    for (int i = 0; i < digits; i++) {
        if (!at_digit(c))
            return false;
        n = n * 10 + (*c->at++ - '0');
    }
    *number = n;
    return n >= least && n <= most;
}

/* Reads the digits of a fraction of a second as milliseconds, rounded up: 0 to 1000. */
static bool take_fraction(struct cursor *c, int64_t *ms)
{
    if (!at_digit(c))
        return false;
    int64_t sum = 0;
    bool more = false;
    for (int64_t worth = 100; at_digit(c); worth /= 10) {
        int digit = *c->at++ - '0';
        sum += worth * digit;
        more |= worth == 0 && digit > 0;
    }
    *ms = sum + more;
    return true;
}

static bool add_units(int64_t *sum, int64_t number, int unit)
{
    int64_t ms;
    return !__builtin_mul_overflow(number, UNITS[unit].ms, &ms) &&
           !__builtin_add_overflow(*sum, ms, sum);
}

/* Returns the unit, or UNIT_N for none. */
static int take_unit(struct cursor *c)
{
    if (take(c, 'm'))
        return take(c, 's') ? UNIT_MS : UNIT_M;
    return take(c, 'd') ? UNIT_D : take(c, 'h') ? UNIT_H : take(c, 's') ? UNIT_S : UNIT_N;
}

/* Reads 1d2h3m4s5ms. */
static bool take_plain(struct cursor *c, int64_t *ms)
{
    int next = UNIT_D;
    do {
        int64_t number;
        if (!take_number(c, &number))
            return false;
        int unit = take_unit(c);
        if (unit < next || unit == UNIT_N || !add_units(ms, number, unit))
            return false;
        next = unit + 1;
    } while (!at_end(c));
    return true;
}

/* Reads the part of an ISO duration after the T: 2H3M4.5S. */
static bool take_iso_time(struct cursor *c, int64_t *ms)
{
    int next = UNIT_H;
    do {
        int64_t number, fraction_ms = 0;
        if (!take_number(c, &number))
            return false;
        bool fraction = take(c, '.');
        if (fraction && !take_fraction(c, &fraction_ms))
            return false;
        int unit = take(c, 'H') ? UNIT_H : take(c, 'M') ? UNIT_M : take(c, 'S') ? UNIT_S : UNIT_N;
        if (unit < next || unit == UNIT_N || (fraction && unit != UNIT_S))
            return false;
        if (!add_units(ms, number, unit) || __builtin_add_overflow(*ms, fraction_ms, ms))
            return false;
        next = unit + 1;
    } while (!at_end(c));
    return true;
}

/* Reads the part of an ISO duration after the P: 1DT2H3M4.5S. */
static bool take_iso(struct cursor *c, int64_t *ms)
{
    if (!take(c, 'T')) {
        int64_t days;
        if (!take_number(c, &days) || !take(c, 'D') || !add_units(ms, days, UNIT_D))
            return false;
        if (at_end(c))
            return true;
        if (!take(c, 'T'))
            return false;
    }
    return take_iso_time(c, ms);
}

int duration_parse(struct bytes text, int64_t *ms)
{
    struct cursor c = cursor_of(text);
    int64_t sum = 0;
    if (!(take(&c, 'P') ? take_iso(&c, &sum) : take_plain(&c, &sum)))
        return ERR_BAD_TIME;
    *ms = sum;
    return 0;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int month_days(int year, int month)
{
    static const int DAYS[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : DAYS[month - 1];
}

/* Returns the days from 1970-01-01. A year begins in March here, so a leap day is its last day. An
   era is 400 years: 146,097 days. */
static int64_t days_of_date(int year, int month, int day)
{
    int y = year + 400 - (month <= 2); /* counted from the year -400, never negative */
    int year_of_era = y % 400;
    int day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int64_t)(y / 400 - 1) * 146097 + day_of_era - 719468;
}

struct date {
    int year, month, day;
};

/* The inverse of days_of_date, for the years 0000 to 9999. */
static struct date date_of_days(int64_t days)
{
    int shifted = (int)(days + 719468 + 146097);
    int era = shifted / 146097 - 1, day_of_era = shifted % 146097;
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int march_month = (5 * day_of_year + 2) / 153;
    struct date date;
    date.day = day_of_year - (153 * march_month + 2) / 5 + 1;
    date.month = (march_month + 2) % 12 + 1;
    date.year = era * 400 + year_of_era + (date.month <= 2);
    return date;
}

/* Reads Z or +hh:mm as milliseconds ahead of UTC. */
static bool take_zone(struct cursor *c, int64_t *ahead_ms)
{
    *ahead_ms = 0;
    if (take(c, 'Z') || take(c, 'z'))
        return true;
    bool behind = take(c, '-');
    int hour, minute;
    if ((!behind && !take(c, '+')) || !take_field(c, 2, 0, 23, &hour) || !take(c, ':') ||
        !take_field(c, 2, 0, 59, &minute))
        return false;
    *ahead_ms = (hour * HOUR_MS + minute * MINUTE_MS) * (behind ? -1 : 1);
    return true;
}

static bool take_date(struct cursor *c, int64_t *days)
{
    int year, month, day;
    if (!take_field(c, 4, 0, 9999, &year) || !take(c, '-') || !take_field(c, 2, 1, 12, &month) ||
        !take(c, '-') || !take_field(c, 2, 1, month_days(year, month), &day))
        return false;
    *days = days_of_date(year, month, day);
    return true;
}

static bool take_time(struct cursor *c, int64_t *ms)
{
    int hour, minute, second;
    int64_t fraction_ms = 0;
    if (!take_field(c, 2, 0, 23, &hour) || !take(c, ':') || !take_field(c, 2, 0, 59, &minute) ||
        !take(c, ':') || !take_field(c, 2, 0, 59, &second))
        return false;
    if (take(c, '.') && !take_fraction(c, &fraction_ms))
        return false;
    *ms = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + fraction_ms;
    return true;
}

static bool take_rfc3339(struct cursor *c, int64_t *ms)
{
    int64_t days, time_ms, ahead_ms;
    if (!take_date(c, &days) || (!take(c, 'T') && !take(c, 't')) || !take_time(c, &time_ms) ||
        !take_zone(c, &ahead_ms))
        return false;
    *ms = days * DAY_MS + time_ms - ahead_ms;
    return at_end(c);
}

int instant_parse(struct bytes text, int64_t *ms)
{
    struct cursor c = cursor_of(text);
    int64_t n;
    bool epoch = take_number(&c, &n) && at_end(&c) && n >= INSTANT_MS_MIN;
    if (!epoch) {
        c = cursor_of(text);
        if (!take_rfc3339(&c, &n))
            return ERR_BAD_TIME;
    }
    *ms = n;
    return 0;
}

const char *instant_likely_unit(int64_t epoch)
{
    return epoch / 1000000 >= INSTANT_MS_MIN ? "nanoseconds"
           : epoch / 1000 >= INSTANT_MS_MIN  ? "microseconds"
                                             : NULL;
}

static bool take_two_digits(struct cursor *c)
{
    int any;
    return take_field(c, 2, 0, 99, &any);
}

/* Reads dddd-dd-dd, also for a day that no calendar has. */
static bool take_date_shape(struct cursor *c)
{
    int any;
    return take_field(c, 4, 0, 9999, &any) && take(c, '-') && take_two_digits(c) && take(c, '-') &&
           take_two_digits(c);
}

static const char NO_INSTANT[] = " is not an instant: epoch milliseconds, or RFC 3339 with a zone"
                                 " such as 2026-11-21T08:00:00.250+08:00";

static const char *epoch_fault(struct cursor c)
{
    int64_t any;
    return take_number(&c, &any) ? " is not an epoch in milliseconds (seconds by mistake?)"
                                 : " is more than 64 bits hold";
}

/* Describes the fault of the text after the seconds. */
static const char *zone_fault(struct cursor c)
{
    if (at_end(&c))
        return " has no zone: end it with Z for UTC, or with an offset such as +08:00";
    if (take(&c, ','))
        return " has a comma: a fraction of a second begins with a point";
    bool offset = take(&c, '+') || take(&c, '-');
    if (offset && take_two_digits(&c) && (at_end(&c) || (take_two_digits(&c) && at_end(&c))))
        return " has a zone that is not whole: write it with a colon, such as +08:00";
    return NO_INSTANT;
}

/* Describes the fault of the text after the T. */
static const char *time_fault(struct cursor c)
{
    struct cursor time = c, clock = c;
    int64_t any;
    if (!take_two_digits(&c) || !take(&c, ':') || !take_two_digits(&c))
        return NO_INSTANT;
    if (at_end(&c))
        return " has no seconds and no zone: 2026-11-21T08:00:00Z has both";
    if (take_zone(&c, &any) && at_end(&c))
        return " has no seconds: write them, such as 2026-11-21T08:00:00Z";
    if (!take(&c, ':') || !take_two_digits(&c))
        return NO_INSTANT;
    clock.end = c.at;
    if (!take_time(&clock, &any))
        return " has a time of day that no clock shows (leap seconds are not accepted)";
    return take_time(&time, &any) ? zone_fault(time) : NO_INSTANT;
}

const char *instant_fault(struct bytes text)
{
    struct cursor c = cursor_of(text), number = c, date = c;
    int64_t any;
    while (at_digit(&c))
        c.at++;
    if (at_end(&c) && text.len > 0)
        return epoch_fault(number);
    c = date;
    if (!take_date_shape(&c))
        return NO_INSTANT;
    if (!take_date(&date, &any))
        return " has a day that is not in the calendar";
    if (at_end(&c))
        return " has no time of day and no zone: 2026-11-21T08:00:00Z has both";
    if (take(&c, ' '))
        return " has a space: a T stands between the day and the time of day";
    return take(&c, 'T') || take(&c, 't') ? time_fault(c) : NO_INSTANT;
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

const char *instant_format(int64_t ms, char out[INSTANT_TEXT_MAX])
{
    if (ms < RFC3339_MS_MIN || ms > RFC3339_MS_MAX) {
        *decimal_put(out, ms, 1) = '\0';
        return out;
    }
    int64_t since_ms = ms - RFC3339_MS_MIN; /* not negative: / and % round down */
    struct date date = date_of_days(since_ms / DAY_MS + RFC3339_MS_MIN / DAY_MS);
    const struct {
        int64_t number;
        int digits;
        char behind;
    } fields[] = {
        {date.year, 4, '-'},
        {date.month, 2, '-'},
        {date.day, 2, 'T'},
        {since_ms % DAY_MS / HOUR_MS, 2, ':'},
        {since_ms % HOUR_MS / MINUTE_MS, 2, ':'},
        {since_ms % MINUTE_MS / SECOND_MS, 2, '.'},
        {since_ms % SECOND_MS, 3, 'Z'},
    };
    char *at = out;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        at = decimal_put(at, fields[i].number, fields[i].digits);
        *at++ = fields[i].behind;
    }
    *at = '\0';
    return out;
}
