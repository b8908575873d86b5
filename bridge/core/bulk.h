/* SPDX-License-Identifier: Apache-2.0 */
/* bulk: queues that keep much in memory that is not admitted are read one at a time. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_BULK_H
#define DELAYBRIDGE_BRIDGE_CORE_BULK_H

#include "bridge/core/state.h"
void bulk_serve(struct bridge *b);                    /* before records are taken */
void bulk_refused(struct bridge *b, struct queue *q); /* its head got no room */
/* Whether the head of q is a record of which, beyond the budget, one of all queues is allowed. */
bool bulk_has_large_head(const struct bridge *b, const struct queue *q);

#endif
