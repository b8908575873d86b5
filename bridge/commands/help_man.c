/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page, from the tables of commands and keys. */
#include "bridge/base/version.h"
#include "bridge/commands/command.h"
#include "bridge/commands/help_print.h"
#include "bridge/config/loader.h"

#include <ctype.h>
#include <string.h>

/* Text as roff takes it: its own signs escaped, nothing at the start of a line that is a request.
 */
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

static void print_command(FILE *out, const struct command *command)
{
    fputs(".TP\n.B ", out);
    print_roff(out, command->name);
    if (command->arguments[0] != '\0') {
        fputc(' ', out);
        print_roff(out, command->arguments);
    }
    fputc('\n', out);
    print_roff(out, command->summary);
    fputs(".\n", out);
    if (command->help[0] == '\0')
        return;
    fputs(".RS\n.nf\n", out);
    print_roff(out, command->help);
    fputs(".fi\n.RE\n", out);
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
    fputs(
        ".SH NAME\ndelaybridge \\- any delay for Kafka records, through level topics\n"
        ".SH SYNOPSIS\n.B delaybridge\n.I COMMAND\n[\\-c FILE] [\\-o text|json] [OPTIONS]\n"
        ".SH DESCRIPTION\nProducers write requests to a schedule topic, with headers that say when "
        "and where to;\nthe bridge holds them in level topics and forwards each to its target when "
        "it is due.\n.SH COMMANDS\n",
        out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        print_command(out, c);
    fputs(".SH OPTIONS\n.TP\n.B \\-c FILE\nThe configuration; else ./delaybridge.yaml, then "
          "/etc/delaybridge/delaybridge.yaml.\n"
          ".TP\n.B \\-o text|json\nHow results are written.\n"
          ".TP\n.B \\-\\-timeout D\nHow long a command waits for Kafka (10s).\n"
          ".TP\n.B \\-X NAME=VALUE\nA property of librdkafka.\n"
          ".SH CONFIGURATION\nEach key stands in the file, is a flag (\\-\\-max\\-delay) and a "
          "variable\n(DELAYBRIDGE_MAX_DELAY): flag before variable before file before default.\n",
          out);
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        print_key(out, &CONFIG_KEYS[i]);
    fputs(
        ".SH SIGNALS\nSIGTERM and SIGINT drain and end; a second one ends at once. SIGHUP reads "
        "the\n"
        "configuration again and says which keys it changed and which need a restart.\n"
        ".SH EXIT STATUS\n0 done, 64 usage, 65 bad data, 69 Kafka unreachable, 70 internal, 78 bad "
        "configuration.\n"
        ".SH FILES\n/etc/delaybridge/delaybridge.yaml\n",
        out);
}
