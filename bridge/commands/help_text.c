/* SPDX-License-Identifier: Apache-2.0 */
/* Help for a terminal. */
#include "bridge/commands/help_print.h"

#include <string.h>

const char *help_term(const struct option *option, char out[HELP_TERM_MAX])
{
    const char *value = option_value_name(option);
    snprintf(out, HELP_TERM_MAX, "%s%s%s", option->name, value[0] == '\0' ? "" : " ", value);
    return out;
}

static void print_options(FILE *out, const struct option *table)
{
    char term[HELP_TERM_MAX];
    int width = 0;
    for (const struct option *o = table; o->name != NULL; o++) {
        int n = (int)strlen(help_term(o, term));
        width = n > width ? n : width;
    }
    for (const struct option *o = table; o->name != NULL; o++) {
        fprintf(out, "  %-*s  %s", width, help_term(o, term), o->help);
        if (o->initial != NULL)
            fprintf(out, " (%s)", o->initial);
        fputc('\n', out);
    }
}

void help_print_synopsis(FILE *out, const struct command *command)
{
    enum { SHOWN_MAX = 4 }; /* more are "[OPTIONS]" */
    char term[HELP_TERM_MAX];
    int n = 0;
    if (command->operands[0] != '\0')
        fprintf(out, " %s", command->operands);
    for (const struct option *o = command->options; o->name != NULL; o++)
        n++;
    for (const struct option *o = command->options; n <= SHOWN_MAX && o->name != NULL; o++)
        fprintf(out, o->required ? " %s" : " [%s]", help_term(o, term));
    if (n > SHOWN_MAX)
        fputs(" [OPTIONS]", out);
}

void help_print_all(FILE *out)
{
    fputs("delaybridge: delayed delivery for Kafka records\n\n"
          "usage: delaybridge COMMAND [OPTIONS]\n\n",
          out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        fprintf(out, "  %-8s %s\n", c->name, c->summary);
    fputs("\noptions of every command:\n", out);
    print_options(out, COMMON_OPTIONS);
    fputs("\nkeys of the configuration, each also an option:\n", out);
    config_print_help(out);
}

void help_print_command(FILE *out, const struct command *command)
{
    fprintf(out, "usage: delaybridge %s", command->name);
    help_print_synopsis(out, command);
    fprintf(out, "\n%s\n", command->summary);
    if (command->options[0].name != NULL)
        fputc('\n', out);
    print_options(out, command->options);
    if (command->help[0] != '\0')
        fprintf(out, "\n%s", command->help);
    if (command->needs != NEEDS_NOTHING)
        fputs("\n'delaybridge help' lists the options of every command: -c FILE, -o text|json, "
              "--timeout D,\nand one for each key of the configuration.\n",
              out);
}
