/* SPDX-License-Identifier: Apache-2.0 */
/* top_lateness: buckets, quantiles, and the heat map. */
#include "bridge/commands/top_lateness.h"

#include "readings.h"

#define BUCKET(level, le) "delaybridge_lateness_seconds_bucket{level=\"" level "\",le=\"" le "\"} "

/* Level 1s has 90 deliveries within 1 ms and 9 within 5 ms between the readings. Level 10s has one
   above all bounds. */
static struct top_figures figures;

static void read_twice(void)
{
    figures = (struct top_figures){0};
    reading(
        &figures, 1000,
        BUCKET("1s", "0.001") "100\n" BUCKET("1s", "0.005") "100\n" BUCKET(
            "1s", "300") "100\n" BUCKET("1s",
                                        "+Inf") "100\n" BUCKET("10s",
                                                               "300") "0\n" BUCKET("10s",
                                                                                   "+Inf") "0\n");
    reading(
        &figures, 2000,
        BUCKET("1s", "0.001") "190\n" BUCKET("1s", "0.005") "199\n" BUCKET(
            "1s", "300") "199\n" BUCKET("1s",
                                        "+Inf") "199\n" BUCKET("10s",
                                                               "300") "0\n" BUCKET("10s",
                                                                                   "+Inf") "1\n");
}

static void end(void)
{
    top_figures_deinit(&figures);
}
TestSuite(top_lateness, .init = read_twice, .fini = end);

Test(top_lateness, quantile_is_a_bound_of_the_metrics)
{
    char out[TOP_NUMBER_MAX];
    struct top_lateness of_level = top_lateness_read(&figures, "1s");
    cr_expect_eq(top_lateness_n(&of_level), 99);
    cr_expect_str_eq(top_quantile_text(top_lateness_quantile(&of_level, 0.5), out), "1ms");
    cr_expect_str_eq(top_quantile_text(top_lateness_quantile(&of_level, 0.99), out), "5ms");
}

Test(top_lateness, all_levels_add_up)
{
    char out[TOP_NUMBER_MAX];
    struct top_lateness all = top_lateness_read(&figures, NULL);
    cr_expect_eq(top_lateness_n(&all), 100);
    cr_expect_str_eq(top_quantile_text(top_lateness_quantile(&all, 0.99), out), "5ms");
    cr_expect_str_eq(top_quantile_text(top_lateness_quantile(&all, 1), out), "> 5m");
}

Test(top_lateness, no_delivery_has_no_quantile)
{
    char out[TOP_NUMBER_MAX];
    struct top_lateness none = top_lateness_read(&figures, "1");
    cr_expect_eq(top_lateness_n(&none), 0, "level 1 is not level 1s");
    cr_expect_str_eq(top_quantile_text(top_lateness_quantile(&none, 0.5), out), "-");
    json_t *null = top_quantile_json(top_lateness_quantile(&none, 0.5));
    cr_expect(json_is_null(null));
}

Test(top_lateness, recent_is_the_last_ten_seconds)
{
    struct top_heat heat = {0};
    for (int i = 0; i < 70; i++)
        top_heat_add(&heat, (struct top_lateness){.span_ms = 4000, .n = {i}});
    struct top_lateness recent = top_heat_recent(&heat);
    cr_expect_eq(recent.span_ms, 8000);
    cr_expect_eq(recent.n[0], 69 + 68);
    top_heat_add(&heat, (struct top_lateness){.span_ms = 60000, .n = {5}});
    cr_expect_eq(top_heat_recent(&heat).n[0], 5, "the last update counts however long it is");
}

Test(top_lateness, heat_map_has_a_row_for_each_range)
{
    struct top_heat heat = {0};
    top_heat_add(&heat, top_lateness_read(&figures, NULL));
    top_heat_add(&heat, (struct top_lateness){.span_ms = 1000});
    cr_expect_str_eq(PRINTED(top_heat_print(&heat, CHART_ASCII, out)),
                     "LATENESS of deliveries in the last 2 s, the newest right\n"
                     "     later |. |\n"
                     "  <= 5 min |  |\n"
                     "  <= 1 min |  |\n"
                     "   <= 10 s |  |\n"
                     "    <= 1 s |  |\n"
                     " <= 100 ms |  |\n"
                     "  <= 10 ms |* |\n"
                     "   <= 1 ms |# |\n");
}
