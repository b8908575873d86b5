/* SPDX-License-Identifier: Apache-2.0 */
/* help_print: the tables of commands, options, keys and metrics as text, as manual page and as
   completion. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_HELP_PRINT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_HELP_PRINT_H

#include "bridge/commands/command.h"

#include <stdio.h>

/* The list of commands, the common options and the keys of the configuration. */
void help_print_all(FILE *out);

/* One command: usage line, summary, options, help. */
void help_print_command(FILE *out, const struct command *command);

/* "LEVEL [LANE] [--limit N]": what follows the name of the command. */
void help_print_synopsis(FILE *out, const struct command *command);

/* Writes "--limit N". Returns out. */
enum { HELP_TERM_MAX = 64 };
const char *help_term(const struct option *option, char out[HELP_TERM_MAX]);

/* One command, or all if only is NULL, and the common options, as one line of JSON on stdout. */
void help_print_json(const struct command *only);

/* delaybridge.1, in man(7) macros. */
void help_print_man(FILE *out);

/* For "bash" or "zsh". ERR_RANGE: another shell. */
int help_print_completion(FILE *out, const char *shell) must_check;

#endif
