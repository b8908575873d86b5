/* SPDX-License-Identifier: Apache-2.0 */
/* top_figures: values, rates and labels of samples. */
#include "readings.h"

static struct top_figures figures;

static void read_twice(void)
{
    figures = (struct top_figures){0};
    reading(&figures, 1000, "a{x=\"1\"} 10\na{x=\"2\"} 5\nb 7\n");
    reading(&figures, 3000, "new 4\na{x=\"1\"} 14\na{x=\"2\"} 5\nb 1\n");
}

static void end(void)
{
    top_figures_deinit(&figures);
}
TestSuite(top_figures, .init = read_twice, .fini = end);

Test(top_figures, rate_is_growth_by_the_passed_time)
{
    cr_expect_eq(top_figures_value(&figures, "a{x=\"%d\"}", 1), 14);
    cr_expect_eq(top_figures_rate(&figures, "a{x=\"%d\"}", 1), 2);
    cr_expect_eq(top_figures_total(&figures, "a{"), 19);
    cr_expect_eq(top_figures_total_rate(&figures, "a{"), 2);
    cr_expect_eq(top_figures_value(&figures, "missing"), 0);
}

Test(top_figures, restart_of_a_process_is_no_negative_rate)
{
    cr_expect_eq(top_figures_rate(&figures, "b"), 0);
    for (size_t i = 0; i < figures.now.n; i++)
        cr_expect_geq(top_figures_growth(&figures, i), 0, "%s", figures.now.samples[i].name);
}

Test(top_figures, growth_finds_a_sample_at_another_index)
{
    for (size_t i = 0; i < figures.now.n; i++)
        if (strcmp(figures.now.samples[i].name, "a{x=\"1\"}") == 0)
            cr_expect_eq(top_figures_growth(&figures, i), 4);
}

Test(top_figures, labels_are_in_the_order_of_the_metrics)
{
    char label[TOP_LABEL_MAX];
    cr_assert(top_figures_label(&figures, "a{x=\"", 1, label));
    cr_expect_str_eq(label, "2");
    cr_expect_not(top_figures_label(&figures, "a{x=\"", 2, label));
}

Test(top_figures, numbers_have_separators)
{
    char out[TOP_NUMBER_MAX];
    cr_expect_str_eq(top_number(1234567, out), "1,234,567");
    cr_expect_str_eq(top_number(999, out), "999");
    cr_expect_str_eq(top_number(-1, out), "0");
}
