/* SPDX-License-Identifier: Apache-2.0 */
/* help_print: prints the tables of commands, options and keys as text, manual page, JSON and shell
   completion. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_HELP_PRINT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_HELP_PRINT_H

#include "bridge/commands/command.h"

#include <stdio.h>

/* Prints the list of commands, the common options and the keys of the configuration. */
void help_print_all(FILE *out);

/* Prints usage line, summary, options and help of one command. */
void help_print_command(FILE *out, const struct command *command);

/* Prints the part of the usage line after the name of the command: "LEVEL [LANE] [--limit N]". */
void help_print_synopsis(FILE *out, const struct command *command);

/* Writes "--limit N". Returns out. */
enum { HELP_TERM_MAX = 64 };
const char *help_term(const struct option *option, char out[HELP_TERM_MAX]);

/* Prints one command, or all if only is NULL, and the common options, as one line of JSON. */
void help_print_json(const struct command *only);

/* Prints delaybridge.1, in man(7) macros. */
void help_print_man(FILE *out);

/* Prints completion for "bash" or "zsh". Returns ERR_RANGE for another shell. */
int help_print_completion(FILE *out, const char *shell) must_check;

#endif
