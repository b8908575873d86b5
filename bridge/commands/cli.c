/* SPDX-License-Identifier: Apache-2.0 */
/* The way from argv to a command. */
#include "bridge/commands/cli.h"

#include "bridge/base/log.h"
#include "bridge/commands/help_print.h"
#include "bridge/commands/result.h"
#include "levels/nearest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SILENT = LOG_ERROR + 1 };

/* Prints a usage error. command: NULL if the name is missing or unknown. */
static int usage(const struct cli *cli, const char *command, const char *sentence)
{
    return complain(cli, EXIT_USAGE, "%s (see 'delaybridge help%s%s')", sentence,
                    command == NULL ? "" : " ", command == NULL ? "" : command);
}

int cli_unknown_command(const struct cli *cli, const char *name)
{
    struct error error;
    struct nearest nearest;
    nearest_start(&nearest, name);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        nearest_try(&nearest, c->name);
    const char *near = nearest_name(&nearest);
    (void)error_set(&error, ERR_DATA, "unknown command '%.80s'%s%s%s", name,
                    near == NULL ? "" : ": did you mean ", near == NULL ? "" : near,
                    near == NULL ? "" : "?");
    return usage(cli, NULL, error.text);
}

static int too_many(const struct command *command, const char *operand, struct error *error)
{
    if (command->operands_most == 0)
        return error_set(error, ERR_DATA, "unexpected argument '%.80s': %s takes options only",
                         operand, command->name);
    return error_set(error, ERR_DATA, "unexpected argument '%.80s': use 'delaybridge %s %s'",
                     operand, command->name, command->operands);
}

/* Returns 0, or ERR_DATA with a sentence. */
static int check_operands(const struct command *command, const struct arguments *arguments,
                          struct error *error)
{
    int n = arguments->operands_n;
    if (n > command->operands_most)
        return too_many(command, arguments->operands[command->operands_most], error);
    if (n < command->operands_least)
        return error_set(error, ERR_DATA, "an argument is missing: use 'delaybridge %s %s'",
                         command->name, command->operands);
    if (n == 0 || command->words == NULL)
        return 0;
    struct option_value value;
    struct option operand = {
        .name = command->name, .kind = OPTION_CHOICE, .choices = command->words};
    return option_read(&operand, arguments->operands[0], &value, error);
}

static void warn(const char *sentence)
{
    log_warn("unknown setting ignored", F_TEXT("reason", sentence));
}

/* Only run and dev write a log. Other commands print their own sentences, which a log would repeat.
 */
static void start_log(const struct command *command, const struct config *config)
{
    bool service = command->run == cmd_run || command->run == cmd_dev;
    log_init(service ? config->log_level : (enum log_level)SILENT, config->log_format);
}

static int load(const struct cli *cli, struct config *config, const char *path, struct error *error)
{
    int flags_n = cli->flags_n; /* config_load removes pointers from the array */
    char **flags = calloc((size_t)flags_n + 1, sizeof *flags);
    if (flags == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    memcpy(flags, cli->flags, (size_t)flags_n * sizeof *flags);
    int err = config_load(config, path, &flags_n, flags, warn, error);
    free(flags);
    assert(err != 0 || flags_n == 0); /* arguments_parse knows the same flags */
    if (err != 0)
        return err;
    if (cli->needs >= NEEDS_BROKERS)
        err = config_require_brokers(config, error);
    if (err == 0 && cli->needs >= NEEDS_TARGETS)
        err = config_require_targets(config, error);
    if (err != 0)
        config_deinit(config);
    return err;
}

static void free_flags(struct cli *cli)
{
    for (int i = 0; cli->flags != NULL && i < cli->flags_n; i++)
        free(cli->flags[i]);
    free(cli->flags);
}

/* Copies the flags for a reload, since hide_secrets overwrites argv. */
static int copy_flags(struct cli *cli, const struct arguments *arguments)
{
    cli->flags_n = arguments->flags_n;
    cli->flags = calloc((size_t)cli->flags_n + 1, sizeof *cli->flags);
    if (cli->flags == NULL)
        return ERR_NO_MEMORY;
    for (int i = 0; i < cli->flags_n; i++) {
        cli->flags[i] = strdup(arguments->flags[i]);
        if (cli->flags[i] == NULL)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Overwrites passwords in argv: every user can read them in /proc/PID/cmdline. */
static void hide_secrets(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        for (char *at = strchr(argv[i], '='); at != NULL; at = strchr(at + 1, '=')) {
            *at = '\0';
            bool secret = config_is_secret(argv[i]);
            *at = '=';
            if (secret)
                memset(at + 1, '*', strlen(at + 1));
        }
    }
}

int cli_reload(const struct cli *cli, struct config *fresh, struct error *error)
{
    const char *path = cli->config_path != NULL ? cli->config_path : cli->config->path;
    return load(cli, fresh, path, error) == 0 ? 0 : ERR_CONFIG;
}

static int run_configured(const struct command *command, struct cli *cli)
{
    static struct config config; /* large */
    struct error error = {"out of memory"};
    int err = copy_flags(cli, cli->arguments);
    if (err == 0)
        err = load(cli, &config, cli->config_path, &error);
    int code = EXIT_DONE;
    if (err != 0) {
        code = complain(cli, err == ERR_NO_MEMORY ? EXIT_INTERNAL : EXIT_CONFIG, "%s", error.text);
    } else {
        cli->config = &config;
        if (command->run == cmd_run)
            hide_secrets(cli->argc, cli->argv);
        start_log(command, &config);
        code = command->run(cli);
        config_deinit(&config);
    }
    free_flags(cli);
    return code;
}

/* Reads argv and checks it against the tables. Returns 0, ERR_NO_MEMORY, or ERR_DATA with a
   sentence. */
static int read_arguments(const struct command *command, struct arguments *arguments, int argc,
                          char **argv, struct error *error)
{
    int err = arguments_parse(arguments, command->needs != NEEDS_NOTHING, argc, argv, error);
    if (err != 0 || arguments_have(arguments, "--help"))
        return err;
    err = check_operands(command, arguments, error);
    return err != 0 ? err : arguments_check_required(arguments, error);
}

static int run(const struct command *command, struct cli *cli)
{
    struct error error;
    struct arguments arguments = {.own = command->options};
    int err = read_arguments(command, &arguments, cli->argc, cli->argv, &error);
    int code = EXIT_DONE;
    if (err == ERR_NO_MEMORY) {
        code = complain(cli, EXIT_INTERNAL, "%s", error.text);
    } else if (err != 0) {
        code = usage(cli, command->name, error.text);
    } else if (arguments_have(&arguments, "--help")) {
        help_print_command(stdout, command);
    } else {
        cli->needs = command->needs;
        cli->arguments = &arguments;
        cli->config_path = arguments_text(&arguments, "-c");
        cli->json = strcmp(arguments_text(&arguments, "-o"), "json") == 0;
        cli->timeout_ms = (int)arguments_number(&arguments, "--timeout");
        code = command->needs == NEEDS_NOTHING ? command->run(cli) : run_configured(command, cli);
    }
    cli->arguments = NULL;
    arguments_deinit(&arguments);
    return code;
}

/* Returns whether errors about the command line are printed as JSON. Such an error may precede -o,
   so this reads argv first. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "-o=json") == 0 ||
            (strcmp(argv[i], "-o") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0))
            return true;
    return false;
}

int cli_main(int argc, char **argv)
{
    struct cli cli = {.argc = argc - 2, .argv = argv + 2, .json = wants_json(argc, argv)};
    if (argc < 2)
        return usage(&cli, NULL, "a command is missing");
    const char *name = argv[1];
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    const struct command *command = command_find(name);
    return command == NULL ? cli_unknown_command(&cli, name) : run(command, &cli);
}
