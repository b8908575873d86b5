/* SPDX-License-Identifier: Apache-2.0 */
/* top_dead: the dead letters of the processes since their start, by code and target. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_DEAD_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_DEAD_H

#include "bridge/commands/top_figures.h"

#include <jansson.h>
#include <stdio.h>

struct top_dead {
    char code[TOP_NUMBER_MAX], target[TOP_LABEL_MAX];
    double records, records_per_s;
};

/* Reads the first kind from sample *i on that has records, and sets *i after it. Returns false at
   the end. */
bool top_dead_next(const struct top_figures *figures, size_t *i, struct top_dead *dead);

/* Prints a line for each kind, or that there is none. */
void top_dead_print(const struct top_figures *figures, FILE *out);
json_t *top_dead_json(const struct top_figures *figures);

#endif
