/* SPDX-License-Identifier: Apache-2.0 */
/* target_table: the known targets, TARGETS_MAX at most. A new target replaces one that no record
   waits for, preferably one that never accepted a record. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_TABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_TABLE_H

#include "bridge/core/state.h"
int targets_init(struct bridge *b) must_check;
void targets_deinit(struct bridge *b);
void targets_relabel(struct bridge *b); /* after the entries of `targets` changed */
struct target *target_find(struct bridge *b, struct bytes name); /* NULL: not in the table */
struct target *target_get(struct bridge *b, struct bytes name);  /* NULL: all are in use */

/* Returns what the entry of `targets` for this name sets, or NULL. */
const struct target_rule *target_rule(const struct bridge *b, struct bytes name);

/* Return the index in stats.targets of a name, and the counters of an index. */
uint8_t target_label(const struct bridge *b, struct bytes name);
struct target_stats *target_stats(const struct bridge *b, uint8_t label);

#endif
