/* SPDX-License-Identifier: Apache-2.0 */
/* The way from argv to a command. */
#include "bridge/commands/cli.h"

#include "bridge/base/log.h"
#include "bridge/commands/arguments.h"
#include "levels/nearest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 10000, TIMEOUT_MS_MAX = 3600 * 1000, SILENT = LOG_ERROR + 1 };

void cli_print_help(FILE *out)
{
    fputs("delaybridge: any delay for Kafka records, through level topics\n\n"
          "usage: delaybridge COMMAND [OPTIONS]\n\n",
          out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        fprintf(out, "  %-8s %s\n", c->name, c->summary);
    fputs("\nfor every command:\n"
          "  -c FILE       configuration (./delaybridge.yaml, then "
          "/etc/delaybridge/delaybridge.yaml)\n"
          "  -o text|json  how results are written\n"
          "  --timeout D   how long a command waits for Kafka (10s)\n\n"
          "configuration, as flags:\n",
          out);
    config_print_help(out);
}

void cli_print_usage(FILE *out, const struct command *command)
{
    fprintf(out, "usage: delaybridge %s%s%s\n%s\n", command->name,
            command->arguments[0] == '\0' ? "" : " ", command->arguments, command->summary);
    if (command->help[0] != '\0')
        fprintf(out, "\n%s", command->help);
    if (command->needs != NEEDS_NOTHING)
        fputs("\n-c FILE, -o text|json, --timeout D and every key of the configuration as a flag: "
              "see 'delaybridge help'\n",
              out);
}

static int usage(const char *format, const char *what)
{
    fputs("delaybridge: ", stderr);
    fprintf(stderr, format, what);
    fputs("\nRun 'delaybridge help' for what there is.\n", stderr);
    return EXIT_USAGE;
}

int cli_unknown_command(const char *name)
{
    char text[200];
    struct nearest nearest;
    nearest_start(&nearest, name);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        nearest_try(&nearest, c->name);
    const char *near = nearest_name(&nearest);
    snprintf(text, sizeof text, "'%.80s'%s%s%s", name, near == NULL ? "" : ": did you mean ",
             near == NULL ? "" : near, near == NULL ? "" : "?");
    return usage("there is no command %s", text);
}

/* The options that every command has. */
struct common {
    const char *config_path;
    bool json, help;
    int timeout_ms;
};

/* The value of the option argv[*i], which is named name; NULL: it is another one. Moves *i. */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    if (strcmp(argv[*i], name) == 0) {
        const char *value = *i + 1 < argc ? argv[++*i] : NULL;
        return value != NULL ? value : "";
    }
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) == 0 && argv[*i][n] == '=')
        return argv[*i] + n + 1;
    return NULL;
}

static int take_timeout(struct common *common, const char *value)
{
    int64_t ms = common->timeout_ms;
    int code = argument_span((struct argument){"--timeout", 1, TIMEOUT_MS_MAX}, value, &ms);
    common->timeout_ms = (int)ms;
    return code;
}

/* Takes the common options out of argv. */
static int take_common(struct common *common, int *argc, char **argv)
{
    int kept = 0;
    for (int i = 0; i < *argc; i++) {
        const char *value;
        if (strcmp(argv[i], "--") == 0) { /* behind it nothing is an option */
            while (i < *argc)
                argv[kept++] = argv[i++];
        } else if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            common->help = true;
        } else if ((value = value_of("-c", *argc, argv, &i)) != NULL) {
            if (value[0] == '\0')
                return usage("-c needs the path of a file%s", "");
            common->config_path = value;
        } else if ((value = value_of("-o", *argc, argv, &i)) != NULL) {
            common->json = strcmp(value, "json") == 0;
            if (!common->json && strcmp(value, "text") != 0)
                return usage("-o: '%s' is neither text nor json", value);
        } else if ((value = value_of("--timeout", *argc, argv, &i)) != NULL) {
            int code = take_timeout(common, value);
            if (code != 0)
                return code;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    return 0;
}

static void warn(const char *sentence)
{
    char quoted[256];
    log_warn("configuration", "note=%s", log_quote(sentence, quoted, sizeof quoted));
}

/* The log of run is the service's; of other commands only their own sentences are for people. */
static void start_log(const struct command *command, const struct config *config)
{
    bool service = command->run == cmd_run;
    log_init(service ? config->log_level : (enum log_level)SILENT, config->log_format);
}

/* What is left of argv goes to a command that takes arguments, and is a mistake for others. */
static int run(const struct command *command, struct cli *cli)
{
    char hint[ARGUMENT_HINT_MAX], argument[200];
    if (command->arguments[0] != '\0' || cli->argc == 0)
        return command->run(cli);
    snprintf(argument, sizeof argument, "'%.80s'%s", cli->argv[0],
             argument_hint(command->name, cli->argv[0], hint));
    return usage("unknown argument %s", argument);
}

static int load(struct config *config, const char *path, int *argc, char **argv,
                enum cli_needs needs, char error[CONFIG_ERROR_MAX])
{
    int err = config_load(config, path, argc, argv, warn, error);
    if (err == 0 && needs >= NEEDS_BROKERS)
        err = config_require_brokers(config, error);
    if (err == 0 && needs >= NEEDS_TARGETS)
        err = config_require_targets(config, error);
    if (err != 0)
        config_deinit(config);
    return err;
}

/* config_load takes pointers out of what it is given. */
static char **copy_argv(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    if (copy != NULL && argc > 0)
        memcpy(copy, argv, (size_t)argc * sizeof *copy);
    return copy;
}

static void forget_flags(struct cli *cli)
{
    for (int i = 0; cli->flags_argv != NULL && i < cli->flags_argc; i++)
        free(cli->flags_argv[i]);
    free(cli->flags_argv);
}

/* For reading them again: hide_secrets takes secrets out of the program's own. */
static int keep_flags(struct cli *cli)
{
    cli->flags_argc = cli->argc;
    cli->flags_argv = copy_argv(cli->argc, cli->argv);
    bool kept = cli->flags_argv != NULL;
    for (int i = 0; cli->flags_argv != NULL && i < cli->argc; i++) {
        cli->flags_argv[i] = strdup(cli->argv[i]);
        kept &= cli->flags_argv[i] != NULL;
    }
    return kept ? 0 : ERR_NO_MEMORY;
}

/* What everybody sees of a process (/proc/PID/cmdline) holds no password for longer than it takes
   to read it. */
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

int cli_reload(const struct cli *cli, struct config *fresh, char error[CONFIG_ERROR_MAX])
{
    int argc = cli->flags_argc;
    char **argv = copy_argv(argc, cli->flags_argv);
    if (argv == NULL) {
        snprintf(error, CONFIG_ERROR_MAX, "out of memory");
        return ERR_CONFIG;
    }
    const char *path = cli->config_path != NULL ? cli->config_path : cli->config->path;
    int err = load(fresh, path, &argc, argv, NEEDS_TARGETS, error);
    free(argv);
    return err;
}

/* cli->config is filled, and cli->argv is without what belongs there. */
static int configure(const struct command *command, struct cli *cli, struct config *config)
{
    char error[CONFIG_ERROR_MAX] = "out of memory";
    int given_argc = cli->argc;
    char **given = copy_argv(cli->argc, cli->argv);
    int err = given == NULL ? ERR_NO_MEMORY : keep_flags(cli);
    if (err == 0)
        err = load(config, cli->config_path, &cli->argc, cli->argv, command->needs, error);
    if (err == 0 && command->run == cmd_run)
        hide_secrets(given_argc, given);
    free(given);
    cli->config = config;
    if (err != 0)
        fprintf(stderr, "delaybridge: %s\n", error);
    return err == ERR_NO_MEMORY ? EXIT_INTERNAL : err != 0 ? EXIT_CONFIG : EXIT_DONE;
}

static int run_configured(const struct command *command, const struct common *common,
                          struct cli *cli)
{
    static struct config config;
    cli->config_path = common->config_path;
    int code = configure(command, cli, &config);
    if (code == EXIT_DONE) {
        start_log(command, &config);
        code = run(command, cli);
        config_deinit(&config);
    }
    forget_flags(cli);
    return code;
}

int cli_main(int argc, char **argv)
{
    if (argc < 2)
        return usage("no command%s", "");
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
        argv[1] = (char *)"help";
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = (char *)"version";
    const struct command *command = command_find(argv[1]);
    if (command == NULL)
        return cli_unknown_command(argv[1]);
    struct common common = {.timeout_ms = TIMEOUT_MS};
    struct cli cli = {.argc = argc - 2, .argv = argv + 2};
    int code = take_common(&common, &cli.argc, cli.argv);
    if (code != 0)
        return code;
    if (common.help) {
        cli_print_usage(stdout, command);
        return EXIT_DONE;
    }
    cli.json = common.json;
    cli.timeout_ms = common.timeout_ms;
    return command->needs == NEEDS_NOTHING ? run(command, &cli)
                                           : run_configured(command, &common, &cli);
}
