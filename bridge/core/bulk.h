/* SPDX-License-Identifier: Apache-2.0 */
/* bulk: reads queues one at a time if they have many bytes in memory that are not admitted. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_BULK_H
#define DELAYBRIDGE_BRIDGE_CORE_BULK_H

#include "bridge/core/state.h"
void bulk_serve(struct bridge *b);                    /* before records are taken */
void bulk_refused(struct bridge *b, struct queue *q); /* its head got no room */
/* Returns whether the head of q is larger than large_bytes. Only one queue may exceed the budget by
   such a record. */
bool bulk_has_large_head(const struct bridge *b, const struct queue *q);

#endif
