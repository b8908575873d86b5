/* SPDX-License-Identifier: Apache-2.0 */
/* cli: the command line: one table of sub-commands, what they are given, and what they exit with.
 */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CLI_H

#include "bridge/config/config.h"
#include "levels/err.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_USAGE = 64,
    EXIT_DATA = 65,
    EXIT_UNREACHABLE = 69, /* Kafka */
    EXIT_INTERNAL = 70,
    EXIT_CONFIG = 78 /* also findings of check and topics plan, and a refused login */
};

/* What a command is given: argv holds its own arguments, the common options are taken out. */
struct cli {
    const struct config *config; /* NULL: the command needs none */
    const char *config_path;     /* as config_load takes it */
    int flags_argc;              /* argv as config_load was given it */
    char **flags_argv;
    int argc;
    char **argv;
    bool json;
    int timeout_ms;
};

enum cli_needs {
    NEEDS_NOTHING,
    NEEDS_CONFIG,  /* whatever is there: file, environment, flags, defaults */
    NEEDS_BROKERS, /* and bootstrap.servers set in it */
    NEEDS_TARGETS  /* and targets, too */
};

struct command {
    const char *name;
    const char *arguments; /* as in the usage line */
    const char *summary;   /* one line */
    const char *help;      /* lines of options and examples, or "" */
    enum cli_needs needs;
    int (*run)(struct cli *cli); /* returns an exit code */
};

/* Read the configuration again, from where it came. 0 or ERR_CONFIG with a sentence in error. */
int cli_reload(const struct cli *cli, struct config *fresh,
               char error[CONFIG_ERROR_MAX]) must_check;

extern const struct command COMMANDS[]; /* ends with a NULL name */

/* NULL: there is none of this name. */
const struct command *cli_find(const char *name);

/* Print that there is no command of this name, and one that is spelled like it. Returns EXIT_USAGE.
 */
int cli_unknown_command(const char *name);

/* The list of commands and common options; or the usage of one. */
void cli_print_help(FILE *out);
void cli_print_usage(FILE *out, const struct command *command);

/* The whole program: argv of main. Returns the exit code. */
int cli_main(int argc, char **argv);

/* The commands, each in commands/. */
int cmd_run(struct cli *cli);
int cmd_check(struct cli *cli);
int cmd_topics(struct cli *cli);
int cmd_send(struct cli *cli);
int cmd_levels(struct cli *cli);
int cmd_peek(struct cli *cli);
int cmd_skip(struct cli *cli);
int cmd_top(struct cli *cli);
int cmd_size(struct cli *cli);
int cmd_explain(struct cli *cli);
int cmd_demo(struct cli *cli);
int cmd_version(struct cli *cli);
int cmd_help(struct cli *cli);

#endif
