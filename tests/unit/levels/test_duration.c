/* SPDX-License-Identifier: Apache-2.0 */
/* duration: accepted and refused texts, each limit from both sides. The calendar is compared with
   one that counts single days. */
#include "levels/duration.h"
#include "levels/instant.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND = 1000, MINUTE = 60000, HOUR = 3600000, DAY = 86400000;

enum { UNTOUCHED = -77 };

static void expect_span(const char *text, int64_t want_ms)
{
    int64_t ms = UNTOUCHED;
    cr_expect_eq(duration_parse(bytes_text(text), &ms), 0, "%s is refused", text);
    cr_expect_eq(ms, want_ms, "%s is %" PRId64, text, ms);
}

static void expect_no_span(const char *text)
{
    int64_t ms = UNTOUCHED;
    cr_expect_eq(duration_parse(bytes_text(text), &ms), ERR_BAD_TIME, "'%s' is taken", text);
    cr_expect_eq(ms, UNTOUCHED, "'%s' is refused, but writes", text);
}

static void expect_instant(const char *text, int64_t want_ms)
{
    int64_t ms = UNTOUCHED;
    cr_expect_eq(instant_parse(bytes_text(text), &ms), 0, "%s is refused", text);
    cr_expect_eq(ms, want_ms, "%s is %" PRId64, text, ms);
}

static void expect_no_instant(const char *text)
{
    int64_t ms = UNTOUCHED;
    cr_expect_eq(instant_parse(bytes_text(text), &ms), ERR_BAD_TIME, "'%s' is taken", text);
    cr_expect_eq(ms, UNTOUCHED, "'%s' is refused, but writes", text);
}

#define EACH(check, ...)                                            \
    do {                                                            \
        static const char *const texts[] = {__VA_ARGS__};           \
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) \
            check(texts[i]);                                        \
    } while (0)

Test(duration, every_unit_has_its_length)
{
    expect_span("250ms", 250);
    expect_span("7s", 7 * SECOND);
    expect_span("15m", 15 * MINUTE);
    expect_span("2h", 2 * HOUR);
    expect_span("30d", 30 * DAY);
    expect_span("0s", 0);
    expect_span("0ms", 0);
    expect_span("0d0h", 0);
}

Test(duration, units_add_up)
{
    expect_span("1h30m", 90 * MINUTE);
    expect_span("1m1ms", MINUTE + 1);
    expect_span("1d2h3m4s5ms", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND + 5);
    expect_span("90m", 90 * MINUTE);
    expect_span("1h90m", 150 * MINUTE);
    expect_span("007s", 7 * SECOND);
}

Test(duration, largest_unit_must_come_first)
{
    EACH(expect_no_span, "30m1h", "1ms1s", "1s1d", "1ms1m", "1d1m1h");
}

Test(duration, each_unit_is_given_once)
{
    EACH(expect_no_span, "1h1h", "1m1m", "1ms1ms", "1d2h3h", "0s0s");
}

Test(duration, number_needs_a_unit)
{
    EACH(expect_no_span, "15", "0", "1h30", "1.5", "P5", "PT5", "P1DT5");
}

Test(duration, unit_needs_a_number)
{
    EACH(expect_no_span, "s", "ms", "h1m", "1hm", "mss", "PD", "PTS", "PTH5M", "P1DTH");
}

Test(duration, signs_spaces_and_other_units_are_refused)
{
    EACH(expect_no_span, "-5s", "+5s", " 5s", "5s ", "5 s", "1h 30m", "\t5s", "5s\n", "1w", "1y",
         "5us", "5S", "5M", "5MS", "5mS", "1,5s", "1.5s", "0x10s", "1e3ms", "1_000ms", "5s;", "",
         " ", "abc", "5\xc2\xb5s", "\xd9\xa1s", "-PT5S", "P-1D", "PT-5S", "PT+5S", "P 1D");
}

Test(duration, nul_inside_is_refused)
{
    int64_t ms;
    cr_expect_eq(duration_parse(bytes_of("1s\0", 3), &ms), ERR_BAD_TIME);
    cr_expect_eq(duration_parse(bytes_of("1s\0002s", 5), &ms), ERR_BAD_TIME);
    cr_expect_eq(duration_parse(bytes_of("1\0s", 3), &ms), ERR_BAD_TIME);
    cr_expect_eq(duration_parse(bytes_of("5sX", 2), &ms), 0, "reads past its end");
    cr_expect_eq(duration_parse(bytes_of("5ms", 2), &ms), 0, "reads past its end");
    cr_expect_eq(ms, 5 * MINUTE);
    cr_expect_eq(duration_parse(bytes_null(), &ms), ERR_BAD_TIME);
}

Test(duration, iso_weeks_months_and_years_are_refused)
{
    expect_span("PT15M", 15 * MINUTE);
    expect_span("P1D", DAY);
    expect_span("P1DT2H3M4.5S", DAY + 2 * HOUR + 3 * MINUTE + 4500);
    expect_span("P0D", 0);
    expect_span("PT0S", 0);
    expect_span("PT05M", 5 * MINUTE);
    expect_span("PT36H", 36 * HOUR);
    expect_span("P1DT1S", DAY + SECOND);
    EACH(expect_no_span, "P1Y", "P1M", "P1W", "P1Y2M3DT4H", "P1H", "P1S", "PT1D", "P1D2H", "P1DT1D",
         "P1D1D");
}

Test(duration, iso_without_a_number_is_refused)
{
    EACH(expect_no_span, "P", "PT", "P1DT", "PTT1S", "PPT1S", "T1S", "P1DTT1S");
}

Test(duration, iso_is_upper_case_and_in_order)
{
    EACH(expect_no_span, "pt15m", "PT15m", "Pt15M", "p1D", "P1d", "PT1S1M", "PT1M1H", "PT1H1H",
         "PT1M2M", "PT1S2S", "PT1H2S3M", "1h30m PT1S", "1hPT1S", "PT1H30m");
}

Test(duration, only_seconds_may_have_a_fraction)
{
    expect_span("PT4.5S", 4500);
    expect_span("PT0.001S", 1);
    EACH(expect_no_span, "PT1.5H", "PT1.5M", "P1.5D", "PT.5S", "PT5.S", "PT1.S", "PT1..5S",
         "PT1.5.5S", "PT1,5S", "PT1.5", "PT1.5H1S", "PT.S");
}

Test(duration, fraction_below_a_millisecond_rounds_up)
{
    expect_span("PT0.0001S", 1);
    expect_span("PT0.0000000000000000000000000000000000000000000001S", 1);
    expect_span("PT0.0010000000000000000000000000000000000000000000S", 1);
    expect_span("PT0.0010000000000000000000000000000000000000000001S", 2);
    expect_span("PT0.9990001S", SECOND);
    expect_span("PT0.99999999999999999999999999999999S", SECOND);
    expect_span("PT59.9999S", MINUTE);
    expect_span("PT0.0000S", 0);
    expect_span("PT1.10S", 1100);
}

Test(duration, duration_above_64_bits_is_refused)
{
    expect_span("9223372036854775807ms", INT64_MAX);
    expect_span("0000000000000000000000009223372036854775807ms", INT64_MAX);
    expect_span("9223372036854775s807ms", INT64_MAX);
    expect_span("106751991167d7h12m55s807ms", INT64_MAX);
    expect_span("PT9223372036854775.807S", INT64_MAX);
    EACH(expect_no_span, "9223372036854775808ms", "18446744073709551617ms", "9223372036854776s",
         "9223372036854775s808ms", "106751991168d", "106751991167d7h12m55s808ms",
         "99999999999999999999d", "PT9223372036854775.808S", "PT9223372036854775.8070001S",
         "PT9223372036854776S", "PT2562047788016H", "P106751991168D", "18446744073709551616s",
         "184467440737095516160s");
}

Test(duration, epoch_is_in_milliseconds)
{
    expect_instant("100000000000", 100000000000);
    expect_instant("1763712000000", 1763712000000);
    expect_instant("9223372036854775807", INT64_MAX);
    expect_instant("0001763712000000", 1763712000000);
    EACH(expect_no_instant, "99999999999", "1763712000", "0", "1", "00000000000000099999999999",
         "9223372036854775808", "18446744073709551616", "-1763712000000", "+1763712000000",
         "1763712000000.5", "1763712000000ms", " 1763712000000", "1763712000000 ", "1763712000000Z",
         "1e12", "0x19aa5e5ec00", "");
}

Test(duration, rfc3339_counts_from_1970)
{
    expect_instant("1970-01-01T00:00:00Z", 0);
    expect_instant("1970-01-01T00:00:00.001Z", 1);
    expect_instant("1969-12-31T23:59:59.999Z", -1);
    expect_instant("1973-03-03T09:46:39.999Z", 99999999999);
    expect_instant("2026-11-21T00:00:00.250Z", 1795219200250);
    expect_instant("2000-02-29T12:34:56Z", 951827696000);
    expect_instant("0000-01-01T00:00:00Z", -62167219200000);
    expect_instant("9999-12-31T23:59:59.999Z", 253402300799999);
}

Test(duration, zone_is_ahead_of_utc)
{
    expect_instant("2026-11-21T08:00:00.250+08:00", 1795219200250);
    expect_instant("1970-01-01T14:00:00+14:00", 0);
    expect_instant("1970-01-01T00:00:00+00:00", 0);
    expect_instant("1970-01-01T00:00:00-00:00", 0);
    expect_instant("1969-12-31T19:00:00-05:00", 0);
    expect_instant("1970-01-01T05:45:00+05:45", 0);
    expect_instant("1970-01-01T23:59:00+23:59", 0);
    expect_instant("1969-12-31T00:01:00-23:59", 0);
    expect_instant("0000-01-01T00:00:00+23:59", -62167219200000 - 23 * HOUR - 59 * MINUTE);
    expect_instant("9999-12-31T23:59:59.9991-23:59", 253402300800000 + 23 * HOUR + 59 * MINUTE);
}

Test(duration, zone_is_needed_and_whole)
{
    EACH(expect_no_instant, "2026-11-21T08:00:00", "2026-11-21T08:00:00+08", "2026-11-21T08:00:00+",
         "2026-11-21T08:00:00+0800", "2026-11-21T08:00:00+8:00", "2026-11-21T08:00:00+24:00",
         "2026-11-21T08:00:00+08:60", "2026-11-21T08:00:00ZZ", "2026-11-21T08:00:00Z+08:00",
         "2026-11-21T08:00:00 Z", "2026-11-21T08:00:00+08:00Z", "2026-11-21T08:00:00UTC",
         "2026-11-21T08:00:00+-8:00",
         "2026-11-21T08:00:00\xe2\x88\x92"
         "08:00");
}

Test(duration, t_and_z_of_an_instant_may_be_lower_case)
{
    expect_instant("2026-11-21t00:00:00.250z", 1795219200250);
    expect_instant("2026-11-21t00:00:00.250Z", 1795219200250);
    expect_instant("2026-11-21T00:00:00.250z", 1795219200250);
}

Test(duration, any_other_instant_is_refused)
{
    EACH(expect_no_instant, "2026-11-21 08:00:00Z", "20261121T080000Z", "2026-11-21T08:00Z",
         "2026-11-21", "2026-11-21T", "2026-11-21Z", "T08:00:00Z", "2026-325T08:00:00Z",
         "2026-W47-6T08:00:00Z", "26-11-21T08:00:00Z", "12026-11-21T08:00:00Z",
         "+2026-11-21T08:00:00Z", "-2026-11-21T08:00:00Z", "2026-1-21T08:00:00Z",
         "2026-11-1T08:00:00Z", "2026-11-21T8:00:00Z", "2026-11-21T08:0:00Z", "2026-11-21T08:00:0Z",
         " 2026-11-21T08:00:00Z", "2026-11-21T08:00:00Z ", "2026-11-21T08:00:00Z\n",
         "2026/11/21T08:00:00Z", "2026-11-21T08.00.00Z", "2026-11-21T-8:00:00Z", "tomorrow", "now",
         "5m", "PT5M", "2026-11-2\xd9\xa1T08:00:00Z");
}

Test(duration, calendar_is_checked)
{
    EACH(expect_no_instant, "2026-00-10T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z",
         "2026-01-32T00:00:00Z", "2026-04-31T00:00:00Z", "2026-06-31T00:00:00Z",
         "2026-09-31T00:00:00Z", "2026-11-31T00:00:00Z", "2026-02-29T00:00:00Z",
         "2026-02-30T00:00:00Z", "2024-02-30T00:00:00Z", "1900-02-29T00:00:00Z",
         "2100-02-29T00:00:00Z");
    expect_instant("2024-02-29T00:00:00Z", 1709164800000);
    expect_instant("2000-02-29T00:00:00Z", 951782400000);
    expect_instant("2400-02-29T00:00:00Z", 13574563200000);
}

Test(duration, clock_is_checked)
{
    EACH(expect_no_instant, "2026-11-21T24:00:00Z", "2026-11-21T23:60:00Z", "2026-11-21T23:59:60Z",
         "2016-12-31T23:59:60Z", "2026-11-21T23:59:61Z", "2026-11-21T99:00:00Z");
    expect_instant("2026-11-21T23:59:59Z", 1795305599000);
}

Test(duration, fraction_of_an_instant_rounds_up)
{
    expect_instant("1970-01-01T00:00:00.5Z", 500);
    expect_instant("1970-01-01T00:00:00.2500000000000000000000000000000Z", 250);
    expect_instant("1970-01-01T00:00:00.2500000000000000000000000000001Z", 251);
    expect_instant("1970-01-01T00:00:00.0001Z", 1);
    expect_instant("1969-12-31T23:59:59.9989Z", -1);
    expect_instant("2025-12-31T23:59:59.9999Z", 1767225600000);
    EACH(expect_no_instant, "2026-11-21T08:00:00.Z", "2026-11-21T08:00:00,5Z",
         "2026-11-21T08:00:00.5.5Z", "2026-11-21T08:00:00. 5Z", "2026-11-21T08:00.5:00Z");
}

static void expect_fault(const char *text, const char *words)
{
    expect_no_instant(text);
    const char *fault = instant_fault(bytes_text(text));
    cr_expect_eq(strncmp(fault, words, strlen(words)), 0, "%s%s", text, fault);
}

static void expect_no_name(const char *text)
{
    expect_fault(text, " is not an instant:");
}

Test(duration, fault_of_an_instant_names_the_missing_part)
{
    expect_fault("2026-11-25T17:51Z", " has no seconds:");
    expect_fault("2026-11-25T17:51+08:00", " has no seconds:");
    expect_fault("2026-11-25T17:51", " has no seconds and no zone:");
    expect_fault("2026-11-25T17:51:00", " has no zone:");
    expect_fault("2026-11-25T17:51:00.25", " has no zone:");
    expect_fault("2026-11-25T17:51:00+0800", " has a zone that is not whole:");
    expect_fault("2026-11-25T17:51:00+08", " has a zone that is not whole:");
    expect_fault("2026-11-25T17:51:00-08", " has a zone that is not whole:");
    expect_fault("2026-11-25T17:51:00+8", " is not an instant:");
    expect_fault("2026-11-25T17:51:00+080", " is not an instant:");
    expect_fault("2026-11-25T17:51:00+08000", " is not an instant:");
    expect_fault("2026-11-25T17:51Z.", " is not an instant:");
    expect_fault("2026-11-25T17:51.", " is not an instant:");
    expect_fault("2026-11-25T17:51:0", " is not an instant:");
    expect_fault("2026-11-25T17-51", " is not an instant:");
    expect_fault("2026-11-25T17:5", " is not an instant:");
    expect_fault("2026-11-25t17:51", " has no seconds and no zone:");
    expect_fault("2026-11-25/17:51", " is not an instant:");
    expect_fault("2026-11-25", " has no time of day and no zone:");
    expect_fault("2026-11-25 17:51:00Z", " has a space:");
    expect_fault("2026-11-25T17:51:00,5Z", " has a comma:");
    expect_fault("2026-02-30T00:00:00Z", " has a day that is not in the calendar");
    expect_fault("2026-11-25T24:00:00Z", " has a time of day that no clock shows");
    expect_fault("2026-11-25T23:59:60Z", " has a time of day that no clock shows");
    expect_fault("1795219200", " is not an epoch in milliseconds");
    expect_fault("9223372036854775808", " is more than 64 bits hold");
    EACH(expect_no_name, "", "soon", "2026-11-25T", "2026-11-25T17Z", "2026-11-25T17:51:00.Z",
         "2026-11-25T17:51:00ZZ", "2026-11-25T17:51:00+8:00", "2026-11-25x17:51:00Z", "17:51:00Z");
}

Test(duration, epoch_of_another_unit_is_recognized)
{
    cr_expect_null(instant_likely_unit(1795219200000));
    cr_expect_null(instant_likely_unit(99999999999999));
    cr_expect_str_eq(instant_likely_unit(1795219200000000), "microseconds");
    cr_expect_str_eq(instant_likely_unit(1795219200000000000), "nanoseconds");
    cr_expect_str_eq(instant_likely_unit(INT64_MAX), "nanoseconds");
}

Test(duration, every_day_of_ten_thousand_years_follows_the_last)
{
    static const int DAYS[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t want_ms = -62167219200000;
    for (int year = 0; year < 10000; year++)
        for (int month = 1; month <= 12; month++) {
            bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            int days = DAYS[month - 1] + (month == 2 && leap);
            for (int day = 1; day <= days; day++, want_ms += DAY) {
                char text[80], out[INSTANT_TEXT_MAX];
                int64_t ms;
                snprintf(text, sizeof text, "%04d-%02d-%02dT00:00:00.000Z", year, month, day);
                cr_assert_eq(instant_parse(bytes_text(text), &ms), 0, "%s", text);
                cr_assert_eq(ms, want_ms, "%s", text);
                cr_assert_str_eq(instant_format(ms, out), text);
            }
        }
    cr_assert_eq(want_ms, 253402300800000);
}

Test(duration, text_is_canonical)
{
    char out[DURATION_TEXT_MAX];
    cr_expect_str_eq(duration_format(0, out), "0s");
    cr_expect_str_eq(duration_format(1, out), "1ms");
    cr_expect_str_eq(duration_format(90000, out), "1m30s");
    cr_expect_str_eq(duration_format(60000, out), "1m");
    cr_expect_str_eq(duration_format(40 * DAY, out), "40d");
    cr_expect_str_eq(duration_format(DAY + 1, out), "1d1ms");
    cr_expect_str_eq(duration_format(INT64_MAX, out), "106751991167d7h12m55s807ms");
}

Test(duration, text_is_read_back_the_same)
{
    random_start("duration");
    for (int i = 0; i < 200000; i++) {
        char out[DURATION_TEXT_MAX];
        int64_t ms = (int64_t)(random_next() >> (1 + random_next() % 63)), back;
        cr_assert_eq(duration_parse(bytes_text(duration_format(ms, out)), &back), 0, "%s", out);
        cr_assert_eq(back, ms, "%s", out);
    }
}

Test(duration, text_of_an_instant_is_rfc3339_or_a_plain_number)
{
    char out[INSTANT_TEXT_MAX];
    cr_expect_str_eq(instant_format(1795219200250, out), "2026-11-21T00:00:00.250Z");
    cr_expect_str_eq(instant_format(0, out), "1970-01-01T00:00:00.000Z");
    cr_expect_str_eq(instant_format(-1, out), "1969-12-31T23:59:59.999Z");
    cr_expect_str_eq(instant_format(-62167219200000, out), "0000-01-01T00:00:00.000Z");
    cr_expect_str_eq(instant_format(-62167219200001, out), "-62167219200001");
    cr_expect_str_eq(instant_format(253402300799999, out), "9999-12-31T23:59:59.999Z");
    cr_expect_str_eq(instant_format(253402300800000, out), "253402300800000");
    cr_expect_str_eq(instant_format(INT64_MAX, out), "9223372036854775807");
    cr_expect_str_eq(instant_format(INT64_MIN, out), "-9223372036854775808");
}

Test(duration, text_of_an_instant_is_read_back_the_same)
{
    random_start("duration");
    for (int i = 0; i < 200000; i++) {
        char out[INSTANT_TEXT_MAX];
        int64_t ms = -62167219200000 + (int64_t)(random_next() % 315569520000000), back;
        cr_assert_eq(instant_parse(bytes_text(instant_format(ms, out)), &back), 0, "%s", out);
        cr_assert_eq(back, ms, "%s", out);
    }
}

/* Texts of the grammar's characters reach more code than random bytes. */
Test(duration, any_bytes_are_safe)
{
    static const char LETTERS[] = "0123456789PTDHMSdhms.:-+Zz ";
    random_start("duration");
    for (int i = 0; i < 500000; i++) {
        size_t n = random_next() % 32;
        char *text = malloc(n + 1); /* exact size, so that sanitizers watch its end */
        cr_assert_not_null(text);
        for (size_t k = 0; k < n; k++)
            text[k] =
                i % 4 == 0 ? (char)random_next() : LETTERS[random_next() % (sizeof LETTERS - 1)];
        char *exact = realloc(text, n > 0 ? n : 1);
        cr_assert_not_null(exact);
        int64_t span_ms = UNTOUCHED, at_ms = UNTOUCHED;
        int span = duration_parse(bytes_of(exact, n), &span_ms);
        int at = instant_parse(bytes_of(exact, n), &at_ms);
        cr_assert(span == 0 ? span_ms >= 0 : span == ERR_BAD_TIME && span_ms == UNTOUCHED);
        cr_assert(at == 0 || (at == ERR_BAD_TIME && at_ms == UNTOUCHED));
        cr_assert(span != 0 || at != 0, "both a span and an instant");
        cr_assert_leq(strlen(instant_fault(bytes_of(exact, n))), INSTANT_FAULT_MAX);
        free(exact);
    }
}
