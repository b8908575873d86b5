/* SPDX-License-Identifier: Apache-2.0 */
/* command_options: the option table of each command, which command.c lists. A table ends with a row
   without a name. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_COMMAND_OPTIONS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_COMMAND_OPTIONS_H

#include "bridge/commands/option.h"

enum { RATE_MAX = 1000000000 }; /* a second */

extern const struct option NO_OPTIONS[];
extern const struct option RUN_OPTIONS[];
extern const struct option CHECK_OPTIONS[];
extern const struct option TOPICS_OPTIONS[];
extern const struct option SEND_OPTIONS[];
extern const struct option REPLACE_OPTIONS[];
extern const struct option CANCEL_OPTIONS[];
extern const struct option LEVELS_OPTIONS[];
extern const struct option PEEK_OPTIONS[];
extern const struct option FIND_OPTIONS[];
extern const struct option FORECAST_OPTIONS[];
extern const struct option CONTROL_OPTIONS[];
extern const struct option DEAD_LETTERS_OPTIONS[];
extern const struct option REDRIVE_OPTIONS[];
extern const struct option TOP_OPTIONS[];
extern const struct option SIZE_OPTIONS[];
extern const struct option EVENTS_OPTIONS[];
extern const struct option DEMO_OPTIONS[];
extern const struct option DEV_OPTIONS[];
extern const struct option HELP_OPTIONS[];

#endif
