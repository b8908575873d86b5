/* SPDX-License-Identifier: Apache-2.0 */
/* cli: from argv to a command. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H

#include "bridge/commands/command.h"

/* Read the configuration again, from the same file and flags. 0 or ERR_CONFIG with a sentence in
   error. */
int cli_reload(const struct cli *cli, struct config *fresh, struct error *error) must_check;

/* Print that there is no command of this name, and the name that is spelled like it. Returns
   EXIT_USAGE. */
int cli_unknown_command(const struct cli *cli, const char *name);

/* The whole program: argv of main. Returns the exit code. */
int cli_main(int argc, char **argv);

#endif
