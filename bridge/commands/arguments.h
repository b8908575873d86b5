/* SPDX-License-Identifier: Apache-2.0 */
/* arguments: the values of a command's options, read strictly, and what an unknown option may have
   been meant to be. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_ARGUMENTS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_ARGUMENTS_H

#include "bridge/commands/command.h"

#include <stdint.h>

/* The values that an option takes, both ends included. */
struct argument {
    const char *option; /* "--limit" */
    int64_t least, most;
};

/* Read a whole number in decimal digits: no sign, space, unit or other base. value may be NULL:
   none was given. Returns EXIT_DONE and sets *number, or EXIT_USAGE after it printed a sentence
   that quotes the value and names the bounds. */
int argument_number(struct argument argument, const char *value, int64_t *number) must_check;

/* The same for a duration; the bounds and *ms are milliseconds. */
int argument_span(struct argument argument, const char *value, int64_t *ms) must_check;

/* Writes ": did you mean --limit?" if the command or the configuration has an option that is
   spelled much like argument, else "". Returns out. */
enum { ARGUMENT_HINT_MAX = 96 };
const char *argument_hint(const char *command, const char *argument, char out[ARGUMENT_HINT_MAX]);

#endif
