/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over argv, and the values that it found. */
#include "bridge/commands/arguments.h"

#include "bridge/config/loader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option COMMON_OPTIONS[] = {
    {.name = "-c",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "configuration (./delaybridge.yaml, or else /etc/delaybridge/delaybridge.yaml)"},
    {.name = "-o",
     .kind = OPTION_CHOICE,
     .choices = "text|json",
     .initial = "text",
     .help = "format of results and errors"},
    {.name = "--timeout",
     .kind = OPTION_DURATION,
     .value = "D",
     .least = 1,
     .most = 3600 * 1000,
     .initial = "10s",
     .help = "how long to wait for Kafka"},
    {.name = "--help", .kind = OPTION_SWITCH, .help = "show the options of the command, also -h"},
    {.name = NULL},
};

static const struct option *find(const struct arguments *a, const char *name, size_t n)
{
    const struct option *option = option_find(a->own, name, n);
    return option != NULL ? option : option_find(COMMON_OPTIONS, name, n);
}

static const struct option_value *value_of(const struct arguments *a, const struct option *option)
{
    for (int i = 0; i < a->values_n; i++)
        if (a->values[i].option == option)
            return &a->values[i];
    return NULL;
}

/* Reads the option at argv[0]. Returns the number of arguments that it uses, or an error. */
static int take_option(struct arguments *a, const struct option *option, int argc, char **argv,
                       struct error *error)
{
    const char *equals = strchr(argv[0], '='), *text = NULL;
    int taken = 1;
    if (value_of(a, option) != NULL && !option->repeatable)
        return error_set(error, ERR_DATA, "%s is given twice", option->name);
    if (option->kind == OPTION_SWITCH && equals != NULL)
        return error_set(error, ERR_DATA, "%s takes no value, not '%.80s'", option->name,
                         equals + 1);
    if (option->kind != OPTION_SWITCH) {
        taken = equals == NULL ? 2 : 1;
        if (taken > argc)
            return error_set(error, ERR_DATA, "%s needs a value: %s %s", option->name, option->name,
                             option_value_name(option));
        text = equals == NULL ? argv[1] : equals + 1;
    }
    int err = option_read(option, text, &a->values[a->values_n], error);
    a->values_n += err == 0;
    return err != 0 ? err : taken;
}

/* Returns the number of arguments that the configuration flag at text uses, or 0 if it is none. */
static int flag_width(const char *text)
{
    char name[CONFIG_FLAG_MAX];
    size_t n = strcspn(text, "=");
    if (strncmp(text, "-X", 2) == 0)
        return text[2] == '\0' ? 2 : 1;
    if (strncmp(text, "--", 2) != 0 || n - 2 >= sizeof name)
        return 0;
    memcpy(name, text + 2, n - 2);
    name[n - 2] = '\0';
    if (config_key_guess(name) == NULL)
        return 0;
    return text[n] == '=' ? 1 : 2;
}

/* Sets an error that names the unknown option and the one with the most similar spelling. */
static int refuse_unknown(const struct arguments *a, bool configured, const char *unknown,
                          struct error *error)
{
    struct nearest nearest;
    char word[NEAREST_NAME_MAX], flag[CONFIG_FLAG_MAX];
    const char *name = unknown + strspn(unknown, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    nearest_start(&nearest, word);
    option_try_all(a->own, &nearest);
    option_try_all(COMMON_OPTIONS, &nearest);
    for (size_t i = 0; configured && i < CONFIG_KEYS_N; i++)
        if (CONFIG_KEYS[i].type != TYPE_PROPERTIES)
            nearest_try(&nearest, config_key_flag(&CONFIG_KEYS[i], flag));
    const char *near = nearest_name(&nearest);
    return error_set(error, ERR_DATA, "unknown option '%.80s'%s%s%s", unknown,
                     near == NULL ? "" : ": did you mean --", near == NULL ? "" : near,
                     near == NULL ? "" : "?");
}

static int take_flag(struct arguments *a, bool configured, int argc, char **argv,
                     struct error *error)
{
    int width = configured ? flag_width(argv[0]) : 0;
    if (width == 0)
        return refuse_unknown(a, configured, argv[0], error);
    if (width > argc)
        return error_set(error, ERR_DATA, "%s needs a value", argv[0]);
    for (int i = 0; i < width; i++)
        a->flags[a->flags_n++] = argv[i];
    return width;
}

/* Reads the option, flag or operand at argv[0]. Returns the number of arguments that it uses, or an
   error. */
static int take(struct arguments *a, bool configured, int argc, char **argv, struct error *error)
{
    const char *text = strcmp(argv[0], "-h") == 0 ? "--help" : argv[0];
    if (strcmp(text, "--") == 0) {
        for (int i = 1; i < argc; i++)
            a->operands[a->operands_n++] = argv[i];
        return argc;
    }
    if (text[0] != '-' || text[1] == '\0') {
        a->operands[a->operands_n++] = argv[0];
        return 1;
    }
    const struct option *option = find(a, text, strcspn(text, "="));
    return option != NULL ? take_option(a, option, argc, argv, error)
                          : take_flag(a, configured, argc, argv, error);
}

int arguments_parse(struct arguments *a, bool configured, int argc, char **argv,
                    struct error *error)
{
    size_t n = (size_t)argc + 1;
    a->values = calloc(n, sizeof *a->values);
    a->operands = calloc(n, sizeof *a->operands);
    a->flags = calloc(n, sizeof *a->flags);
    if (a->values == NULL || a->operands == NULL || a->flags == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    for (int i = 0; i < argc && !arguments_have(a, "--help");) {
        int taken = take(a, configured, argc - i, argv + i, error);
        if (taken < 0)
            return taken;
        i += taken;
    }
    return 0;
}

int arguments_add(struct arguments *a, const char *name, const char *text, struct error *error)
{
    char full[CONFIG_FLAG_MAX];
    snprintf(full, sizeof full, "--%s", name);
    const struct option *option = option_find(a->own, full, strlen(full));
    if (option == NULL)
        return error_set(error, ERR_DATA, "unknown option '%.60s'", name);
    if ((option->kind == OPTION_SWITCH) != (text == NULL))
        return error_set(error, ERR_DATA, "%s: %s", option->name,
                         text == NULL ? "needs a value" : "takes true or false");
    struct option_value *values = realloc(a->values, ((size_t)a->values_n + 1) * sizeof *a->values);
    if (values == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    a->values = values;
    values[a->values_n] = (struct option_value){.option = option};
    int err = text == NULL ? 0 : option_read(option, text, &values[a->values_n], error);
    a->values_n += err == 0;
    return err;
}

void arguments_deinit(struct arguments *a)
{
    free(a->values);
    free(a->operands);
    free(a->flags);
    *a = (struct arguments){.own = a->own};
}

int arguments_check_required(const struct arguments *a, struct error *error)
{
    for (const struct option *o = a->own; o->name != NULL; o++)
        if (o->required && value_of(a, o) == NULL)
            return error_set(error, ERR_DATA, "%s %s is missing: %s", o->name, option_value_name(o),
                             o->help);
    return 0;
}

/* Gets the value of an option, or its initial value. Returns false if it has neither. */
static bool look_up(const struct arguments *a, const char *name, struct option_value *value)
{
    struct error error;
    const struct option *option = find(a, name, strlen(name));
    assert(option != NULL);
    const struct option_value *given = value_of(a, option);
    *value = given != NULL ? *given : (struct option_value){.option = option};
    if (given != NULL || option->initial == NULL)
        return given != NULL;
    int err = option_read(option, option->initial, value, &error);
    assert(err == 0);
    (void)err;
    return true;
}

bool arguments_have(const struct arguments *a, const char *name)
{
    const struct option *option = find(a, name, strlen(name));
    assert(option != NULL);
    return value_of(a, option) != NULL;
}

const char *arguments_text(const struct arguments *a, const char *name)
{
    struct option_value value;
    return look_up(a, name, &value) ? value.text : NULL;
}

int64_t arguments_number(const struct arguments *a, const char *name)
{
    struct option_value value;
    return look_up(a, name, &value) ? value.number : 0;
}

double arguments_rate(const struct arguments *a, const char *name)
{
    struct option_value value;
    return look_up(a, name, &value) ? value.rate : 0;
}

bool arguments_is_own(const struct arguments *a, const struct option_value *value)
{
    return option_find(a->own, value->option->name, strlen(value->option->name)) != NULL;
}

bool arguments_have_own(const struct arguments *a)
{
    for (int i = 0; i < a->values_n; i++)
        if (arguments_is_own(a, &a->values[i]))
            return true;
    return false;
}
