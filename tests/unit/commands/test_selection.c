/* SPDX-License-Identifier: Apache-2.0 */
/* selection: the options that select dead-lettered records. */
#include "bridge/commands/selection.h"

#include <criterion/criterion.h>
#include <stdio.h>

static int read_options(struct selection *selection, int argc, char **argv)
{
    struct error error;
    struct arguments arguments = {.own = command_find("dead-letters")->options};
    cr_assert_eq(arguments_parse(&arguments, false, argc, argv, &error), 0, "%s", error.text);
    const struct cli cli = {.arguments = &arguments};
    int code = selection_read(selection, &cli);
    arguments_deinit(&arguments);
    return code;
}

static int code_of(const char *name, const char *value)
{
    struct selection selection;
    char *argv[] = {(char *)name, (char *)value};
    int code = read_options(&selection, 2, argv);
    selection_deinit(&selection);
    return code;
}

Test(selection, options_become_a_filter)
{
    struct selection selection;
    char *argv[] = {
        "--target",      "a",      "--code=too_far", "--since",
        "1795219200000", "--code", "bad_op",         "--until=2026-11-21T00:00:00.001Z"};
    cr_assert_eq(read_options(&selection, sizeof argv / sizeof *argv, argv), EXIT_DONE);
    const struct dead_filter *filter = &selection.filter;
    cr_expect(filter->codes_n == 2 && filter->targets_n == 1);
    cr_expect_str_eq(filter->codes[0], "too_far");
    cr_expect_str_eq(filter->codes[1], "bad_op");
    cr_expect_str_eq(filter->targets[0], "a");
    cr_expect_eq(filter->since_wall_ms, 1795219200000);
    cr_expect_eq(filter->until_wall_ms, 1795219200001);
    selection_deinit(&selection);
}

Test(selection, no_option_selects_everything)
{
    struct selection selection;
    cr_assert_eq(read_options(&selection, 0, NULL), EXIT_DONE);
    struct dead_record letter = {.code = bytes_text("x"), .failed_wall_ms = 1};
    cr_expect(dead_filter_selects(&selection.filter, &letter));
    selection_deinit(&selection);
}

Test(selection, impossible_values_are_refused)
{
    freopen("/dev/null", "w", stderr);
    cr_expect_eq(code_of("--code", "too_fra"), EXIT_USAGE);
    cr_expect_eq(code_of("--code", "ok"), EXIT_USAGE);
    cr_expect_eq(code_of("--target", "a/b"), EXIT_USAGE);
    cr_expect_eq(code_of("--since", "1795219200"), EXIT_USAGE);
    cr_expect_eq(code_of("--until", "yesterday"), EXIT_USAGE);
    cr_expect_eq(code_of("--code", "too_far"), EXIT_DONE);
}
