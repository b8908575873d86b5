/* SPDX-License-Identifier: Apache-2.0 */
/* blocked: partitions that no bridge processes until an operator acts, as findings of a check. The
   group's offsets and the record at each offset show them. The cause is an unreadable batch, an
   offset beyond the log's end, or a record of a newer delaybridge. This check cannot see a topic
   that was recreated while a bridge was running; only that bridge knows. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_BLOCKED_H
#define DELAYBRIDGE_CONSUMER_ADMIN_BLOCKED_H

#include "consumer/admin/offsets.h"

/* Adds a fault for each blocked partition, with the command to run. Waits for a small multiple of
   timeout_ms, and longer where it finds the end of an unreadable batch. Returns 0, or an error with
   a sentence; no partition was checked then. */
int blocked_judge(const struct config *config, int timeout_ms, struct findings *findings,
                  struct error *error) must_check;

#endif
