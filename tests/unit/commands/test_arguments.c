/* SPDX-License-Identifier: Apache-2.0 */
/* arguments: how a command line is taken apart by an option table. */
#include "bridge/commands/arguments.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct option TABLE[] = {
    {.name = "--all", .kind = OPTION_SWITCH},
    {.name = "--limit",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = 100,
     .initial = "20"},
    {.name = "--every", .kind = OPTION_DURATION, .value = "D", .least = 10, .most = 60000},
    {.name = "--bytes", .kind = OPTION_AMOUNT, .value = "N", .most = 5000},
    {.name = "--rate", .kind = OPTION_RATE, .value = "N", .most = 2000000},
    {.name = "--header", .kind = OPTION_TEXT, .value = "NAME=VALUE", .repeatable = true},
    {.name = "--path", .kind = OPTION_FILE, .value = "FILE"},
    {.name = "--shell", .kind = OPTION_CHOICE, .choices = "bash|zsh"},
    {.name = NULL},
};

static const struct option REQUIRED[] = {
    {.name = "--rate", .kind = OPTION_RATE, .value = "N", .most = 9, .required = true, .help = "x"},
    {.name = NULL},
};

static struct arguments arguments;
static struct error error;
static char copy[500], *argv[32];

/* Parses the words of a line. A "!" at its start means a command without configuration. */
static int parse(const char *line)
{
    char *rest = copy;
    int argc = 0;
    bool configured = line[0] != '!';
    arguments_deinit(&arguments);
    arguments = (struct arguments){.own = TABLE};
    error = (struct error){""};
    snprintf(copy, sizeof copy, "%s", line + !configured);
    while (rest != NULL && argc < 32)
        argv[argc++] = strsep(&rest, " ");
    return arguments_parse(&arguments, configured, copy[0] == '\0' ? 0 : argc, argv, &error);
}

static void accepts(const char *line)
{
    cr_assert_eq(parse(line), 0, "%s: %s", line, error.text);
}

static void refuses(const char *line, const char *sentence)
{
    cr_expect_eq(parse(line), ERR_DATA, "%s", line);
    cr_expect_str_eq(error.text, sentence, "%s", line);
}

static void finish(void)
{
    arguments_deinit(&arguments);
}
TestSuite(arguments, .fini = finish);

Test(arguments, a_value_is_the_next_argument_or_follows_an_equals_sign)
{
    accepts("--limit 5 --every=10s");
    cr_expect_eq(arguments_number(&arguments, "--limit"), 5);
    cr_expect_eq(arguments_number(&arguments, "--every"), 10000);
    accepts("--limit=5 --header=a=b");
    cr_expect_eq(arguments_number(&arguments, "--limit"), 5);
    cr_expect_str_eq(arguments_text(&arguments, "--header"), "a=b");
    accepts("-o json -c=file.yaml");
    cr_expect_str_eq(arguments_text(&arguments, "-o"), "json");
    cr_expect_str_eq(arguments_text(&arguments, "-c"), "file.yaml");
}

Test(arguments, a_value_may_look_like_an_option)
{
    accepts("--header --all --path -o");
    cr_expect_str_eq(arguments_text(&arguments, "--header"), "--all");
    cr_expect_str_eq(arguments_text(&arguments, "--path"), "-o");
    cr_expect_not(arguments_have(&arguments, "--all"));
    cr_expect_str_eq(arguments_text(&arguments, "-o"), "text");
}

Test(arguments, an_empty_value_is_a_value)
{
    accepts("--header=");
    cr_expect_str_eq(arguments_text(&arguments, "--header"), "");
}

Test(arguments, two_dashes_end_the_options)
{
    accepts("--all 5s -- --limit -x");
    cr_assert_eq(arguments.operands_n, 3);
    cr_expect_str_eq(arguments.operands[0], "5s");
    cr_expect_str_eq(arguments.operands[1], "--limit");
    cr_expect_str_eq(arguments.operands[2], "-x");
    cr_expect_eq(arguments.values_n, 1);
}

Test(arguments, a_lone_dash_is_an_operand)
{
    accepts("-");
    cr_assert_eq(arguments.operands_n, 1);
    cr_expect_str_eq(arguments.operands[0], "-");
}

Test(arguments, operands_and_options_may_be_mixed)
{
    accepts("5s --limit 3 7");
    cr_assert_eq(arguments.operands_n, 2);
    cr_expect_str_eq(arguments.operands[1], "7");
    cr_expect_eq(arguments_number(&arguments, "--limit"), 3);
}

Test(arguments, an_unknown_option_is_quoted_with_the_nearest_name)
{
    refuses("--limt=3", "unknown option '--limt=3': did you mean --limit?");
    refuses("--timout 3s", "unknown option '--timout': did you mean --timeout?");
    refuses("--hodl 3s", "unknown option '--hodl': did you mean --hold?");
    refuses("--colour", "unknown option '--colour'");
    refuses("-1", "unknown option '-1'");
}

Test(arguments, a_prefix_of_an_option_is_unknown)
{
    refuses("--lim 3", "unknown option '--lim'");
}

Test(arguments, a_missing_value_is_named)
{
    refuses("--limit", "--limit needs a value: --limit N");
    refuses("-o", "-o needs a value: -o text|json");
    refuses("--hold", "--hold needs a value");
    refuses("-X", "-X needs a value");
}

Test(arguments, a_switch_refuses_a_value)
{
    refuses("--all=yes", "--all takes no value, not 'yes'");
}

Test(arguments, an_option_is_given_once_unless_it_is_repeatable)
{
    refuses("--limit 1 --limit=2", "--limit is given twice");
    refuses("--all --all", "--all is given twice");
    refuses("-c a -c b", "-c is given twice");
    accepts("--header a=1 --header=b=2");
    cr_assert_eq(arguments.values_n, 2);
    cr_expect_str_eq(arguments.values[0].text, "a=1");
    cr_expect_str_eq(arguments.values[1].text, "b=2");
}

Test(arguments, an_absent_option_has_its_initial_value)
{
    accepts("");
    cr_expect_eq(arguments_number(&arguments, "--limit"), 20);
    cr_expect_eq(arguments_number(&arguments, "--timeout"), 10000);
    cr_expect_null(arguments_text(&arguments, "--header"));
    cr_expect_not(arguments_have(&arguments, "--limit"));
}

Test(arguments, keys_of_the_configuration_are_kept_in_order)
{
    accepts("--hold 2s --all -Xacks=all --log-level=warn -X a=b");
    cr_assert_eq(arguments.flags_n, 6);
    cr_expect_str_eq(arguments.flags[0], "--hold");
    cr_expect_str_eq(arguments.flags[1], "2s");
    cr_expect_str_eq(arguments.flags[2], "-Xacks=all");
    cr_expect_str_eq(arguments.flags[3], "--log-level=warn");
    cr_expect_str_eq(arguments.flags[5], "a=b");
    cr_expect(arguments_have(&arguments, "--all"));
}

Test(arguments, a_command_without_configuration_knows_no_keys)
{
    cr_expect_eq(parse("!--hold 2s"), ERR_DATA);
    cr_expect_str_eq(error.text, "unknown option '--hold'");
    cr_expect_eq(parse("!-Xacks=all"), ERR_DATA);
    cr_expect_eq(parse("!-c file"), 0);
}

Test(arguments, help_ends_the_pass)
{
    accepts("-h --nonsense");
    cr_expect(arguments_have(&arguments, "--help"));
    accepts("--all --help --limit");
    cr_expect(arguments_have(&arguments, "--help"));
}

Test(arguments, options_of_the_command_are_distinguished_from_common_ones)
{
    accepts("-o json");
    cr_expect_not(arguments_have_own(&arguments));
    accepts("-o json --all");
    cr_expect(arguments_have_own(&arguments));
}

Test(arguments, a_required_option_is_missed)
{
    arguments_deinit(&arguments);
    arguments = (struct arguments){.own = REQUIRED};
    cr_assert_eq(arguments_parse(&arguments, false, 0, argv, &error), 0);
    cr_expect_eq(arguments_check_required(&arguments, &error), ERR_DATA);
    cr_expect_str_eq(error.text, "--rate N is missing: x");
    accepts("--all");
    cr_expect_eq(arguments_check_required(&arguments, &error), 0);
}

Test(arguments, values_outside_their_kind_or_bounds_are_quoted)
{
    refuses("--limit 0", "--limit: '0' is not a number from 1 to 100");
    refuses("--limit=101", "--limit: '101' is not a number from 1 to 100");
    refuses("--limit=", "--limit: '' is not a number from 1 to 100");
    refuses("--every 5", "--every: '5' is not a duration such as 10s");
    refuses("--every 5ms", "--every: '5ms' is not between 10ms and 1m");
    refuses("--bytes 0.5", "--bytes: '0.5' is not a whole number such as 300 or 20k, from 0 to "
                           "5000");
    refuses("--bytes 6k", "--bytes: '6k' is not a whole number such as 300 or 20k, from 0 to 5000");
    refuses("--rate 0", "--rate: '0' is not a number such as 300, 20k or 1.5M, above 0 and up to "
                        "2000000");
    refuses("--shell fish", "--shell: 'fish' is not one of bash|zsh");
    refuses("--shell ba", "--shell: 'ba' is not one of bash|zsh");
    refuses("--shell bash|zsh", "--shell: 'bash|zsh' is not one of bash|zsh");
    refuses("--shell=", "--shell: '' is not one of bash|zsh");
    refuses("--path=", "--path needs the path of a file");
}

Test(arguments, amounts_and_rates_count_thousands_and_millions)
{
    accepts("--bytes 5k --rate 1.5M");
    cr_expect_eq(arguments_number(&arguments, "--bytes"), 5000);
    cr_expect_float_eq(arguments_rate(&arguments, "--rate"), 1.5e6, 1e-9);
    accepts("--rate 0.5 --bytes 0");
    cr_expect_float_eq(arguments_rate(&arguments, "--rate"), 0.5, 1e-9);
    cr_expect_eq(arguments_number(&arguments, "--bytes"), 0);
}

Test(arguments, control_characters_stay_out_of_sentences)
{
    refuses("--sh\033[2Jell", "unknown option '--sh [2Jell'");
}
