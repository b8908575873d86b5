/* SPDX-License-Identifier: Apache-2.0 */
/* command: the table of commands, the input of a command, and the exit codes. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_COMMAND_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_COMMAND_H

#include "bridge/commands/arguments.h"
#include "bridge/config/config.h"
#include "levels/err.h"

#include <jansson.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NOT_FOUND = 1, /* find: no answer, as with grep */
    EXIT_USAGE = 64,
    EXIT_DATA = 65,
    EXIT_UNREACHABLE = 69, /* Kafka */
    EXIT_INTERNAL = 70,
    EXIT_PARTIAL = 75, /* a part is done: run the command again */
    EXIT_CONFIG = 78   /* also findings of check and topics plan, and a refused login */
};

enum cli_needs {
    NEEDS_NOTHING,
    NEEDS_CONFIG,  /* any valid one, from file, environment, flags and defaults */
    NEEDS_BROKERS, /* with bootstrap.servers */
    NEEDS_TARGETS  /* with bootstrap.servers and targets */
};

struct output;
struct dev_clock;

/* The input of a command. */
struct cli {
    const struct config *config; /* NULL: the command needs none */
    const char *config_path;     /* the file of -c; NULL: the usual files */
    enum cli_needs needs;
    int argc; /* arguments after the name of the command */
    char **argv;
    char **flags; /* copies of the configuration's flags, for a reload */
    int flags_n;
    const struct arguments *arguments; /* options, already read, and operands */
    bool json;
    int timeout_ms;
    const json_t *input;         /* objects in place of the lines of stdin; NULL: stdin */
    struct dev_clock *dev_clock; /* of dev; NULL: the system's clock */
    struct output *output;       /* receiver of the results; NULL: stdout and stderr */
};

struct command {
    const char *name;
    const char *operands; /* as in the usage line: "LEVEL [LANE]", or "" */
    int operands_least, operands_most;
    const char *words; /* accepted first operands: "plan|apply"; NULL: the command checks them */
    const struct option *options;
    const char *summary; /* one line */
    const char *help;    /* lines below the options, or "" */
    enum cli_needs needs;
    int (*run)(struct cli *cli); /* returns an exit code */
};

extern const struct command COMMANDS[]; /* ends with a NULL name */

/* Returns NULL if there is no command of this name. */
const struct command *command_find(const char *name);

/* The commands, one for each file. Each returns an exit code. */
int cmd_run(struct cli *cli);
int cmd_check(struct cli *cli);
int cmd_topics(struct cli *cli);
int cmd_send(struct cli *cli);
int cmd_cancel(struct cli *cli);
int cmd_replace(struct cli *cli);
int cmd_levels(struct cli *cli);
int cmd_peek(struct cli *cli);
int cmd_find(struct cli *cli);
int cmd_forecast(struct cli *cli);
int cmd_events(struct cli *cli);
int cmd_skip(struct cli *cli);
int cmd_pause(struct cli *cli);
int cmd_resume(struct cli *cli);
int cmd_limit(struct cli *cli);
int cmd_dead_letters(struct cli *cli);
int cmd_redrive(struct cli *cli);
int cmd_top(struct cli *cli);
int cmd_size(struct cli *cli);
int cmd_explain(struct cli *cli);
int cmd_demo(struct cli *cli);
int cmd_dev(struct cli *cli);
int cmd_version(struct cli *cli);
int cmd_help(struct cli *cli);

#endif
