/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of commands and options as JSON. */
#include "bridge/commands/help_print.h"
#include "bridge/commands/result.h"

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

void help_print_json(const struct command *only)
{
    json_t *list = json_array();
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        if (only == NULL || only == c)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "name", c->name,
                                                  "operands", c->operands, "summary", c->summary,
                                                  "options", options_json(c->options)));
    print_json(json_pack("{s:o, s:o}", "commands", list, "options", options_json(COMMON_OPTIONS)));
}
