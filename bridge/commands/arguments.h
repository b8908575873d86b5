/* SPDX-License-Identifier: Apache-2.0 */
/* arguments: argv of a command, taken apart by its option table. One pass from left to right:

     --limit 5, --limit=5    an option of the command, or of COMMON_OPTIONS
     --hold 2s, -Xacks=all   a key of the configuration or a property, left to config_load
     5s                      an operand
     --                      operands follow, whatever they begin with

   An option takes the next argument as its value, whatever that begins with. An option that is not
   repeatable may be given once. */
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

/* Take argv apart. configured: keys of the configuration are flags here. "-h" is "--help", which
   ends the pass. Returns 0, ERR_NO_MEMORY, or ERR_DATA with a sentence. */
int arguments_parse(struct arguments *arguments, bool configured, int argc, char **argv,
                    struct error *error) must_check;
void arguments_deinit(struct arguments *arguments);

/* Check that each required option is there. 0, or ERR_DATA with a sentence. */
int arguments_check_required(const struct arguments *arguments, struct error *error) must_check;

/* The functions below assert that the option is in a table, and read the given value, or else the
   initial value of the row. */
bool arguments_have(const struct arguments *arguments, const char *name);
const char *arguments_text(const struct arguments *arguments, const char *name); /* or NULL */
int64_t arguments_number(const struct arguments *arguments, const char *name);
double arguments_rate(const struct arguments *arguments, const char *name);

/* Whether a value belongs to the command's own table; whether one of that table was given. */
bool arguments_is_own(const struct arguments *arguments, const struct option_value *value);
bool arguments_have_own(const struct arguments *arguments);

#endif
