/* SPDX-License-Identifier: Apache-2.0 */
/* top_targets: the entries of `targets` with rate, failures, limit and state, and the pauses and
   limits in force. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_TARGETS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_TARGETS_H

#include "bridge/commands/top_figures.h"
#include "consumer/admin/control_topic.h"

#include <jansson.h>
#include <stdio.h>

struct top_target {
    char entry[TOP_LABEL_MAX];
    double deliveries, deliveries_per_s;
    double failures, failures_per_s; /* attempts that failed, and deferrals */
    double dead_letters;
    double limit_per_s;        /* the lowest limit in force; 0: none */
    enum control_share paused; /* how many of its topics */
};

/* Reads the n-th entry in the order of the metrics. Returns false if there are fewer. control: the
   entries of S.control that are in force. */
bool top_target_at(const struct top_figures *figures, int n, const struct control_list *control,
                   struct top_target *target);

/* Returns "paused", "failing", "partly_paused", "limited", "delivering", "failed_before" or
   "idle". */
const char *top_target_state(const struct top_target *target);

/* Prints the table, and a line for each pause and limit. */
void top_targets_print(const struct top_figures *figures, const struct control_list *control,
                       FILE *out);
json_t *top_targets_json(const struct top_figures *figures, const struct control_list *control);

#endif
