/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge help: the commands, one command, or the commented configuration. */
#include "bridge/commands/connect.h"

#include <string.h>

int cmd_help(struct cli *cli)
{
    if (cli->argc == 0) {
        cli_print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(cli->argv[0], "--yaml") == 0) {
        config_print_yaml(stdout);
        return EXIT_DONE;
    }
    const struct command *command = cli_find(cli->argv[0]);
    if (command == NULL)
        return complain(EXIT_USAGE, "there is no command '%s'", cli->argv[0]);
    cli_print_usage(stdout, command);
    return EXIT_DONE;
}
