/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable: ranges of offsets that the client cannot read. The calls of the worker are in
   bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_UNREADABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_UNREADABLE_H

#include "bridge/core/state.h"
/* A held queue: passes its range when that was given up, and what stood before it is done. */
void unreadable_serve(struct bridge *b, struct queue *q);

#endif
