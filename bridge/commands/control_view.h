/* SPDX-License-Identifier: Apache-2.0 */
/* control_view: a paused or limited target, as commands print it. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CONTROL_VIEW_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CONTROL_VIEW_H

#include "consumer/control_record.h"

#include <jansson.h>

/* Prints one line, such as "orders.*: limited to 100/s since T until T by NAME". lanes is
   the number of lanes, for the part of a limit that one lane has. 0: unknown. */
void control_print(const struct control_record *record, int lanes);

/* Returns the name of op in JSON. */
const char *control_op_name(enum control_op op);

json_t *control_json(const struct control_record *record);

/* Does the same, with the part of a limit that one lane has. */
json_t *control_lanes_json(const struct control_record *record, int lanes);

#endif
