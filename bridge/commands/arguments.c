/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/commands/arguments.h"

#include "bridge/commands/connect.h"
#include "bridge/config/loader.h"
#include "levels/duration.h"
#include "levels/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int argument_number(struct argument argument, const char *value, int64_t *number)
{
    const char *text = value == NULL ? "" : value;
    char *end;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    bool digits = isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
    if (!digits || read < argument.least || read > argument.most)
        return complain(EXIT_USAGE, "%s: '%s' is not a number from %" PRId64 " to %" PRId64,
                        argument.option, text, argument.least, argument.most);
    *number = read;
    return EXIT_DONE;
}

int argument_span(struct argument argument, const char *value, int64_t *ms)
{
    char least[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
    const char *text = value == NULL ? "" : value;
    int64_t read;
    if (duration_parse(bytes_text(text), &read) != 0)
        return complain(EXIT_USAGE, "%s: '%s' is not a duration such as 10s", argument.option,
                        text);
    if (read < argument.least || read > argument.most)
        return complain(EXIT_USAGE, "%s: '%s' is not between %s and %s", argument.option, text,
                        duration_format(argument.least, least),
                        duration_format(argument.most, most));
    *ms = read;
    return EXIT_DONE;
}

/* Offers each long option that a help text names: "--delay", "--limit". */
static void try_options_in(struct nearest *nearest, const char *text)
{
    char option[NEAREST_NAME_MAX];
    for (const char *at = strstr(text, "--"); at != NULL; at = strstr(at, "--")) {
        size_t n = 2;
        while (isalpha((unsigned char)at[n]) || (n > 2 && at[n] == '-'))
            n++;
        snprintf(option, sizeof option, "%.*s", (int)n, at);
        if (n > 2)
            nearest_try(nearest, option + 2);
        at += n;
    }
}

/* Offers what a command takes besides the keys of the configuration. */
static void try_own_options(struct nearest *nearest, const char *name)
{
    const struct command *command = command_find(name);
    nearest_try(nearest, "timeout");
    nearest_try(nearest, "help");
    if (command == NULL)
        return;
    try_options_in(nearest, command->arguments);
    try_options_in(nearest, command->help);
}

const char *argument_hint(const char *command, const char *argument, char out[ARGUMENT_HINT_MAX])
{
    struct nearest nearest;
    char word[NEAREST_NAME_MAX], flag[NEAREST_NAME_MAX];
    out[0] = '\0';
    if (strncmp(argument, "--", 2) != 0)
        return out;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    nearest_start(&nearest, word);
    try_own_options(&nearest, command);
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        if (CONFIG_KEYS[i].type != TYPE_PROPERTIES)
            nearest_try(&nearest, config_key_flag(&CONFIG_KEYS[i], flag));
    if (nearest_name(&nearest) != NULL)
        snprintf(out, ARGUMENT_HINT_MAX, ": did you mean --%s?", nearest_name(&nearest));
    return out;
}
