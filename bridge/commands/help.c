/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge help: the commands, one command, or the tables in other forms. */
#include "bridge/commands/cli.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/help_print.h"
#include "bridge/service/metrics.h"

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
    if (strcmp(cli->argv[0], "--man") == 0) {
        help_print_man(stdout);
        return EXIT_DONE;
    }
    if (strcmp(cli->argv[0], "--metrics") == 0) {
        metrics_print_table(stdout);
        return EXIT_DONE;
    }
    if (strcmp(cli->argv[0], "--completion") == 0) {
        const char *shell = cli->argc > 1 ? cli->argv[1] : "";
        return help_print_completion(stdout, shell) == 0
                   ? EXIT_DONE
                   : complain(EXIT_USAGE, "--completion: '%s' is neither bash nor zsh", shell);
    }
    const struct command *command = command_find(cli->argv[0]);
    if (command == NULL)
        return cli_unknown_command(cli->argv[0]);
    cli_print_usage(stdout, command);
    return EXIT_DONE;
}
