/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page, from the tables of commands and keys. */
#include "bridge/base/version.h"
#include "bridge/commands/help_print.h"
#include "bridge/config/loader.h"

#include <ctype.h>
#include <string.h>

/* Escapes characters that roff interprets: backslashes, minus signs, and a dot or an apostrophe at
   the start of a line. */
static void print_roff(FILE *out, const char *text)
{
    bool at_start = true;
    for (const char *c = text; *c != '\0'; c++) {
        if (at_start && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else
            fputc(*c, out);
        at_start = *c == '\n';
    }
}

static void print_options(FILE *out, const struct option *table)
{
    char term[HELP_TERM_MAX];
    for (const struct option *o = table; o->name != NULL; o++) {
        fputs(".TP\n.B ", out);
        print_roff(out, help_term(o, term));
        fputc('\n', out);
        print_roff(out, o->help);
        if (o->initial != NULL) {
            fputs(" (", out);
            print_roff(out, o->initial);
            fputc(')', out);
        }
        fputs(".\n", out);
    }
}

static void print_command(FILE *out, const struct command *command)
{
    fputs(".TP\n.B ", out);
    print_roff(out, command->name);
    if (command->operands[0] != '\0') {
        fputc(' ', out);
        print_roff(out, command->operands);
    }
    fputc('\n', out);
    print_roff(out, command->summary);
    fputs(".\n.RS\n", out);
    print_options(out, command->options);
    if (command->help[0] != '\0') {
        fputs(".PP\n.nf\n", out);
        print_roff(out, command->help);
        fputs(".fi\n", out);
    }
    fputs(".RE\n", out);
}

static void print_key(FILE *out, const struct config_key *key)
{
    fputs(".TP\n.B ", out);
    print_roff(out, key->name);
    if (key->initial != NULL && key->initial[0] != '\0') {
        fputs(" (", out);
        print_roff(out, key->initial);
        fputc(')', out);
    }
    fputc('\n', out);
    print_roff(out, key->help);
    fputs(key->live ? "\nSIGHUP changes it.\n" : "\n", out);
}

void help_print_man(FILE *out)
{
    fprintf(out, ".TH DELAYBRIDGE 1 \"\" \"delaybridge %s\" \"User Commands\"\n", version_number);
    fputs(".SH NAME\ndelaybridge \\- delayed delivery for Kafka records\n"
          ".SH SYNOPSIS\n.B delaybridge\n.I COMMAND\n[\\-c FILE] [\\-o text|json] [OPTIONS]\n",
          out);
    fputs(
        ".SH DESCRIPTION\nProducers write requests to a schedule topic, with headers that set the "
        "due time and the target topic.\nThe bridge keeps them in level topics and forwards each "
        "to its target when it is due.\n.SH COMMANDS\n",
        out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        print_command(out, c);
    fputs(".SH OPTIONS\nOf every command. \\-\\-limit 5 and \\-\\-limit=5 are the same; \\-\\- "
          "ends the options.\n",
          out);
    print_options(out, COMMON_OPTIONS);
    fputs(".TP\n.B \\-X NAME=VALUE\nA property of librdkafka.\n"
          ".SH CONFIGURATION\nEach key can be set in the file, as an option "
          "(\\-\\-max\\-delay) and as a variable\n(DELAYBRIDGE_MAX_DELAY). Precedence: option, "
          "variable, file, default.\n",
          out);
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        print_key(out, &CONFIG_KEYS[i]);
    fputs(
        ".SH SIGNALS\nSIGTERM and SIGINT drain and exit; a second signal exits immediately. SIGHUP "
        "reads the\nconfiguration again and logs which keys it changed and which need a restart. "
        "One that a\nstart would refuse changes nothing.\n"
        ".SH EXIT STATUS\n0 done, 1 no such record (find, events), 64 usage, 65 bad data, 69 Kafka "
        "unreachable, 70 internal.\n75: a part is done, run the command again. 78: configuration, "
        "login or right.\n"
        ".SH FILES\n/etc/delaybridge/delaybridge.yaml\n",
        out);
}
