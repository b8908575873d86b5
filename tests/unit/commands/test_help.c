/* SPDX-License-Identifier: Apache-2.0 */
/* help: help, manual page and completion show the option tables, no more and no less. */
#include "bridge/commands/help_print.h"
#include "bridge/config/loader.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1000 };

/* Writes the options of a table, such as " --delay --at". Returns out. */
static const char *names_of(const struct option *table, char out[NAMES_MAX])
{
    int n = 0;
    out[0] = '\0';
    for (const struct option *o = table; o->name != NULL; o++)
        n += snprintf(out + n, (size_t)(NAMES_MAX - n), " %s", o->name);
    return out;
}

/* Adds the first word of text. Reads roff's "\-" as "-". */
static void add_name(char out[NAMES_MAX], const char *text)
{
    size_t n = strlen(out);
    out[n++] = ' ';
    for (; *text != ' ' && *text != '\n' && n < NAMES_MAX - 1; text++)
        if (*text != '\\')
            out[n++] = *text;
    out[n] = '\0';
}

/* Returns the output of a function. The caller frees it. */
static char *printed(void (*print)(FILE *out, const void *arg), const void *arg)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print(out, arg);
    fclose(out);
    return text;
}

static void print_command(FILE *out, const void *command)
{
    help_print_command(out, command);
}

static void print_man(FILE *out, const void *arg)
{
    (void)arg;
    help_print_man(out);
}

static void print_completion(FILE *out, const void *shell)
{
    cr_assert_eq(help_print_completion(out, shell), 0);
}

/* Collects the options in all lines before end that begin with prefix. An option follows the
   prefix. */
static void collect(const char *text, const char *end, const char *prefix, char names[NAMES_MAX])
{
    names[0] = '\0';
    for (const char *at = text; at != NULL && at < end; at = strchr(at, '\n')) {
        at += *at == '\n';
        const char *option = at + strlen(prefix);
        if (strncmp(at, prefix, strlen(prefix)) == 0 && (*option == '-' || *option == '\\'))
            add_name(names, option);
    }
}

Test(help, a_command_lists_the_options_of_its_table)
{
    char names[NAMES_MAX], want[NAMES_MAX];
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        char *text = printed(print_command, c);
        collect(text, text + strlen(text), "  ", names);
        cr_expect_str_eq(names, names_of(c->options, want), "%s", text);
        free(text);
    }
}

Test(help, the_manual_page_lists_the_options_of_the_tables)
{
    char names[NAMES_MAX], want[NAMES_MAX], start[64];
    char *text = printed(print_man, NULL);
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        const char *dash = strchr(c->name, '-'); /* roff's "\-"; no name has two of them */
        int n = dash == NULL ? (int)strlen(c->name) : (int)(dash - c->name);
        snprintf(start, sizeof start, ".TP\n.B %.*s%s%s%s", n, c->name, dash == NULL ? "" : "\\",
                 c->name + n, c->operands[0] == '\0' ? "\n" : " ");
        const char *at = strstr(text, start);
        cr_assert_not_null(at, "%s", c->name);
        collect(at, strstr(at, ".RE\n"), ".B ", names);
        cr_expect_str_eq(names, names_of(c->options, want), "%s", c->name);
    }
    const char *at = strstr(text, ".SH OPTIONS");
    collect(at, strstr(at, "\n.B \\-X"), ".B ", names);
    cr_expect_str_eq(names, names_of(COMMON_OPTIONS, want));
    free(text);
}

/* Reads the line of the shell function that offers the words of a command. */
static void offered(const char *text, const char *command, char names[NAMES_MAX])
{
    char start[64];
    names[0] = '\0';
    snprintf(start, sizeof start, "\n    %s) ", command);
    const char *at = strstr(text, start);
    if (at == NULL)
        return;
    const char *end = strchr(at + 1, '\n');
    for (at = strstr(at, " --"); at != NULL && at < end; at = strstr(at + 1, " --"))
        if (at[3] != ' ') /* the two dashes that end compadd's own options */
            add_name(names, at + 1);
    names[strcspn(names, "'")] = '\0';
}

Test(help, completion_offers_the_options_of_the_tables)
{
    static const char *const SHELLS[] = {"bash", "zsh"};
    char names[NAMES_MAX], want[NAMES_MAX];
    for (size_t i = 0; i < 2; i++) {
        char *text = printed(print_completion, SHELLS[i]);
        for (const struct command *c = COMMANDS; c->name != NULL; c++) {
            offered(text, c->name, names);
            cr_expect_str_eq(names, names_of(c->options, want), "%s %s", SHELLS[i], c->name);
        }
        cr_expect_not_null(strstr(text, names_of(COMMON_OPTIONS, want)), "%s", SHELLS[i]);
        free(text);
    }
}

Test(help, completion_offers_the_values_of_choices_and_files)
{
    char *text = printed(print_completion, "bash");
    cr_expect_not_null(strstr(text, "*,-c) COMPREPLY=($(compgen -f"), "%s", text);
    cr_expect_not_null(strstr(text, "*,-o) COMPREPLY=($(compgen -W 'text json'"), "%s", text);
    cr_expect_not_null(strstr(text, "help,--completion) COMPREPLY=($(compgen -W 'bash zsh'"));
    cr_expect_not_null(strstr(text, "peek,--limit) COMPREPLY=(); return"));
    cr_expect_null(strstr(text, "levels,--lanes)"), "a switch has no value");
    free(text);
}

Test(help, a_value_of_each_option_is_read_in_both_forms)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        for (const struct option *o = c->options; o->name != NULL; o++) {
            struct error error = {""};
            const char *text = o->kind == OPTION_CHOICE     ? "bash"
                               : o->kind == OPTION_DURATION ? "30s"
                                                            : "30";
            char joined[100];
            snprintf(joined, sizeof joined, "%s=%s", o->name, text);
            char *two[] = {(char *)o->name, (char *)text}, *one[] = {joined};
            struct arguments a = {.own = c->options}, b = {.own = c->options};
            int width = o->kind == OPTION_SWITCH ? 1 : 2;
            cr_expect_eq(arguments_parse(&a, true, width, two, &error), 0, "%s", error.text);
            cr_expect(arguments_have(&a, o->name) && a.operands_n == 0);
            if (o->kind != OPTION_SWITCH) {
                cr_expect_eq(arguments_parse(&b, true, 1, one, &error), 0, "%s", error.text);
                cr_expect_str_eq(arguments_text(&b, o->name), text);
                cr_expect_eq(arguments_number(&a, o->name), arguments_number(&b, o->name));
            }
            arguments_deinit(&a);
            arguments_deinit(&b);
        }
}

Test(help, rows_are_complete_and_their_initial_values_in_bounds)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        for (const struct option *o = c->options; o->name != NULL; o++) {
            struct option_value value;
            struct error error = {""};
            cr_expect(o->help != NULL && o->help[0] != '\0', "%s", o->name);
            cr_expect((option_value_name(o)[0] == '\0') == (o->kind == OPTION_SWITCH), "%s",
                      o->name);
            if (o->initial != NULL)
                cr_expect_eq(option_read(o, o->initial, &value, &error), 0, "%s", error.text);
        }
}

/* An equal name would hide the key or the common option. */
Test(help, no_option_of_a_command_has_the_name_of_a_key)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        for (const struct option *o = c->options; o->name != NULL; o++) {
            cr_expect_null(config_key_guess(o->name + 2), "%s %s", c->name, o->name);
            cr_expect_null(option_find(COMMON_OPTIONS, o->name, strlen(o->name)), "%s", o->name);
        }
}
