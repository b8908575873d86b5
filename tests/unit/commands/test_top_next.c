/* SPDX-License-Identifier: Apache-2.0 */
/* top_next, top_chart: the next hour from a sample, and its picture. */
#include "bridge/commands/top_next.h"

#include "readings.h"

enum { MINUTE_MS = 60000, NOW_MS = 100 * MINUTE_MS + 30000 };

Test(top_next, hour_begins_with_this_minute)
{
    struct estimate minutes[] = {
        {99 * MINUTE_MS, 7}, {100 * MINUTE_MS, 1.6}, {159 * MINUTE_MS, 4}, {160 * MINUTE_MS, 8}};
    const struct forecast_sample sample = {.sampled = 20, .minutes = minutes, .minutes_n = 4};
    struct top_hour hour = top_hour_of(&sample, NOW_MS);
    cr_expect(hour.is_known);
    cr_expect_eq(hour.minutes[0], 2);
    cr_expect_eq(hour.minutes[59], 4);
    int64_t sum = 0;
    for (int i = 0; i < TOP_MINUTES; i++)
        sum += hour.minutes[i];
    cr_expect_eq(sum, 6, "neither the minute before nor the one after the hour");
    const char *text = PRINTED(top_hour_print(&hour, CHART_ASCII, out));
    cr_expect_not_null(strstr(text, "about 6 deliveries, 2 within 10 minutes"), "%s", text);
}

Test(top_next, unknown_hour_is_null)
{
    const struct top_hour hour = {0};
    cr_expect_str_eq(PRINTED(top_hour_print(&hour, CHART_ASCII, out)), "");
    cr_expect(json_is_null(top_hour_json(&hour)));
}

Test(top_next, bars_have_eight_parts_in_each_row)
{
    const int64_t values[] = {0, 1, 5, 10};
    cr_expect_str_eq(PRINTED(chart_bars(values, 4, 2, CHART_BLOCKS, out)),
                     "        10 |   █|\n           | ▂██|\n");
    cr_expect_str_eq(PRINTED(chart_bars(values, 4, 2, CHART_ASCII, out)),
                     "        10 |   #|\n           | .##|\n");
}

Test(top_next, scale_ends_at_a_round_number)
{
    for (int64_t n = 1; n < 100000; n = n * 3 / 2 + 1)
        cr_expect(chart_top(n) >= n && (chart_top(n) <= 2 * n || n < 5), "%lld: %lld", (long long)n,
                  (long long)chart_top(n));
}

Test(top_next, shades_grow_with_the_logarithm)
{
    cr_expect_str_eq(chart_shade(0, 100, CHART_ASCII), " ");
    cr_expect_str_eq(chart_shade(1, 1000000, CHART_ASCII), ".");
    cr_expect_str_eq(chart_shade(1000000, 1000000, CHART_ASCII), "#");
    cr_expect_str_eq(chart_shade(1, 1, CHART_BLOCKS), "█");
}
