/* SPDX-License-Identifier: Apache-2.0 */
/* cli: the way from argv to a command. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H

#include "bridge/commands/command.h"

/* Read the configuration again, from where it came. 0 or ERR_CONFIG with a sentence in error. */
int cli_reload(const struct cli *cli, struct config *fresh,
               char error[CONFIG_ERROR_MAX]) must_check;

/* Print that there is no command of this name, and one that is spelled like it. Returns EXIT_USAGE.
 */
int cli_unknown_command(const char *name);

/* The list of commands and common options; or the usage of one. */
void cli_print_help(FILE *out);
void cli_print_usage(FILE *out, const struct command *command);

/* The whole program: argv of main. Returns the exit code. */
int cli_main(int argc, char **argv);

#endif
