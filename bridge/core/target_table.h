/* SPDX-License-Identifier: Apache-2.0 */
/* target_table: all targets that are known, at most TARGETS_MAX. Those that nothing waits for are
   replaced, first of all those that never took a record. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_TABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_TABLE_H

#include "bridge/core/state.h"
int targets_init(struct bridge *b) must_check;
void targets_deinit(struct bridge *b);
void targets_relabel(struct bridge *b); /* the entries of `targets` have changed */
struct target *target_find(struct bridge *b, struct bytes name); /* NULL: it is not in the table */
struct target *target_get(struct bridge *b, struct bytes name);  /* NULL: all are in use */

/* By which entry of `targets` a name is counted, and the counters of an entry. */
uint8_t target_label(const struct bridge *b, struct bytes name);
struct target_stats *target_stats(const struct bridge *b, uint8_t label);

#endif
