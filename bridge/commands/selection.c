/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of the commands on dead-lettered records. */
#include "bridge/commands/selection.h"

#include "bridge/commands/result.h"
#include "levels/code.h"
#include "levels/instant.h"
#include "levels/nearest.h"
#include "levels/topic_name.h"

#include <stdlib.h>

static int check_code(const struct cli *cli, const char *text)
{
    struct nearest nearest;
    nearest_start(&nearest, text);
    for (enum code code = CODE_OK + 1; code < CODE_N; code++) {
        if (strcmp(code_name(code), text) == 0)
            return EXIT_DONE;
        nearest_try(&nearest, code_name(code));
    }
    const char *near = nearest_name(&nearest);
    return complain(cli, EXIT_USAGE, "--code: '%.80s' is not a code%s%s%s", text,
                    near == NULL ? "" : ": did you mean ", near == NULL ? "" : near,
                    near == NULL ? "" : "?");
}

static int check_target(const struct cli *cli, const char *text)
{
    if (topic_name_is_legal(bytes_text(text)))
        return EXIT_DONE;
    return complain(cli, EXIT_USAGE, "--target: '%.80s' is not a topic name", text);
}

static int read_instant(const struct cli *cli, const char *name, int64_t *wall_ms)
{
    const char *text = arguments_text(cli->arguments, name);
    if (text == NULL || instant_parse(bytes_text(text), wall_ms) == 0)
        return EXIT_DONE;
    return complain(cli, EXIT_USAGE, "%s: '%.80s'%s", name, text, instant_fault(bytes_text(text)));
}

/* Appends the values of one option to list. Returns EXIT_DONE or an exit code. */
static int list_words(const struct cli *cli, const char *name,
                      int (*check)(const struct cli *cli, const char *text), const char **list)
{
    int code = EXIT_DONE;
    for (int i = 0; i < cli->arguments->values_n && code == EXIT_DONE; i++) {
        const struct option_value *value = &cli->arguments->values[i];
        if (strcmp(value->option->name, name) != 0)
            continue;
        code = check(cli, value->text);
        *list++ = value->text;
    }
    return code;
}

static int count_words(const struct cli *cli, const char *name)
{
    int n = 0;
    for (int i = 0; i < cli->arguments->values_n; i++)
        n += strcmp(cli->arguments->values[i].option->name, name) == 0;
    return n;
}

int selection_read(struct selection *selection, const struct cli *cli)
{
    struct dead_filter *filter = &selection->filter;
    *selection = (struct selection){.filter = {.codes_n = count_words(cli, "--code"),
                                               .targets_n = count_words(cli, "--target"),
                                               .since_wall_ms = INT64_MIN,
                                               .until_wall_ms = INT64_MAX}};
    selection->words = calloc((size_t)cli->arguments->values_n + 1, sizeof *selection->words);
    if (selection->words == NULL)
        return complain(cli, EXIT_INTERNAL, "out of memory");
    filter->codes = selection->words;
    filter->targets = selection->words + filter->codes_n;
    int code = list_words(cli, "--code", check_code, selection->words);
    if (code == EXIT_DONE)
        code = list_words(cli, "--target", check_target, selection->words + filter->codes_n);
    if (code == EXIT_DONE)
        code = read_instant(cli, "--since", &filter->since_wall_ms);
    if (code == EXIT_DONE)
        code = read_instant(cli, "--until", &filter->until_wall_ms);
    if (code == EXIT_DONE && filter->since_wall_ms >= filter->until_wall_ms)
        code = complain(cli, EXIT_USAGE, "--until is not after --since");
    return code;
}

void selection_deinit(struct selection *selection)
{
    free(selection->words);
    selection->words = NULL;
}
