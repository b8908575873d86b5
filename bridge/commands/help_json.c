/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of commands and options as JSON. */
#include "bridge/commands/help_print.h"
#include "bridge/commands/result.h"
#include "bridge/config/loader.h"

#include <ctype.h>
#include <stdio.h>

static const char *kind_text(enum option_kind kind)
{
    switch (kind) {
    case OPTION_SWITCH:
        return "switch";
    case OPTION_NUMBER:
        return "number";
    case OPTION_DURATION:
        return "duration";
    case OPTION_AMOUNT:
        return "amount";
    case OPTION_RATE:
        return "rate";
    case OPTION_TEXT:
        return "text";
    case OPTION_FILE:
        return "file";
    case OPTION_CHOICE:
        return "choice";
    }
    return "text";
}

static json_t *options_json(const struct option *table)
{
    json_t *list = json_array();
    for (const struct option *o = table; o->name != NULL; o++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s?, s:b, s:b, s:s}", "name", o->name,
                                        "kind", kind_text(o->kind), "value", option_value_name(o),
                                        "initial", o->initial, "repeatable", o->repeatable,
                                        "required", o->required, "help", o->help));
    return list;
}

/* Properties of librdkafka have no flag of this form: -X sets them. */
static json_t *key_json(const struct config_key *key)
{
    char flag[CONFIG_FLAG_MAX], option[CONFIG_FLAG_MAX + 2], variable[CONFIG_FLAG_MAX + 12];
    snprintf(option, sizeof option, "--%s", config_key_flag(key, flag));
    int n = snprintf(variable, sizeof variable, "DELAYBRIDGE_%s", flag);
    for (int i = 0; i < n; i++)
        variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
    bool properties = key->type == TYPE_PROPERTIES;
    return json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:b, s:s}", "name", key->name, "flag",
                     properties ? NULL : option, "variable", properties ? NULL : variable,
                     "initial", key->initial, "example", key->shown, "live", key->live, "help",
                     key->help);
}

static json_t *keys_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        json_array_append_new(list, key_json(&CONFIG_KEYS[i]));
    return list;
}

void help_print_json(const struct command *only)
{
    json_t *list = json_array();
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        if (only == NULL || only == c)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", c->name,
                                            "operands", c->operands, "summary", c->summary, "help",
                                            c->help, "options", options_json(c->options)));
    print_json(json_pack("{s:o, s:o, s:o}", "commands", list, "options",
                         options_json(COMMON_OPTIONS), "keys", keys_json()));
}
