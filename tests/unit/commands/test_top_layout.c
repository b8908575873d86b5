/* SPDX-License-Identifier: Apache-2.0 */
/* top_layout: sections that fit, and those that do not. */
#include "bridge/commands/top_layout.h"

#include "readings.h"

static struct top_layout layout;

static void add(int rows, int columns)
{
    layout = (struct top_layout){.rows = rows, .columns = columns};
    top_layout_add(&layout, "first", strdup("a\nb\n"));
    top_layout_add(&layout, "empty", strdup(""));
    top_layout_add(&layout, "left", strdup("░\n12\n"));
    top_layout_add(&layout, "right", strdup("x\ny\nz\n"));
}

static void end(void)
{
    top_layout_deinit(&layout);
}
TestSuite(top_layout, .fini = end);

Test(top_layout, without_a_terminal_all_are_below_each_other)
{
    add(0, 0);
    cr_expect_str_eq(PRINTED(top_layout_print(&layout, out)), "a\nb\n\n░\n12\n\nx\ny\nz\n");
}

Test(top_layout, last_two_are_next_to_each_other_if_they_fit)
{
    add(40, 7);
    cr_expect_eq(top_layout_rows(&layout), 6);
    cr_expect_str_eq(PRINTED(top_layout_print(&layout, out)),
                     "a\nb\n\n░     x\n12    y\n      z\n");
    end();
    add(40, 6);
    cr_expect_eq(top_layout_rows(&layout), 9);
}

Test(top_layout, sections_without_room_are_named)
{
    add(9, 6);
    cr_expect_str_eq(PRINTED(top_layout_print(&layout, out)), "a\nb\n\n░\n12\nno room for: right");
    end();
    add(10, 6);
    cr_expect_null(strstr(PRINTED(top_layout_print(&layout, out)), "no room"));
    end();
    add(3, 6);
    cr_expect_str_eq(PRINTED(top_layout_print(&layout, out)), "a\nb\nno room for: left, right");
}
