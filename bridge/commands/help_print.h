/* SPDX-License-Identifier: Apache-2.0 */
/* help_print: the tables of commands, keys and metrics in forms for other programs. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_HELP_PRINT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_HELP_PRINT_H

#include "levels/err.h"

#include <stdio.h>

/* delaybridge.1, in man(7) macros. */
void help_print_man(FILE *out);

/* For "bash" or "zsh". ERR_RANGE: another shell. */
int help_print_completion(FILE *out, const char *shell) must_check;

#endif
