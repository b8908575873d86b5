/* SPDX-License-Identifier: Apache-2.0 */
/* blocked: partitions in which no bridge continues until an operator acts, as findings of a check.
   Found from outside, by the group's offsets and the record that stands there: a batch that cannot
   be read, an offset beyond the log's end, a record of a newer delaybridge. A topic that was
   created again under a running bridge is known to that bridge alone. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_BLOCKED_H
#define DELAYBRIDGE_CONSUMER_ADMIN_BLOCKED_H

#include "consumer/admin/offsets.h"

/* Adds a fault for each such partition, with the command to run. Waits for a multiple of timeout_ms
   at most, and longer where a batch is unpacked again and again. Returns 0, or an error with a
   sentence: nothing is known then. */
int blocked_judge(const struct config *config, int timeout_ms, struct findings *findings,
                  char error[OFFSETS_ERROR_MAX]) must_check;

#endif
