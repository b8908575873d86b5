/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge help: prints the commands, one command, or the tables in other forms. */
#include "bridge/commands/cli.h"
#include "bridge/commands/help_print.h"
#include "bridge/commands/result.h"
#include "bridge/service/metrics.h"

static int print_one(const struct cli *cli, const char *name)
{
    const struct command *command = command_find(name);
    if (command == NULL)
        return cli_unknown_command(cli, name);
    if (cli->json)
        help_print_json(command);
    else
        help_print_command(stdout, command);
    return EXIT_DONE;
}

static int print_completion(const char *shell)
{
    return help_print_completion(stdout, shell) == 0 ? EXIT_DONE : EXIT_INTERNAL;
}

int cmd_help(struct cli *cli)
{
    const struct arguments *arguments = cli->arguments;
    if (arguments->operands_n > 0)
        return print_one(cli, arguments->operands[0]);
    if (cli->json && arguments_have_own(arguments))
        return complain(cli, EXIT_USAGE, "help prints this in one format only: leave out -o json");
    if (arguments_have(arguments, "--completion"))
        return print_completion(arguments_text(arguments, "--completion"));
    if (arguments_have(arguments, "--yaml"))
        config_print_yaml(stdout);
    else if (arguments_have(arguments, "--man"))
        help_print_man(stdout);
    else if (arguments_have(arguments, "--metrics"))
        metrics_print_table(stdout);
    else if (cli->json)
        help_print_json(NULL);
    else
        help_print_all(stdout);
    return EXIT_DONE;
}
