/* SPDX-License-Identifier: Apache-2.0 */
/* instant: parsing and formatting. */
#include "levels/instant.h"

#include "levels/cursor.h"
#include "levels/decimal.h"

#include <stdbool.h>

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z */
#define RFC3339_MS_MIN ((int64_t)-62167219200000)
#define RFC3339_MS_MAX ((int64_t)253402300799999)

/* Reads exactly `digits` digits that form a number from least to most. */
static bool take_field(struct cursor *c, int digits, int least, int most, int *number)
{
    int n = 0;
    for (int i = 0; i < digits; i++) {
        if (!cursor_at_digit(c))
            return false;
        n = n * 10 + (*c->at++ - '0');
    }
    *number = n;
    return n >= least && n <= most;
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
    if (cursor_take(c, 'Z') || cursor_take(c, 'z'))
        return true;
    bool behind = cursor_take(c, '-');
    int hour, minute;
    if ((!behind && !cursor_take(c, '+')) || !take_field(c, 2, 0, 23, &hour) ||
        !cursor_take(c, ':') || !take_field(c, 2, 0, 59, &minute))
        return false;
    *ahead_ms = (hour * HOUR_MS + minute * MINUTE_MS) * (behind ? -1 : 1);
    return true;
}

static bool take_date(struct cursor *c, int64_t *days)
{
    int year, month, day;
    if (!take_field(c, 4, 0, 9999, &year) || !cursor_take(c, '-') ||
        !take_field(c, 2, 1, 12, &month) || !cursor_take(c, '-') ||
        !take_field(c, 2, 1, month_days(year, month), &day))
        return false;
    *days = days_of_date(year, month, day);
    return true;
}

static bool take_time(struct cursor *c, int64_t *ms)
{
    int hour, minute, second;
    int64_t fraction_ms = 0;
    if (!take_field(c, 2, 0, 23, &hour) || !cursor_take(c, ':') ||
        !take_field(c, 2, 0, 59, &minute) || !cursor_take(c, ':') ||
        !take_field(c, 2, 0, 59, &second))
        return false;
    if (cursor_take(c, '.') && !cursor_take_fraction(c, &fraction_ms))
        return false;
    *ms = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + fraction_ms;
    return true;
}

static bool take_rfc3339(struct cursor *c, int64_t *ms)
{
    int64_t days, time_ms, ahead_ms;
    if (!take_date(c, &days) || (!cursor_take(c, 'T') && !cursor_take(c, 't')) ||
        !take_time(c, &time_ms) || !take_zone(c, &ahead_ms))
        return false;
    *ms = days * DAY_MS + time_ms - ahead_ms;
    return cursor_at_end(c);
}

int instant_parse(struct bytes text, int64_t *ms)
{
    struct cursor c = cursor_of(text);
    int64_t n;
    bool epoch = cursor_take_number(&c, &n) && cursor_at_end(&c) && n >= INSTANT_MS_MIN;
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
    return take_field(c, 4, 0, 9999, &any) && cursor_take(c, '-') && take_two_digits(c) &&
           cursor_take(c, '-') && take_two_digits(c);
}

static const char NO_INSTANT[] = " is not an instant: epoch milliseconds, or RFC 3339 with a zone"
                                 " such as 2026-11-21T08:00:00.250+08:00";

static const char *epoch_fault(struct cursor c)
{
    int64_t any;
    return cursor_take_number(&c, &any) ? " is not an epoch in milliseconds (seconds by mistake?)"
                                        : " is more than 64 bits hold";
}

/* Describes the fault of the text after the seconds. */
static const char *zone_fault(struct cursor c)
{
    if (cursor_at_end(&c))
        return " has no zone: end it with Z for UTC, or with an offset such as +08:00";
    if (cursor_take(&c, ','))
        return " has a comma: a fraction of a second begins with a point";
    bool offset = cursor_take(&c, '+') || cursor_take(&c, '-');
    if (offset && take_two_digits(&c) &&
        (cursor_at_end(&c) || (take_two_digits(&c) && cursor_at_end(&c))))
        return " has a zone that is not whole: write it with a colon, such as +08:00";
    return NO_INSTANT;
}

/* Describes the fault of the text after the T. */
static const char *time_fault(struct cursor c)
{
    struct cursor time = c, clock = c;
    int64_t any;
    if (!take_two_digits(&c) || !cursor_take(&c, ':') || !take_two_digits(&c))
        return NO_INSTANT;
    if (cursor_at_end(&c))
        return " has no seconds and no zone: 2026-11-21T08:00:00Z has both";
    if (take_zone(&c, &any) && cursor_at_end(&c))
        return " has no seconds: write them, such as 2026-11-21T08:00:00Z";
    if (!cursor_take(&c, ':') || !take_two_digits(&c))
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
    while (cursor_at_digit(&c))
        c.at++;
    if (cursor_at_end(&c) && text.len > 0)
        return epoch_fault(number);
    c = date;
    if (!take_date_shape(&c))
        return NO_INSTANT;
    if (!take_date(&date, &any))
        return " has a day that is not in the calendar";
    if (cursor_at_end(&c))
        return " has no time of day and no zone: 2026-11-21T08:00:00Z has both";
    if (cursor_take(&c, ' '))
        return " has a space: a T stands between the day and the time of day";
    return cursor_take(&c, 'T') || cursor_take(&c, 't') ? time_fault(c) : NO_INSTANT;
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
