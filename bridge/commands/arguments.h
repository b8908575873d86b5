/* SPDX-License-Identifier: Apache-2.0 */
/* arguments: reads the argv of a command by its option table, in one pass from left to right:

     --limit 5, --limit=5    an option of the command, or of COMMON_OPTIONS
     --hold 2s, -Xacks=all   a key of the configuration or a property, left to config_load
     5s                      an operand
     --                      all later arguments are operands, also those that begin with "-"

   An option takes the next argument as its value, even if that begins with "-". An option that is
   not repeatable may be given once. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_ARGUMENTS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_ARGUMENTS_H

#include "bridge/commands/option.h"

/* The options of every command: -c, -o, --timeout, --help. */
extern const struct option COMMON_OPTIONS[];

/* All strings are borrowed from argv. Starts zeroed. */
struct arguments {
    const struct option *own; /* the command's table */
    struct option_value *values;
    int values_n;
    char **operands;
    int operands_n;
    char **flags; /* of the configuration, in order */
    int flags_n;
};

/* Reads argv. configured: the command accepts keys of the configuration as flags. "-h" is "--help",
   which ends the pass. Returns 0, ERR_NO_MEMORY, or ERR_DATA with a sentence. */
int arguments_parse(struct arguments *arguments, bool configured, int argc, char **argv,
                    struct error *error) must_check;
void arguments_deinit(struct arguments *arguments);

/* Adds a value to the options of the command, as if it was typed. name: without dashes. text: NULL
   for a switch; borrowed. Returns 0, ERR_NO_MEMORY, or ERR_DATA with a sentence. */
int arguments_add(struct arguments *arguments, const char *name, const char *text,
                  struct error *error) must_check;

/* Checks that each required option is given. Returns 0, or ERR_DATA with a sentence. */
int arguments_check_required(const struct arguments *arguments, struct error *error) must_check;

/* Return the given value, or else the initial value of the row. The option must be in a table. */
bool arguments_have(const struct arguments *arguments, const char *name);
const char *arguments_text(const struct arguments *arguments, const char *name); /* or NULL */
int64_t arguments_number(const struct arguments *arguments, const char *name);
double arguments_rate(const struct arguments *arguments, const char *name);

/* Return whether a value belongs to the command's own table, and whether any value of this table
   was given. */
bool arguments_is_own(const struct arguments *arguments, const struct option_value *value);
bool arguments_have_own(const struct arguments *arguments);

#endif
