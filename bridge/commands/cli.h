/* SPDX-License-Identifier: Apache-2.0 */
/* cli: runs the command that argv names. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H

#include "bridge/commands/command.h"

/* Reads the configuration again, from the same file and flags. Returns 0, or ERR_CONFIG with a
   sentence in error. */
int cli_reload(const struct cli *cli, struct config *fresh, struct error *error) must_check;

/* Prints an error that names the unknown command and the one with the most similar spelling.
   Returns EXIT_USAGE. */
int cli_unknown_command(const struct cli *cli, const char *name);

/* Runs the whole program. argc and argv are those of main. Returns the exit code. */
int cli_main(int argc, char **argv);

#endif
