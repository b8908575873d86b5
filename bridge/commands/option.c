/* SPDX-License-Identifier: Apache-2.0 */
/* The values of options, read strictly. */
#include "bridge/commands/option.h"

#include "levels/duration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option *option_find(const struct option *table, const char *name, size_t n)
{
    for (const struct option *o = table; o->name != NULL; o++)
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static int read_number(const struct option *option, struct option_value *value, struct error *error)
{
    char *end;
    errno = 0;
    long long number = strtoll(value->text, &end, 10);
    bool digits = isdigit((unsigned char)value->text[0]) && *end == '\0' && errno == 0;
    if (!digits || number < option->least || number > option->most)
        return error_set(error, ERR_DATA,
                         "%s: '%.80s' is not a number from %" PRId64 " to %" PRId64, option->name,
                         value->text, option->least, option->most);
    value->number = number;
    return 0;
}

static int read_duration(const struct option *option, struct option_value *value,
                         struct error *error)
{
    char least[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
    if (duration_parse(bytes_text(value->text), &value->number) != 0)
        return error_set(error, ERR_DATA, "%s: '%.80s' is not a duration such as 10s", option->name,
                         value->text);
    if (value->number < option->least || value->number > option->most)
        return error_set(error, ERR_DATA, "%s: '%.80s' is not between %s and %s", option->name,
                         value->text, duration_format(option->least, least),
                         duration_format(option->most, most));
    return 0;
}

/* Reads digits with an optional fraction and unit. Refuses signs, spaces, 0x10, 1e3, inf and nan,
   which strtod accepts. */
static bool scan_amount(struct option_value *value)
{
    char *end;
    size_t digits = strspn(value->text, "0123456789.");
    double number = strtod(value->text, &end);
    double unit = *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : 1;
    value->rate = number * unit;
    return digits > 0 && end == value->text + digits && end[unit > 1] == '\0';
}

static int read_amount(const struct option *option, struct option_value *value, struct error *error)
{
    if (!scan_amount(value) || value->rate < (double)option->least ||
        value->rate > (double)option->most || value->rate != floor(value->rate))
        return error_set(error, ERR_DATA,
                         "%s: '%.80s' is not a whole number such as 300 or 20k, from %" PRId64
                         " to %" PRId64,
                         option->name, value->text, option->least, option->most);
    value->number = (int64_t)value->rate;
    return 0;
}

static int read_rate(const struct option *option, struct option_value *value, struct error *error)
{
    if (scan_amount(value) && value->rate > 0 && value->rate <= (double)option->most)
        return 0;
    return error_set(error, ERR_DATA,
                     "%s: '%.80s' is not a number such as 300, 20k or 1.5M, above 0 and up to "
                     "%" PRId64,
                     option->name, value->text, option->most);
}

/* Returns whether word is one of choices, which bars separate. */
static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);
    if (n == 0 || strchr(word, '|') != NULL)
        return false;
    for (const char *at = choices;; at++) {
        if (strncmp(at, word, n) == 0 && (at[n] == '|' || at[n] == '\0'))
            return true;
        at = strchr(at, '|');
        if (at == NULL)
            return false;
    }
    return false;
}

int option_read(const struct option *option, const char *text, struct option_value *value,
                struct error *error)
{
    *value = (struct option_value){.option = option, .text = text};
    switch (option->kind) {
    case OPTION_NUMBER:
        return read_number(option, value, error);
    case OPTION_DURATION:
        return read_duration(option, value, error);
    case OPTION_AMOUNT:
        return read_amount(option, value, error);
    case OPTION_RATE:
        return read_rate(option, value, error);
    case OPTION_CHOICE:
        if (is_choice(option->choices, text))
            return 0;
        return error_set(error, ERR_DATA, "%s: '%.80s' is not one of %s", option->name, text,
                         option->choices);
    case OPTION_FILE:
        if (text[0] != '\0')
            return 0;
        return error_set(error, ERR_DATA, "%s needs the path of a file", option->name);
    case OPTION_SWITCH:
    case OPTION_TEXT:
        break;
    }
    return 0;
}

const char *option_value_name(const struct option *option)
{
    if (option->kind == OPTION_CHOICE)
        return option->choices;
    return option->value == NULL ? "" : option->value;
}

void option_try_all(const struct option *table, struct nearest *nearest)
{
    for (const struct option *o = table; o->name != NULL; o++)
        if (strncmp(o->name, "--", 2) == 0)
            nearest_try(nearest, o->name + 2);
}
